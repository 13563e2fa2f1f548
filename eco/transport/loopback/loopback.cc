#include "eco/transport/loopback/loopback.h"

#include <algorithm>
#include <cstring>

#include "eco/base/assert.h"
#include "eco/base/errors.h"
#include "eco/coll/meaning.h"
#include "eco/transport/rank_threads.h"

namespace eco::transport {

Hub::Hub(int n_ranks, LoopbackOptions options)
    : n_ranks_(n_ranks),
      options_(options),
      mailboxes_(static_cast<std::size_t>(n_ranks)),
      lost_(static_cast<std::size_t>(n_ranks)),
      contributions_(static_cast<std::size_t>(n_ranks)) {
  for (std::size_t rank = 0; rank < mailboxes_.size(); ++rank)
    mailboxes_[rank].random.seed(options.seed + rank);
}

void Hub::lose(int rank) {
  const std::lock_guard lock(mutex_);
  lost_[static_cast<std::size_t>(rank)] = true;
  changed_.notify_all();
}

bool Hub::has_lost() const { return std::find(lost_.begin(), lost_.end(), true) != lost_.end(); }

void Hub::match(Stream& stream) {
  while (!stream.sends.empty() && !stream.receives.empty()) {
    const Send send = std::move(stream.sends.front());
    stream.sends.pop_front();
    const Receive receive = stream.receives.front();
    stream.receives.pop_front();
    Mailbox& receiver = mailboxes_[static_cast<std::size_t>(receive.to)];
    if (send.bytes > receive.bytes) {
      receiver.failed = true;  // truncation, as MPI would report it
    } else if (send.bytes > 0) {
      std::memcpy(receive.memory, send.captured.empty() ? send.memory : send.captured.data(), send.bytes);
    }
    receiver.finished.push_back(receive.ticket);
    if (send.owes_completion) mailboxes_[static_cast<std::size_t>(send.from)].finished.push_back(send.ticket);
  }
  changed_.notify_all();
}

void Hub::match_any(int to, int tag) {
  const auto found = from_anybody_.find({to, tag});
  if (found == from_anybody_.end()) return;
  std::deque<Receive>& receives = found->second;
  for (int i = 0; i < n_ranks_ && !receives.empty(); ++i) {
    const int from =
        options_.seed == 0
            ? i
            : (i + static_cast<int>(options_.seed % static_cast<std::uint64_t>(n_ranks_))) % n_ranks_;
    const auto stream = streams_.find({from, to, tag});
    if (stream == streams_.end() || stream->second.sends.empty()) continue;
    stream->second.receives.push_back(receives.front());
    receives.pop_front();
    match(stream->second);
  }
}

void Hub::settle(const std::vector<int>& ranks, Meeting& meeting) {
  const bool all_here = meeting.n_here == meeting.members.size();
  for (std::size_t m = 0; m < meeting.members.size(); ++m) {
    Meeting::Member& member = meeting.members[m];
    if (!member.is_here || member.is_done) continue;
    const std::vector<coll::Part> parts = member.target.empty()
                                              ? std::vector<coll::Part>()
                                              : coll::meaning(meeting.problem, static_cast<int>(m));
    // Done before all are there only where nobody reads its memory any more.
    const bool is_free = member.captured.size() > 0 || member.source == nullptr;
    const bool has_all = std::all_of(parts.begin(), parts.end(), [&](const coll::Part& part) {
      return std::all_of(meeting.members.begin() + part.first, meeting.members.begin() + part.last + 1,
                         [](const auto& each) { return each.is_here; });
    });
    if (!all_here && (options_.synchronous || !is_free || !has_all)) continue;
    const auto at = [&](int of, std::size_t offset) {
      const Meeting::Member& other = meeting.members[static_cast<std::size_t>(of)];
      return (other.captured.empty() ? other.source : other.captured.data()) + offset;
    };
    for (const coll::Part& part : parts) {
      std::byte* const target = member.target.data() + part.offset;
      std::memcpy(target, at(part.last, part.input_offset), part.bytes);
      for (int other = part.last; other-- > part.first;)
        member.combine.function(member.combine.context, at(other, part.input_offset), target, part.bytes);
    }
    member.is_done = true;
    mailboxes_[static_cast<std::size_t>(ranks[m])].finished.push_back(member.ticket);
  }
  changed_.notify_all();
}

Status LoopbackTransport::post_send(int peer, int tag, std::span<const std::byte> bytes, SendMode mode,
                                    Ticket ticket) {
  const std::lock_guard lock(hub_.mutex_);
  if (hub_.lost_[static_cast<std::size_t>(peer)]) return Status::lost_peer;
  auto& mailbox = hub_.mailboxes_[static_cast<std::size_t>(rank_)];
  ++mailbox.n_posted;
  Hub::Send send{rank_, ticket, bytes.data(), {}, bytes.size(), true};
  const bool eager = mode == SendMode::eager && !hub_.options_.synchronous;
  if (eager && (hub_.options_.seed == 0 || mailbox.random() % 2 == 0)) {
    send.captured.assign(bytes.begin(), bytes.end());
    send.owes_completion = false;
    mailbox.finished.push_back(ticket);
  }
  Hub::Stream& stream = hub_.streams_[{rank_, peer, tag}];
  stream.sends.push_back(std::move(send));
  hub_.match(stream);
  hub_.match_any(peer, tag);
  return Status::ok;
}

Status LoopbackTransport::post_recv(int peer, int tag, std::span<std::byte> bytes, Ticket ticket) {
  const std::lock_guard lock(hub_.mutex_);
  ++hub_.mailboxes_[static_cast<std::size_t>(rank_)].n_posted;
  if (hub_.options_.seed != 0) std::fill(bytes.begin(), bytes.end(), std::byte{0xA5});
  if (peer == kAnyPeer) {
    hub_.from_anybody_[{rank_, tag}].push_back({rank_, ticket, bytes.data(), bytes.size()});
    hub_.match_any(rank_, tag);
    return Status::ok;
  }
  Hub::Stream& stream = hub_.streams_[{peer, rank_, tag}];
  stream.receives.push_back({rank_, ticket, bytes.data(), bytes.size()});
  hub_.match(stream);
  return Status::ok;
}

bool LoopbackTransport::open_groups(const std::vector<coll::RankGroup>& groups) {
  for (const coll::RankGroup& group : groups) {
    if (find_group(group) < 0) groups_.push_back(group);
  }
  return true;
}

void LoopbackTransport::close_groups_but(const std::vector<coll::RankGroup>& groups) {
  for (coll::RankGroup& group : groups_) {
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) group = {};
  }
}

