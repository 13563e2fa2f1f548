// Map: Machine holds all ranks' memories, windows and messages and runs them under one Mode after another; verify() has it
// run under every mode, which checks the postcondition after each.
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
#include "eco/sched/rank_memory.h"
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

class Machine {
 public:
  Machine(const CommonProblem& problem, const std::vector<Schedule>& schedules, const VerifyOptions& options,
          std::size_t unit)
      : problem_(problem),
        schedules_(schedules),
        options_(options),
        unit_(unit),
        expressions_(problem.n_ranks, problem.collective == Collective::barrier),
        meetings_(schedules[0].groups) {
    for (int rank = 0; rank < problem.n_ranks; ++rank) {
      const Schedule& schedule = schedules[static_cast<std::size_t>(rank)];
      const std::array<std::size_t, 3> units = {coll::input_bytes(problem, rank) / unit,
                                                coll::output_bytes(problem, rank) / unit,
                                                (schedule.scratch_bytes + unit - 1) / unit};
      ranks_.push_back({Window(schedule, options.window_capacity, options.input_is_output),
                        RankMemory(units, unit, options.input_is_output),
                        {}});
    }
  }

  std::optional<Fault> run(const Mode& mode) {
    start(mode);
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
    RankMemory memory;
    // For receives that are matched, and groups that have met, but are not complete.
    std::unordered_map<OpId, std::vector<Cell>> arriving;
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

  // As if nothing had run, in the memory that is there: to make it takes as long as to run a few messages.
  void start(const Mode& mode) {
    mode_ = mode;
    random_.seed(mode.shuffle);
    streams_.clear();
    completions_.clear();
    meetings_ = Meetings<std::vector<Cell>>(schedules_[0].groups);
    // A broadcast's message is the root's output from the start; and in place, output is where the input lies.
    const bool has_input = problem_.collective != Collective::broadcast;
    const Buffer start = has_input && !options_.input_is_output ? Buffer::input : Buffer::output;
    for (int rank = 0; rank < problem_.n_ranks; ++rank) {
      Rank& state = ranks_[static_cast<std::size_t>(rank)];
      state.window.restart(schedules_[static_cast<std::size_t>(rank)], options_.input_is_output);
      state.memory.clear();
      state.arriving.clear();
      if (has_input || rank == problem_.root) state.memory.fill(start, expressions_.leaf(rank));
    }
  }

  void fail(int rank, const std::string& what) {
    if (!fault_) fault_ = Fault{"rank " + std::to_string(rank) + ": " + what};
  }

  // Says whether all is well: no `wrong` of the operation.
  bool holds(int rank, const Op& op, const std::string& wrong) {
    if (!wrong.empty()) fail(rank, describe(op) + " " + wrong);
    return wrong.empty();
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

  void post_group(int rank, OpId id) {
    Rank& state = ranks_[static_cast<std::size_t>(rank)];
    const Op op = state.window.op(id);
    if (!is_group_collective(op.collective))
      return fail(rank, describe(op) + " is nothing that a group can do");
    std::vector<Cell> source;
    // Read before its target counts as written: what it reads may not be there too.
    if (!holds(rank, op, state.memory.begin_reading(op.source, source)) ||
        !holds(rank, op, state.memory.begin_writing(op.target)))
      return;
    state.window.posted(id);
    const auto arrival = meetings_.arrive(rank, id, op, std::move(source));
    if (!holds(rank, op, arrival.fault)) return;
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
    if (!holds(rank, op, state.memory.begin_writing(op.target))) return;
    state.window.posted(id);
    stream(op.peer, rank, op.channel).receives.emplace_back(id, op.target.bytes / unit_);
    match(op.peer, rank, op.channel);
  }

  void post_send(int rank, OpId id) {
    Rank& state = ranks_[static_cast<std::size_t>(rank)];
    const Op op = state.window.op(id);
    if (!valid_peer(rank, op)) return;
    std::vector<Cell> cells;
    if (!holds(rank, op, state.memory.begin_reading(op.source, cells))) return;
    state.window.posted(id);
    const bool waits = mode_.synchronous || schedules_[static_cast<std::size_t>(rank)].window.synchronous;
    stream(rank, op.peer, op.channel).sends.push_back({rank, id, std::move(cells), waits});
    if (!waits) completions_.emplace_back(rank, id);
    match(rank, op.peer, op.channel);
  }

  void run_local(int rank, OpId id) {
    Rank& state = ranks_[static_cast<std::size_t>(rank)];
    const Op op = state.window.op(id);
    if (holds(rank, op, state.memory.run_local(op, expressions_))) state.window.complete(id);
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
    if (op.kind != OpKind::recv) state.memory.end_reading(op.source);
    if (op.kind != OpKind::send) {
      state.memory.end_writing(op.target, state.arriving[id]);
      state.arriving.erase(id);
    }
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

  void check_postcondition() {
    for (int rank = 0; rank < problem_.n_ranks && !fault_; ++rank) {
      for (const coll::Part& part : coll::meaning(problem_, rank)) {
        const std::size_t at = part.offset / unit_;
        const std::size_t element = part.input_offset / unit_;
        const std::size_t n_units = part.bytes / unit_;
        for (std::size_t u = 0; u < n_units && !fault_; ++u) check_unit(rank, part, at + u, element + u);
      }
      check_places_of_nobody(rank);
    }
  }

  // What belongs to no part is the program's and stays as it was.
  void check_places_of_nobody(int rank) {
    if (!coll::follows_graph(problem_.collective)) return;
    std::vector<bool> is_result(result(rank).size());
    for (const coll::Part& part : coll::meaning(problem_, rank)) {
      const auto first = is_result.begin() + static_cast<std::ptrdiff_t>(part.offset / unit_);
      std::fill(first, first + static_cast<std::ptrdiff_t>(part.bytes / unit_), true);
    }
    for (std::size_t u = 0; u < is_result.size() && !fault_; ++u) {
      if (!is_result[u] && result(rank)[u].tree != Expressions::kUnset)
        fail(rank, "result byte " + std::to_string(u * unit_) + " was set, and is nobody's");
    }
  }

  // One unit of a part of a rank's result.
  void check_unit(int rank, const coll::Part& part, std::size_t at, std::size_t element) {
    const Cell& cell = result(rank)[at];
    const auto faulty = [&](const std::string& how) {
      fail(rank, "result byte " + std::to_string(at * unit_) + " " + how);
    };
    if (cell.tree == Expressions::kUnset) return faulty("was never set");
    if (cell.unit != element) return faulty("holds another element");
    if (!expressions_.combines_exactly(cell.tree, part.first, part.last)) {
      return faulty(part.first == part.last
                        ? "is not rank " + std::to_string(part.first) + "'s"
                        : "lacks a contribution or has one too many: it has to combine ranks " +
                              std::to_string(part.first) + " to " + std::to_string(part.last));
    }
    if (problem_.collective == Collective::allreduce && cell.tree != result(0)[at].tree)
      return faulty("is computed by another expression than on rank 0");
    if (!problem_.commutative && !expressions_.in_rank_order(cell.tree))
      return faulty("is not combined in rank order");
  }

  const std::vector<Cell>& result(int rank) const {
    return ranks_[static_cast<std::size_t>(rank)].memory.cells(Buffer::output);
  }

  const CommonProblem& problem_;
  const std::vector<Schedule>& schedules_;
  const VerifyOptions& options_;
  Mode mode_{};
  std::size_t unit_;
  Expressions expressions_;  // of all modes
  std::minstd_rand random_;  // seeded for every run
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
  if (const std::string wrong = fault_of_groups(schedules); !wrong.empty()) return Fault{wrong};
  for (const Schedule& schedule : schedules) {
    if (schedule.n_channels == schedules.front().n_channels) continue;
    return Fault{"rank " + std::to_string(schedule.rank()) + " has " + std::to_string(schedule.n_channels) +
                 " channels, rank 0 has " + std::to_string(schedules.front().n_channels) +
                 ": they would not agree on the tags of the next call"};
  }
  for (const Schedule& schedule : schedules) {
    if (schedule.rails != schedules.front().rails ||
        schedule.rails.size() > static_cast<std::size_t>(schedule.n_channels))
      return Fault{"rank " + std::to_string(schedule.rank()) +
                   " has other rails than rank 0, or more than channels"};
  }
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
  Machine machine(problem, schedules, options, unit);
  for (const Mode& mode : modes) {
    if (auto fault = machine.run(mode)) return fault;
  }
  return std::nullopt;
}

}  // namespace eco::sched
