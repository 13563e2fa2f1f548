// Map: Machine holds all ranks' memories, windows and messages and runs them under one Mode; verify() runs it under
// every mode and checks the postcondition after each.
#include "eco/sched/verify.h"

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>
#include <random>
#include <unordered_map>
#include <utility>

#include "eco/coll/meaning.h"
#include "eco/sched/expressions.h"
#include "eco/sched/meetings.h"
#include "eco/sched/window.h"

namespace eco::sched {
namespace {

using coll::Collective;
using coll::CommonProblem;
using Tree = Expressions::Tree;

struct Mode {
  const char* name;
  bool synchronous;           // every send waits for its receive, every member of a group for all others
  std::uint64_t shuffle;      // seed of a random order of completions; 0: first come, first served
  bool newest_first = false;  // those who are ahead run as far ahead as they can
};

// One unit of memory: which element of the vector it holds, combined how.
struct Cell {
  Tree tree = Expressions::kUnset;
  std::uint32_t unit = 0;
};

struct Memory {
  std::vector<Cell> cells;
  std::vector<std::uint16_t> reads;   // posted sends that read the unit
  std::vector<std::uint16_t> writes;  // posted receives that write it
};

std::string describe(const Op& op) {
  std::string text{name(op.kind)};
  const auto region = [](const Region& r) {
    return std::string(name(r.buffer)) + "[" + std::to_string(r.offset) + "+" + std::to_string(r.bytes) + "]";
  };
  if (op.kind == OpKind::group) {
    return std::string(coll::name(op.collective)) + " of group " + std::to_string(op.channel) + ", " +
           region(op.source) + " into " + region(op.target);
  }
  if (op.kind == OpKind::send) return text + " " + region(op.source) + " to rank " + std::to_string(op.peer);
  if (op.kind == OpKind::recv)
    return text + " " + region(op.target) + " from rank " + std::to_string(op.peer);
  return text + " " + region(op.source) + " into " + region(op.target);
}

// The largest number of bytes that divides every boundary: one unit of the machine's memories.
std::size_t unit_bytes(const CommonProblem& problem, const std::vector<Schedule>& schedules) {
  std::size_t unit = coll::payload_bytes(problem);
  if (coll::is_blocked(problem.collective)) unit = std::gcd(unit, problem.block_bytes());
  for (const Schedule& schedule : schedules) {
    Cursor cursor(schedule);
    while (const Op* op = cursor.next()) {
      for (const Region& region : {op->source, op->target}) {
        if (region.bytes > 0) unit = std::gcd(std::gcd(unit, region.offset), region.bytes);
      }
    }
  }
  return std::max<std::size_t>(unit, 1);
}

// What is wrong with the lists of groups: all ranks have to have the same.
std::optional<Fault> fault_of_groups(const CommonProblem& problem, const std::vector<Schedule>& schedules) {
  for (std::size_t rank = 1; rank < schedules.size(); ++rank) {
    if (schedules[rank].groups != schedules[0].groups)
      return Fault{"rank " + std::to_string(rank) + ": lists other groups than rank 0"};
  }
  for (const coll::RankGroup& group : schedules[0].groups) {
    std::vector<int> ranks = group.ranks;
    std::sort(ranks.begin(), ranks.end());
    const bool has_twins = std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end();
    if (ranks.size() < 2 || ranks.front() < 0 || ranks.back() >= problem.n_ranks || has_twins)
      return Fault{"a group is no list of two or more different ranks"};
    if (std::count(schedules[0].groups.begin(), schedules[0].groups.end(), group) > 1)
      return Fault{"the same group is listed twice"};
  }
  return std::nullopt;
}

class Machine {
 public:
  Machine(const CommonProblem& problem, const std::vector<Schedule>& schedules, const VerifyOptions& options,
          std::size_t unit, const Mode& mode)
      : problem_(problem),
        schedules_(schedules),
        options_(options),
        mode_(mode),
        unit_(unit),
        expressions_(problem.n_ranks, problem.collective == Collective::barrier),
        random_(mode.shuffle),
        meetings_(schedules[0].groups) {
    for (int rank = 0; rank < problem.n_ranks; ++rank) {
      const Schedule& schedule = schedules[static_cast<std::size_t>(rank)];
      ranks_.push_back({Window(schedule, options.window_capacity, options.input_is_output), {}, {}});
      Rank& state = ranks_.back();
      const std::array<std::size_t, 3> sizes = {coll::input_bytes(problem, rank) / unit,
                                                coll::output_bytes(problem, rank) / unit,
                                                (schedule.scratch_bytes + unit - 1) / unit};
      for (std::size_t b = 0; b < 3; ++b) {
        state.memory[b].cells.resize(sizes[b]);
        state.memory[b].reads.resize(sizes[b]);
        state.memory[b].writes.resize(sizes[b]);
      }
      // A broadcast's message is the root's output from the start; and in place, output is where the input lies.
      const bool has_input = problem.collective != Collective::broadcast;
      const Buffer start = has_input && !options.input_is_output ? Buffer::input : Buffer::output;
      if (has_input || rank == problem.root) {
        auto& cells = state.memory[static_cast<std::size_t>(start)].cells;
        for (std::size_t u = 0; u < cells.size(); ++u) {
          cells[u] = {expressions_.leaf(rank), static_cast<std::uint32_t>(u)};
        }
      }
    }
  }