int LoopbackTransport::find_group(const coll::RankGroup& group) const {
  const auto found = std::find(groups_.begin(), groups_.end(), group);
  return found == groups_.end() ? -1 : static_cast<int>(found - groups_.begin());
}

Status LoopbackTransport::start_group(int group, const GroupCall& call, Ticket ticket) {
  const std::vector<int>& ranks = groups_[static_cast<std::size_t>(group)].ranks;
  const auto member = static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), rank_) - ranks.begin());
  if (member == ranks.size()) return Status::failed;
  const std::lock_guard lock(hub_.mutex_);
  auto& mailbox = hub_.mailboxes_[static_cast<std::size_t>(rank_)];
  Hub::Meetings& meetings = hub_.meetings_[groups_[static_cast<std::size_t>(group)]];
  meetings.next.resize(ranks.size());
  const std::size_t number = meetings.next[member]++;
  Hub::Meeting& meeting = meetings.under_way[number];
  if (meeting.members.empty()) {
    meeting.problem = call.problem;
    meeting.members.resize(ranks.size());
  }
  const auto facts = [](const coll::CommonProblem& p) { return std::tuple(p.collective, p.root, p.bytes); };
  if (facts(meeting.problem) != facts(call.problem)) return Status::failed;
  ++mailbox.n_posted;
  Hub::Meeting::Member& mine = meeting.members[member];
  mine.is_here = true;
  mine.ticket = ticket;
  mine.source = call.source.data();
  mine.target = call.target;
  mine.combine = call.combine;
  // Captured, its contribution is its own again before the others have come.
  if (!hub_.options_.synchronous && (hub_.options_.seed == 0 || mailbox.random() % 2 == 0))
    mine.captured.assign(call.source.begin(), call.source.end());
  if (hub_.options_.seed != 0) std::fill(call.target.begin(), call.target.end(), std::byte{0xA5});
  ++meeting.n_here;
  hub_.settle(ranks, meeting);
  if (std::all_of(meeting.members.begin(), meeting.members.end(), [](const auto& m) { return m.is_done; }))
    meetings.under_way.erase(number);
  return Status::ok;
}

