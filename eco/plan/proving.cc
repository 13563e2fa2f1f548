#include "eco/plan/proving.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/algo/at_sites.h"
#include "eco/exec/executor.h"
#include "eco/plan/large_group.h"
#include "eco/sched/verify.h"

namespace eco::plan {
namespace {

using coll::CommonProblem;
using sched::Schedule;

// The verifier's cost is operations times units of memory, a unit being the largest that divides every boundary: one
// byte, if a message of 1 MiB is shared by five ranks. What is proved is therefore short, or of large units.

// Enough for the Executor's window of every rank to be full, and for every slot of scratch memory to be used again
// (pipelines keep at most 256 KiB of segments per child, or as many as owners take turns), with a good rest; proving grows with it.
constexpr std::size_t kMostSegmentsProved = 600;
// Into so many equal pieces may whatever divides a segment cut it at once; longer segments are proved that much rounder.
constexpr std::size_t kPiecesOfASegment = 128;
// Of a group of more than kMostRanksWalked ranks so many are proved, looking ahead over as much less as they are fewer, too.
constexpr int kRanksProved = 64;
// Of a message that is not cut: enough for every share of every rank to be there, also of unequal rails.
constexpr std::size_t kElementsOfARank = 64;

// What stands for a recipe and its problem before the verifier.
struct Stand {
  algo::Recipe recipe;
  CommonProblem problem;
};

std::size_t rounded_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

CommonProblem with_block(CommonProblem problem, std::size_t block_bytes) {
  problem.bytes = coll::whole_bytes(problem, coll::n_blocks(problem) * block_bytes);
  return problem;
}

CommonProblem with_few_elements(const CommonProblem& problem) {
  const std::size_t element = std::max<std::size_t>(problem.element_bytes, 1);
  const auto n_ranks = static_cast<std::size_t>(problem.n_ranks);
  const bool blocked = coll::n_blocks(problem) > 1;
  const std::size_t few = blocked ? std::max(kElementsOfARank, 2 * n_ranks) : kElementsOfARank * n_ranks;
  const std::size_t n_elements = problem.bytes / coll::n_blocks(problem) / element;
  if (n_elements < few + n_ranks) return problem;
  return with_block(problem, (few + n_elements % n_ranks) * element);
}

// Of so many segments no more than `most`, ending in the same place of a turn: owners take turns, one for each rank or subnet.
std::size_t fewer_alike(std::size_t n_whole, std::size_t most, const net::GroupView& view) {
  if (n_whole <= most) return n_whole;
  const auto n_ranks = static_cast<std::size_t>(view.n_ranks());
  const std::size_t both = std::lcm(n_ranks, static_cast<std::size_t>(view.n_subnets()));
  const std::size_t turn = both <= most ? both : n_ranks;
  return turn <= most ? most - (most + turn - n_whole % turn) % turn : most;
}

Stand stand_for(const algo::Recipe& recipe, const CommonProblem& problem, const net::GroupView& view) {
  const std::size_t segment = recipe.params.segment_bytes;
  const std::size_t block = problem.bytes / coll::n_blocks(problem);  // what segments cut
  if (segment == 0 || block <= segment) return {recipe, with_few_elements(problem)};

  const std::size_t n_at_once =
      problem.neighbors ? problem.neighbors->largest_degree() : coll::n_blocks(problem);
  const std::size_t most = std::max<std::size_t>(kMostSegmentsProved / n_at_once, 2);
  const std::size_t n_whole = fewer_alike(block / segment, most, algo::AtSites(view, recipe.params).view());
  const bool has_rest = block % segment != 0;

  Stand stand{recipe, problem};
  const std::size_t element = std::max<std::size_t>(problem.element_bytes, 1);
  const std::size_t pieces = segment >= kPiecesOfASegment * element ? kPiecesOfASegment : 2;
  const std::size_t rounder = rounded_up(segment, pieces * element);
  stand.recipe.params.segment_bytes = rounder;
  // A composition may divide a segment into blocks of whole elements: large ones keep the unit large there too.
  const bool divides = !recipe.params.parts.empty() && coll::n_blocks(problem) == 1;
  if (divides) {
    const bool each_has_one = n_whole >= static_cast<std::size_t>(problem.n_ranks);
    stand.problem.element_bytes = rounder / (each_has_one ? 2 : pieces);
  }
  stand.problem = with_block(stand.problem, n_whole * rounder + (has_rest ? rounder / 2 : 0));
  return stand;
}

std::optional<std::string> prove_all(const algo::Recipe& recipe, const CommonProblem& problem,
                                     const net::GroupView& view, std::size_t window_capacity) {
  const Stand stand = stand_for(recipe, problem, view);
  const std::vector<Schedule> schedules = algo::build_all(stand.recipe, stand.problem, view);
  sched::VerifyOptions options;
  options.window_capacity = window_capacity;
  for (const bool in_place : {false, true}) {
    if (in_place && problem.collective != coll::Collective::allreduce) continue;
    options.input_is_output = in_place;
    if (const auto fault = sched::verify(stand.problem, schedules, options)) {
      return "refused by the verifier at " + std::to_string(stand.problem.bytes) + " bytes: " + fault->what;
    }
  }
  return std::nullopt;
}

std::optional<std::string> prove_smaller(const algo::Recipe& recipe, const CommonProblem& problem,
                                         const net::GroupView& view) {
  const SmallerGroup group = smaller_group(problem, view, ranks_of_smaller(view, problem.root, kRanksProved));
  if (const auto reason = algo::why_not(recipe, group.problem, group.view))
    return "a group of " + std::to_string(group.view.n_ranks()) + " ranks, which would be proved: " + *reason;
  const double share = static_cast<double>(group.view.n_ranks()) / view.n_ranks();
  for (const std::size_t capacity : {exec::kWindowCapacity, window_of_smaller(share)}) {
    if (auto fault = prove_all(recipe, group.problem, group.view, capacity)) return fault;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> prove(const algo::Recipe& recipe, const CommonProblem& problem,
                                 const net::GroupView& view) {
  if (const auto reason = algo::why_not(recipe, problem, view)) return reason;
  return is_by_estimate_alone(problem, view) ? prove_smaller(recipe, problem, view)
                                             : prove_all(recipe, problem, view, exec::kWindowCapacity);
}

}  // namespace eco::plan