  std::optional<Fault> run() {
    for (int rank = 0; rank < problem_.n_ranks; ++rank) advance(rank);
    while (!fault_ && !completions_.empty()) {
      std::size_t pick = 0;
      if (mode_.shuffle != 0) pick = random_() % completions_.size();
      if (mode_.newest_first) pick = completions_.size() - 1;
      std::swap(completions_[pick], completions_.front());
      const auto [rank, id] = completions_.front();
      completions_.pop_front();
      finish_message(rank, id);
      if (!fault_) advance(rank);
    }
    if (!fault_) check_the_end();
    if (fault_) fault_->what = std::string(mode_.name) + ": " + fault_->what;
    return fault_;
  }

 private:
  struct Rank {
    Window window;
    std::array<Memory, 3> memory;  // by Buffer
    std::unordered_map<OpId, std::vector<Cell>>
        arriving;  // for matched receives, and groups, that are not complete
  };
  struct PostedSend {
    int rank;
    OpId id;
    std::vector<Cell> cells;
    bool waits_for_match;
  };
  struct Stream {  // messages of one (sender, receiver, channel)
    std::deque<PostedSend> sends;
    std::deque<std::pair<OpId, std::size_t>> receives;  // operation, units
  };

  void fail(int rank, const std::string& what) {
    if (!fault_) fault_ = Fault{"rank " + std::to_string(rank) + ": " + what};
  }

  // The memory and the units of a region; fails on one that is out of bounds.
  std::optional<std::pair<Memory*, std::pair<std::size_t, std::size_t>>> locate(int rank,
                                                                                const Region& region,
                                                                                const Op& op) {
    Buffer buffer = region.buffer;
    if (buffer == Buffer::input && options_.input_is_output) buffer = Buffer::output;
    Memory& memory = ranks_[static_cast<std::size_t>(rank)].memory[static_cast<std::size_t>(buffer)];
    const std::size_t begin = region.offset / unit_;
    const std::size_t end = (region.offset + region.bytes) / unit_;
    if (end > memory.cells.size()) {
      fail(rank, describe(op) + " lies outside its buffer");
      return std::nullopt;
    }
    return std::pair{&memory, std::pair{begin, end}};
  }

  bool readable(int rank, const Memory& memory, std::size_t begin, std::size_t end, const Op& op) {
    for (std::size_t u = begin; u < end; ++u) {
      if (memory.writes[u] > 0)
        return fail(rank, describe(op) + " reads what a posted receive writes"), false;
      if (memory.cells[u].tree == Expressions::kUnset)
        return fail(rank, describe(op) + " reads what was never set"), false;
    }
    return true;
  }