Status LoopbackTransport::hand_back(std::span<Ticket> done, std::size_t& n_done) {
  auto& mailbox = hub_.mailboxes_[static_cast<std::size_t>(rank_)];
  auto& finished = mailbox.finished;
  n_done = 0;
  if (mailbox.n_posted > 0 && finished.empty() && hub_.has_lost()) return Status::lost_peer;
  n_done = std::min(done.size(), finished.size());
  if (hub_.options_.seed != 0 && n_done > 0) {
    std::shuffle(finished.begin(), finished.end(), mailbox.random);
    n_done = 1 + mailbox.random() % n_done;
  }
  std::copy_n(finished.begin(), n_done, done.begin());
  finished.erase(finished.begin(), finished.begin() + static_cast<std::ptrdiff_t>(n_done));
  mailbox.n_posted -= n_done;
  return mailbox.failed ? Status::failed : Status::ok;
}

Status LoopbackTransport::wait_some(std::span<Ticket> done, std::size_t& n_done) {
  std::unique_lock lock(hub_.mutex_);
  n_done = 0;
  auto& mailbox = hub_.mailboxes_[static_cast<std::size_t>(rank_)];
  if (mailbox.n_posted == 0) return Status::ok;
  hub_.changed_.wait(lock, [&] { return !mailbox.finished.empty() || mailbox.failed || hub_.has_lost(); });
  return hand_back(done, n_done);
}

Status LoopbackTransport::test_some(std::span<Ticket> done, std::size_t& n_done) {
  const std::lock_guard lock(hub_.mutex_);
  return hand_back(done, n_done);
}

void LoopbackNative::meet_barrier(const Hub::Contribution& mine) {
  std::unique_lock lock(hub_.mutex_);
  hub_.contributions_[static_cast<std::size_t>(rank_)] = mine;
  const std::uint64_t generation = hub_.generation_;
  if (++hub_.arrived_ == hub_.n_ranks_) {
    for (const Hub::Contribution& other : hub_.contributions_)
      ECO_ASSERT(light, mine.is_of_the_same_call(other), "all ranks are in the same native collective");
    hub_.arrived_ = 0;
    ++hub_.generation_;
    hub_.changed_.notify_all();
    return;
  }
  hub_.changed_.wait(lock, [&] { return hub_.generation_ != generation || hub_.has_lost(); });
  if (hub_.generation_ == generation)
    throw TransportError("loopback: a rank was lost during a native collective");
}

void LoopbackNative::meet(const Hub::Contribution& mine,
                          const std::function<void(const std::vector<Hub::Contribution>&)>& read) {
  meet_barrier(mine);
  // Between the two meetings nobody changes what the contributions point to; a rank that is faster writes its own
  // again, with the value it has.
  std::vector<Hub::Contribution> all;
  {
    const std::lock_guard lock(hub_.mutex_);
    all = hub_.contributions_;
  }
  read(all);
  meet_barrier(mine);
}

