#include "eco/sched/schedule.h"

#include <algorithm>
#include <array>

namespace eco::sched {

std::string_view name(Buffer buffer) {
  constexpr std::array<std::string_view, 3> kNames = {"input", "output", "scratch"};
  return kNames[static_cast<std::size_t>(buffer)];
}

std::string_view name(OpKind kind) {
  constexpr std::array<std::string_view, kOpKinds> kNames = {"send", "recv", "reduce", "copy", "group"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool is_group_collective(coll::Collective collective) {
  // MPI leaves the first member's result of an exscan undefined, and a barrier brings no token.
  // A group of ranks has no graph.
  return collective != coll::Collective::barrier && collective != coll::Collective::exscan &&
         !coll::follows_graph(collective);
}

coll::CommonProblem problem_of_group(const Op& op, std::size_t n_members) {
  coll::CommonProblem problem{.collective = op.collective, .n_ranks = static_cast<int>(n_members)};
  if (coll::is_rooted(op.collective)) problem.root = op.peer;
  switch (op.collective) {
    case coll::Collective::broadcast:
      problem.bytes = std::max(op.source.bytes, op.target.bytes);
      break;
    case coll::Collective::scatter:
      problem.bytes = op.target.bytes * n_members;
      break;
    case coll::Collective::gather:
    case coll::Collective::allgather:
      problem.bytes = op.source.bytes * n_members;
      break;
    default:
      problem.bytes = op.source.bytes;
  }
  return problem;
}

std::size_t group_source_bytes(const coll::CommonProblem& problem, int member) {
  if (problem.collective != coll::Collective::broadcast) return coll::input_bytes(problem, member);
  return member == problem.root ? problem.bytes : 0;
}

std::size_t group_target_bytes(const coll::CommonProblem& problem, int member) {
  const bool has_it = problem.collective == coll::Collective::broadcast && member == problem.root;
  return has_it ? 0 : coll::output_bytes(problem, member);
}

const Op* Cursor::next() {
  while (position_ == ops_.size()) {
    const auto& loops = schedule_->loops();
    while (loop_ < loops.size() && iteration_ == loops[loop_].count) {
      ++loop_;
      iteration_ = 0;
    }
    if (loop_ == loops.size()) return nullptr;
    ops_.clear();
    position_ = 0;
    Emitter emitter(ops_);
    loops[loop_].body(iteration_++, emitter);
  }
  return &ops_[position_++];
}

std::size_t count_operations(const Schedule& schedule) {
  Cursor cursor(schedule);
  std::size_t n = 0;
  while (cursor.next() != nullptr) ++n;
  return n;
}

}  // namespace eco::sched