  bool writable(int rank, const Memory& memory, std::size_t begin, std::size_t end, const Op& op) {
    for (std::size_t u = begin; u < end; ++u) {
      if (memory.writes[u] > 0 || memory.reads[u] > 0) {
        return fail(rank, describe(op) + " writes what a message under way uses"), false;
      }
    }
    return true;
  }

  // Everything this rank can start now, in the Executor's order.
  void advance(int rank) {
    Rank& state = ranks_[static_cast<std::size_t>(rank)];
    bool any = true;
    while (any && !fault_) {
      any = false;
      while (const auto id = state.window.take_ready(OpKind::recv)) any = true, post_receive(rank, *id);
      for (const OpKind kind : {OpKind::reduce, OpKind::copy}) {
        while (!fault_) {
          const auto id = state.window.take_ready(kind);
          if (!id) break;
          any = true;
          run_local(rank, *id);
        }
      }
    }
    while (!fault_) {
      const auto id = state.window.take_ready(OpKind::send);
      if (!id) break;
      post_send(rank, *id);
    }
    while (!fault_) {
      const auto id = state.window.take_ready(OpKind::group);
      if (!id) break;
      post_group(rank, *id);
    }
  }

  // The cells of a region that an operation now under way reads, or writes.
  std::optional<std::vector<Cell>> begin_reading(int rank, const Region& region, const Op& op) {
    const auto place = locate(rank, region, op);
    if (!place) return std::nullopt;
    auto [memory, span] = *place;
    if (!readable(rank, *memory, span.first, span.second, op)) return std::nullopt;
    for (std::size_t u = span.first; u < span.second; ++u) ++memory->reads[u];
    const auto begin = memory->cells.begin();
    return std::vector<Cell>{begin + static_cast<std::ptrdiff_t>(span.first),
                             begin + static_cast<std::ptrdiff_t>(span.second)};
  }
  bool begin_writing(int rank, const Op& op) {
    if (op.target.buffer == Buffer::input && op.target.bytes > 0)
      return fail(rank, describe(op) + " writes to the input"), false;
    const auto place = locate(rank, op.target, op);
    if (!place) return false;
    auto [memory, span] = *place;
    if (!writable(rank, *memory, span.first, span.second, op)) return false;
    for (std::size_t u = span.first; u < span.second; ++u) ++memory->writes[u];
    return true;
  }
  void end_reading(int rank, const Op& op) {
    auto [memory, span] = *locate(rank, op.source, op);
    for (std::size_t u = span.first; u < span.second; ++u) --memory->reads[u];
  }
  void end_writing(int rank, OpId id, const Op& op) {
    Rank& state = ranks_[static_cast<std::size_t>(rank)];
    auto [memory, span] = *locate(rank, op.target, op);
    const std::vector<Cell> cells = std::move(state.arriving[id]);
    state.arriving.erase(id);
    for (std::size_t u = span.first; u < span.second; ++u) {
      --memory->writes[u];
      memory->cells[u] = cells[u - span.first];
    }
  }

  void post_group(int rank, OpId id) {
    Rank& state = ranks_[static_cast<std::size_t>(rank)];
    const Op op = state.window.op(id);
    if (!is_group_collective(op.collective))
      return fail(rank, describe(op) + " is nothing that a group can do");
    auto source = begin_reading(rank, op.source, op);
    // Before its target counts as written: what it reads may not be there too.
    if (!source || !begin_writing(rank, op)) return;
    state.window.posted(id);
    const auto arrival = meetings_.arrive(rank, id, op, std::move(*source));
    if (!arrival.fault.empty()) return fail(rank, describe(op) + " " + arrival.fault);
    const CommonProblem& problem = arrival.meeting->problem;
    if (op.source.bytes != group_source_bytes(problem, arrival.member) ||
        op.target.bytes != group_target_bytes(problem, arrival.member)) {
      return fail(rank, describe(op) + ": sizes differ");
    }
    settle(*arrival.meeting);
  }