void LoopbackNative::run(const coll::CommonProblem& problem, std::span<const std::byte> input,
                         std::span<std::byte> output) {
  if (problem.collective == coll::Collective::barrier) return barrier();
  if (problem.collective == coll::Collective::broadcast) return broadcast(output, problem.root);
  // Along a graph parts that no edge joins may differ in their bytes.
  const std::size_t bytes = coll::follows_graph(problem.collective) ? 0 : problem.bytes;
  meet({input.data(), coll::name(problem.collective), bytes, problem.root}, [&](const auto& all) {
    const auto at = [&all](int rank, std::size_t offset) {
      return static_cast<const std::byte*>(all[static_cast<std::size_t>(rank)].memory) + offset;
    };
    for (const coll::Part& part : coll::meaning(problem, rank_)) {
      std::memcpy(output.data() + part.offset, at(part.first, part.input_offset), part.bytes);
      auto* sums = reinterpret_cast<double*>(output.data() + part.offset);
      for (int rank = part.first + 1; rank <= part.last; ++rank) {
        if (problem.element_bytes != sizeof(double)) {
          const std::byte* bytes = at(rank, part.input_offset);
          for (std::size_t i = 0; i < part.bytes; ++i) output[part.offset + i] |= bytes[i];
          continue;
        }
        const auto* values = reinterpret_cast<const double*>(at(rank, part.input_offset));
        for (std::size_t i = 0; i < part.bytes / sizeof(double); ++i) sums[i] += values[i];
      }
    }
  });
}

void LoopbackNative::barrier() { meet_barrier({.kind = "barrier"}); }

void LoopbackNative::broadcast(std::span<std::byte> bytes, int root) {
  meet({bytes.data(), "broadcast", bytes.size(), root}, [&](const auto& all) {
    if (rank_ != root && !bytes.empty())
      std::memcpy(bytes.data(), all[static_cast<std::size_t>(root)].memory, bytes.size());
  });
}

void LoopbackNative::allreduce_min(std::span<std::int64_t> values) {
  const std::vector<std::int64_t> mine(values.begin(), values.end());
  meet({mine.data(), "allreduce of least", values.size_bytes()}, [&](const auto& all) {
    for (const auto& one : all) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = std::min(values[i], static_cast<const std::int64_t*>(one.memory)[i]);
      }
    }
  });
}

void LoopbackNative::allreduce_sum(std::span<std::int64_t> values) {
  const std::vector<std::int64_t> mine(values.begin(), values.end());
  meet({mine.data(), "allreduce of sums", values.size_bytes()}, [&](const auto& all) {
    std::fill(values.begin(), values.end(), 0);
    for (const auto& one : all) {
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] += static_cast<const std::int64_t*>(one.memory)[i];
    }
  });
}

void LoopbackNative::allreduce_max(std::span<double> values) {
  const std::vector<double> mine(values.begin(), values.end());
  meet({mine.data(), "allreduce of most", values.size_bytes()}, [&](const auto& all) {
    for (const auto& one : all) {
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::max(values[i], static_cast<const double*>(one.memory)[i]);
    }
  });
}

void LoopbackNative::allgather(std::span<const std::byte> mine, std::span<std::byte> all) {
  meet({mine.data(), "allgather", mine.size()}, [&](const auto& contributions) {
    for (std::size_t rank = 0; rank < contributions.size(); ++rank) {
      if (!mine.empty())
        std::memcpy(all.data() + rank * mine.size(), contributions[rank].memory, mine.size());
    }
  });
}

void run_ranks(Hub& hub, const std::function<void(LoopbackTransport&, LoopbackNative&)>& body) {
  run_rank_threads(hub.n_ranks(), [&](int rank) {
    LoopbackTransport transport(hub, rank);
    LoopbackNative native(hub, rank);
    try {
      body(transport, native);
    } catch (...) {
      hub.lose(rank);
      throw;
    }
  });
}

}  // namespace eco::transport
