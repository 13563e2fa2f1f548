#include "eco/sched/traffic.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "eco/base/errors.h"
#include "eco/sched/meetings.h"
#include "eco/sched/window.h"

namespace eco::sched {
namespace {

// Of every byte of a rank's memory: how many messages, one after the other, brought what it holds.
class Depths {
 public:
  int most(const Region& region) {
    int depth = 0;
    for (std::size_t at = region.offset; at < region.offset + region.bytes; ++at) {
      depth = std::max(depth, at < bytes(region).size() ? bytes(region)[at] : 0);
    }
    return depth;
  }
  void set(const Region& region, int depth) {
    auto& memory = bytes(region);
    memory.resize(std::max(memory.size(), region.offset + region.bytes));
    std::fill_n(memory.begin() + static_cast<std::ptrdiff_t>(region.offset), region.bytes, depth);
  }

 private:
  std::vector<int>& bytes(const Region& region) { return memory_[static_cast<std::size_t>(region.buffer)]; }
  std::array<std::vector<int>, 3> memory_;
};

class Rounds {
 public:
  explicit Rounds(const std::vector<Schedule>& schedules) : meetings_(schedules.front().groups) {
    traffic_.n_ranks = static_cast<int>(schedules.size());
    for (const Schedule& schedule : schedules)
      ranks_.push_back({Window(schedule, 512, false), {}, {}, 0, 0, 0});
  }

  Traffic run() {
    while (start_what_can(), !done()) {
      if (!one_round()) throw InvalidArgument("traffic: the schedules stand still; sched::verify says why");
    }
    for (const Rank& rank : ranks_) {
      traffic_.most_sent_bytes = std::max(traffic_.most_sent_bytes, rank.sent);
      traffic_.most_received_bytes = std::max(traffic_.most_received_bytes, rank.received);
      traffic_.most_combined_bytes = std::max(traffic_.most_combined_bytes, rank.combined);
    }
    return std::move(traffic_);
  }

 private:
  struct Rank {
    Window window;
    std::deque<OpId> sends;  // posted, in program order
    Depths depths;
    std::size_t sent;
    std::size_t received;
    std::size_t combined;
  };
  using Channel = std::tuple<int, int, int>;  // from, to, channel
  struct Moved {
    int from;
    OpId send;
    int to;
    OpId receive;
  };

  bool done() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.window.done(); });
  }

  void start_what_can() {
    for (int r = 0; r < traffic_.n_ranks; ++r) {
      Rank& rank = ranks_[static_cast<std::size_t>(r)];
      bool any = true;
      while (any) {
        any = false;
        while (const auto id = rank.window.take_ready(OpKind::recv)) {
          receives_[{rank.window.op(*id).peer, r, rank.window.op(*id).channel}].push_back(*id);
          rank.window.posted(*id);
        }
        for (const OpKind kind : {OpKind::reduce, OpKind::copy}) {
          while (const auto id = rank.window.take_ready(kind)) {
            run_local(rank, rank.window.op(*id));
            rank.window.complete(*id);
            any = true;
          }
        }
      }
      while (const auto id = rank.window.take_ready(OpKind::send)) {
        rank.sends.push_back(*id);
        rank.window.posted(*id);
      }
      while (const auto id = rank.window.take_ready(OpKind::group)) arrive(r, *id);
    }
  }

  void arrive(int r, OpId id) {
    Rank& rank = ranks_[static_cast<std::size_t>(r)];
    const Op op = rank.window.op(id);
    rank.window.posted(id);
    const auto arrival = meetings_.arrive(r, id, op, rank.depths.most(op.source));
    if (!arrival.fault.empty()) throw InvalidArgument("traffic: a group's operation " + arrival.fault);
    if (arrival.meeting->all_here()) full_.push_back(arrival.meeting);
  }

  // What each member gets carries what all contributed.
  void hold(const Meeting<int>& meeting) {
    int depth = 0;
    for (const auto& member : meeting.members) depth = std::max(depth, member.contribution + 1);
    for (std::size_t m = 0; m < meeting.members.size(); ++m) {
      Rank& rank = ranks_[static_cast<std::size_t>((*meeting.ranks)[m])];
      const Op op = rank.window.op(meeting.members[m].id);
      if (op.target.bytes > 0) rank.depths.set(op.target, depth);
      rank.window.complete(meeting.members[m].id);
    }
    traffic_.chain = std::max(traffic_.chain, depth);
    traffic_.group_steps.push_back({traffic_.rounds, meeting.group, *meeting.ranks});
  }

  static void run_local(Rank& rank, const Op& op) {
    const int depth = rank.depths.most(op.source);
    if (op.kind == OpKind::reduce) {
      rank.combined += op.target.bytes;
      rank.depths.set(op.target, std::max(depth, rank.depths.most(op.target)));
    } else {
      rank.depths.set(op.target, depth);
    }
  }

  // False if no message can move.
  bool one_round() {
    std::vector<Moved> moved;
    std::vector<bool> receives(ranks_.size());
    for (int from = 0; from < traffic_.n_ranks; ++from) {
      Rank& sender = ranks_[static_cast<std::size_t>(from)];
      std::vector<Channel> passed;  // a message never overtakes an earlier one of its channel
      for (auto it = sender.sends.begin(); it != sender.sends.end(); ++it) {
        const Op& op = sender.window.op(*it);
        const Channel channel{from, op.peer, op.channel};
        auto& waiting = receives_[channel];
        const bool blocked = std::find(passed.begin(), passed.end(), channel) != passed.end();
        if (blocked || waiting.empty() || receives[static_cast<std::size_t>(op.peer)]) {
          passed.push_back(channel);
          continue;
        }
        receives[static_cast<std::size_t>(op.peer)] = true;
        moved.push_back({from, *it, op.peer, waiting.front()});
        waiting.pop_front();
        sender.sends.erase(it);
        break;
      }
    }
    const std::vector<Meeting<int>*> full = std::exchange(full_, {});
    for (const Moved& message : moved) deliver(message);
    for (const Meeting<int>* meeting : full) hold(*meeting);
    const bool any = !moved.empty() || !full.empty();
    if (any) ++traffic_.rounds;
    return any;
  }

  void deliver(const Moved& message) {
    Rank& sender = ranks_[static_cast<std::size_t>(message.from)];
    Rank& receiver = ranks_[static_cast<std::size_t>(message.to)];
    const Op sent = sender.window.op(message.send);
    const Op received = receiver.window.op(message.receive);
    const int depth = sender.depths.most(sent.source) + 1;
    receiver.depths.set(received.target, depth);
    traffic_.chain = std::max(traffic_.chain, depth);
    traffic_.messages.push_back({traffic_.rounds, message.from, message.to, sent.source.bytes});
    traffic_.bytes += sent.source.bytes;
    sender.sent += sent.source.bytes;
    receiver.received += sent.source.bytes;
    sender.window.complete(message.send);
    receiver.window.complete(message.receive);
  }

  Traffic traffic_;
  std::vector<Rank> ranks_;
  std::map<Channel, std::deque<OpId>> receives_;
  Meetings<int> meetings_;           // contributions: how deep they are
  std::vector<Meeting<int>*> full_;  // all members are there
};

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