  // Those whose results can be made now have them on their way.
  void settle(Meeting<std::vector<Cell>>& meeting) {
    for (std::size_t m = 0; m < meeting.members.size() && !fault_; ++m) {
      auto& member = meeting.members[m];
      if (!member.is_here || member.is_done) continue;
      if (mode_.synchronous ? !meeting.all_here() : !meeting.has_all_for(static_cast<int>(m))) continue;
      const int rank = (*meeting.ranks)[m];
      if (group_target_bytes(meeting.problem, static_cast<int>(m)) > 0)
        ranks_[static_cast<std::size_t>(rank)].arriving[member.id] = result_of(meeting, static_cast<int>(m));
      completions_.emplace_back(rank, member.id);
      member.is_done = true;
    }
    const auto is_done = [](const auto& member) { return member.is_done; };
    if (!std::all_of(meeting.members.begin(), meeting.members.end(), is_done)) return;
    for (auto& member : meeting.members) std::vector<Cell>().swap(member.contribution);
  }

  // Contributions stand in the order of the members.
  std::vector<Cell> result_of(const Meeting<std::vector<Cell>>& meeting, int member) {
    std::vector<Cell> result(group_target_bytes(meeting.problem, member) / unit_);
    const int rank = (*meeting.ranks)[static_cast<std::size_t>(member)];
    for (const coll::Part& part : coll::meaning(meeting.problem, member)) {
      for (std::size_t u = 0; u < part.bytes / unit_; ++u) {
        Cell& cell = result[part.offset / unit_ + u];
        const auto of = [&](int m) {
          return meeting.members[static_cast<std::size_t>(m)].contribution[part.input_offset / unit_ + u];
        };
        cell = of(part.first);
        for (int m = part.first + 1; m <= part.last; ++m) {
          const auto tree = expressions_.combine(cell.tree, of(m).tree);
          if (of(m).unit != cell.unit) return fail(rank, "a group combines different elements"), result;
          if (!tree) return fail(rank, "a group takes a contribution twice"), result;
          cell.tree = *tree;
        }
      }
    }
    return result;
  }

  bool valid_peer(int rank, const Op& op) {
    if (op.peer >= 0 && op.peer < problem_.n_ranks && op.peer != rank) return true;
    fail(rank, describe(op) + " names no other rank");
    return false;
  }

  void post_receive(int rank, OpId id) {
    Rank& state = ranks_[static_cast<std::size_t>(rank)];
    const Op op = state.window.op(id);
    if (!valid_peer(rank, op)) return;
    if (!begin_writing(rank, op)) return;
    state.window.posted(id);
    stream(op.peer, rank, op.channel).receives.emplace_back(id, op.target.bytes / unit_);
    match(op.peer, rank, op.channel);
  }

  void post_send(int rank, OpId id) {
    Rank& state = ranks_[static_cast<std::size_t>(rank)];
    const Op op = state.window.op(id);
    if (!valid_peer(rank, op)) return;
    auto cells = begin_reading(rank, op.source, op);
    if (!cells) return;
    state.window.posted(id);
    const bool waits = mode_.synchronous || schedules_[static_cast<std::size_t>(rank)].window.synchronous;
    stream(rank, op.peer, op.channel).sends.push_back({rank, id, std::move(*cells), waits});
    if (!waits) completions_.emplace_back(rank, id);
    match(rank, op.peer, op.channel);
  }

  void run_local(int rank, OpId id) {
    Rank& state = ranks_[static_cast<std::size_t>(rank)];
    const Op op = state.window.op(id);
    if (op.target.buffer == Buffer::input) return fail(rank, describe(op) + " writes to the input");
    const auto from = locate(rank, op.source, op);
    const auto to = locate(rank, op.target, op);
    if (!from || !to) return;
    auto [source, in] = *from;
    auto [target, out] = *to;
    if (in.second - in.first != out.second - out.first) return fail(rank, describe(op) + ": sizes differ");
    const bool same_place = source == target && in.first == out.first;
    if (!readable(rank, *source, in.first, in.second, op)) return;
    if (!(op.kind == OpKind::copy && same_place) && !writable(rank, *target, out.first, out.second, op))
      return;
    for (std::size_t i = 0; i < in.second - in.first; ++i) {
      const Cell& left = source->cells[in.first + i];
      Cell& right = target->cells[out.first + i];
      if (op.kind == OpKind::copy) {
        right = left;
        continue;
      }
      if (right.tree == Expressions::kUnset)
        return fail(rank, describe(op) + " combines into what was never set");
      if (left.unit != right.unit) return fail(rank, describe(op) + " combines different elements");
      const auto tree = expressions_.combine(left.tree, right.tree);
      if (!tree) return fail(rank, describe(op) + " takes a contribution twice");
      right.tree = *tree;
    }
    state.window.complete(id);
  }

  Stream& stream(int from, int to, int channel) {
    return streams_[(static_cast<std::uint64_t>(from) * static_cast<std::uint64_t>(problem_.n_ranks) +
                     static_cast<std::uint64_t>(to))
                        << 16 |
                    static_cast<std::uint64_t>(channel)];
  }

  // The oldest send meets the oldest receive: that is MPI's matching.
  void match(int from, int to, int channel) {
    Stream& s = stream(from, to, channel);
    while (!s.sends.empty() && !s.receives.empty()) {
      PostedSend send = std::move(s.sends.front());
      s.sends.pop_front();
      const auto [receive, units] = s.receives.front();
      s.receives.pop_front();
      if (send.cells.size() != units) {
        return fail(to, "receives " + std::to_string(units * unit_) + " bytes where rank " +
                            std::to_string(from) + " sends " + std::to_string(send.cells.size() * unit_));
      }
      ranks_[static_cast<std::size_t>(to)].arriving[receive] = std::move(send.cells);
      completions_.emplace_back(to, receive);
      if (send.waits_for_match) completions_.emplace_back(from, send.id);
    }
  }

  void finish_message(int rank, OpId id) {
    Rank& state = ranks_[static_cast<std::size_t>(rank)];
    const Op op = state.window.op(id);
    if (op.kind != OpKind::recv) end_reading(rank, op);
    if (op.kind != OpKind::send) end_writing(rank, id, op);
    state.window.complete(id);
  }

  void check_the_end() {
    for (int rank = 0; rank < problem_.n_ranks; ++rank) {
      const Window& window = ranks_[static_cast<std::size_t>(rank)].window;
      if (!window.done()) {
        const auto awaited = meetings_.who_is_awaited();
        return fail(rank, "stands still with " + std::to_string(window.n_unfinished()) +
                              " operations left (deadlock, or a message that nobody sends" +
                              (awaited ? "; " + *awaited : "") + ")");
      }
    }
    for (const auto& [key, s] : streams_) {
      if (!s.sends.empty()) return fail(s.sends.front().rank, "sends a message that nobody receives");
    }
    check_postcondition();
  }

  // What unit `u` of a rank's result has to be: moved from one rank's input, or combined from some ranks'.
  struct Expected {
    int first;         // rank
    int last;          // rank; the same where nothing is combined
    std::size_t unit;  // of their inputs
  };