constexpr std::size_t kRoundWidth = 5;

}  // namespace

std::size_t Traffic::bytes_between(std::span<const int> group_of_rank) const {
  std::size_t between = 0;
  for (const Message& message : messages) {
    const bool crosses = group_of_rank[static_cast<std::size_t>(message.from)] !=
                         group_of_rank[static_cast<std::size_t>(message.to)];
    if (crosses) between += message.bytes;
  }
  return between;
}

Crossing count_crossing(const Schedule& schedule, std::span<const int> group_of_rank) {
  const int mine = group_of_rank[static_cast<std::size_t>(schedule.rank())];
  Crossing crossing;
  Cursor cursor(schedule);
  while (const Op* op = cursor.next()) {
    if (op->kind != OpKind::send || group_of_rank[static_cast<std::size_t>(op->peer)] == mine) continue;
    ++crossing.messages;
    crossing.bytes += op->source.bytes;
  }
  return crossing;
}

Traffic count_traffic(const std::vector<Schedule>& schedules) { return Rounds(schedules).run(); }

std::string draw(const Traffic& traffic, const std::vector<std::vector<int>>& groups,
                 std::size_t most_rounds) {
  const auto n = static_cast<std::size_t>(traffic.n_ranks);
  std::vector<std::vector<std::string>> cells(static_cast<std::size_t>(traffic.rounds),
                                              std::vector<std::string>(n));
  for (const Message& message : traffic.messages) {
    auto& round = cells[static_cast<std::size_t>(message.round)];
    // What a rank sends stands left of what it receives.
    auto& sender = round[static_cast<std::size_t>(message.from)];
    sender.insert(0, ">" + std::to_string(message.to));
    round[static_cast<std::size_t>(message.to)] += "<" + std::to_string(message.from);
  }
  for (const GroupStep& step : traffic.group_steps) {
    for (const int rank : step.ranks) {
      std::string& cell = cells[static_cast<std::size_t>(step.round)][static_cast<std::size_t>(rank)];
      cell.append("=").append(std::to_string(step.group));
    }
  }
  std::size_t width = 4;
  for (const auto& round : cells) {
    for (const std::string& cell : round) width = std::max(width, cell.size());
  }
  const auto line = [&](const std::string& begin, const auto& cell_of) {
    std::string text = padded(begin, kRoundWidth);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (g > 0) text += "  |";
      for (const int rank : groups[g]) text += " " + padded(cell_of(static_cast<std::size_t>(rank)), width);
    }
    return text + "\n";
  };
  std::string text = line("round", [](std::size_t rank) { return std::to_string(rank); });
  const std::size_t drawn = most_rounds == 0 ? cells.size() : std::min(most_rounds, cells.size());
  for (std::size_t r = 0; r < drawn; ++r) {
    text += line(std::to_string(r + 1),
                 [&](std::size_t rank) { return cells[r][rank].empty() ? "." : cells[r][rank]; });
  }
  if (drawn < cells.size()) text += "and " + std::to_string(cells.size() - drawn) + " rounds more\n";
  return text;
}

}  // namespace eco::sched