  Expected expected(int rank, std::size_t u) const {
    const std::size_t block = problem_.block_bytes() / unit_;
    const std::size_t mine = static_cast<std::size_t>(rank) * block;
    const int all = problem_.n_ranks - 1;
    const auto of_one = [](std::size_t from, std::size_t unit) {
      return Expected{static_cast<int>(from), static_cast<int>(from), unit};
    };
    switch (problem_.collective) {
      case Collective::broadcast:
        return of_one(static_cast<std::size_t>(problem_.root), u);
      case Collective::scatter:
        return of_one(static_cast<std::size_t>(problem_.root), mine + u);
      case Collective::gather:
      case Collective::allgather:
        return of_one(u / block, u % block);
      case Collective::alltoall:
        return of_one(u / block, mine + u % block);
      case Collective::reduce_scatter:
      case Collective::reduce_scatter_block:
        return {0, all, mine + u};
      case Collective::scan:
        return {0, rank, u};
      case Collective::exscan:
        return {0, rank - 1, u};
      case Collective::barrier:
      case Collective::reduce:
      case Collective::allreduce:
        return {0, all, u};
    }
    return {0, all, u};
  }

  void check_postcondition() {
    const bool alike = problem_.collective == Collective::allreduce;
    const auto& reference = ranks_[0].memory[static_cast<std::size_t>(Buffer::output)].cells;
    for (int rank = 0; rank < problem_.n_ranks; ++rank) {
      const auto& cells =
          ranks_[static_cast<std::size_t>(rank)].memory[static_cast<std::size_t>(Buffer::output)].cells;
      for (std::size_t u = 0; u < cells.size(); ++u) {
        const std::string where = "result byte " + std::to_string(u * unit_);
        const Tree tree = cells[u].tree;
        const Expected wanted = expected(rank, u);
        if (tree == Expressions::kUnset) return fail(rank, where + " was never set");
        if (cells[u].unit != wanted.unit) return fail(rank, where + " holds another element");
        if (!expressions_.combines_exactly(tree, wanted.first, wanted.last)) {
          return fail(
              rank, where + (wanted.first == wanted.last
                                 ? " is not rank " + std::to_string(wanted.first) + "'s"
                                 : " lacks a contribution or has one too many: it has to combine ranks " +
                                       std::to_string(wanted.first) + " to " + std::to_string(wanted.last)));
        }
        if (alike && tree != reference[u].tree)
          return fail(rank, where + " is computed by another expression than on rank 0");
        if (!problem_.commutative && !expressions_.in_rank_order(tree)) {
          return fail(rank, where + " is not combined in rank order");
        }
      }
    }
  }

  const CommonProblem& problem_;
  const std::vector<Schedule>& schedules_;
  const VerifyOptions& options_;
  Mode mode_;
  std::size_t unit_;
  Expressions expressions_;
  std::mt19937_64 random_;
  std::vector<Rank> ranks_;
  std::unordered_map<std::uint64_t, Stream> streams_;
  Meetings<std::vector<Cell>> meetings_;
  std::deque<std::pair<int, OpId>> completions_;
  std::optional<Fault> fault_;
};

}  // namespace

std::optional<Fault> verify(const CommonProblem& problem, const std::vector<Schedule>& schedules,
                            const VerifyOptions& options) {
  if (static_cast<int>(schedules.size()) != problem.n_ranks) {
    return Fault{std::to_string(schedules.size()) + " schedules for " + std::to_string(problem.n_ranks) +
                 " ranks"};
  }
  if (auto fault = fault_of_groups(problem, schedules)) return fault;
  const std::size_t unit = unit_bytes(problem, schedules);
  if (problem.collective != Collective::barrier && coll::is_reduction(problem.collective) &&
      unit % problem.element_bytes != 0) {
    return Fault{"a region begins or ends inside an element of " + std::to_string(problem.element_bytes) +
                 " bytes"};
  }
  std::vector<Mode> modes = {{"synchronous sends", true, 0},
                             {"buffered sends", false, 0},
                             {"newest first", true, 0, true},
                             {"newest first, buffered", false, 0, true}};
  for (int seed = 1; seed <= options.random_orders; ++seed) {
    modes.push_back({"random order", seed % 2 == 0, static_cast<std::uint64_t>(seed)});
  }
  for (const Mode& mode : modes) {
    if (auto fault = Machine(problem, schedules, options, unit, mode).run()) return fault;
  }
  return std::nullopt;
}

}  // namespace eco::sched
