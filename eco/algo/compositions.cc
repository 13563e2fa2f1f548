// The table of compositions: what one segment goes through, and the parts worth predicting.
#include "eco/algo/compositions.h"

#include <algorithm>

#include "eco/algo/composed.h"
#include "eco/algo/objections.h"

namespace eco::algo {
namespace {

using coll::Collective;

Objection needs_little_of_all(const CommonProblem& problem, const GroupView&) {
  return is_short(problem.bytes * static_cast<std::size_t>(problem.n_ranks));
}

Objection needs_little(const CommonProblem& problem, const GroupView&) { return is_short(problem.bytes); }

Objection needs_levels(const CommonProblem& problem, const GroupView& view) {
  if (const Objection objection = needs_subnets(view)) return objection;
  return needs_runs(problem, view);
}

// A leader has, for every subnet, the blocks of as many pairs as the largest one has with another of its size.
Objection needs_levels_and_little_of_all(const CommonProblem& problem, const GroupView& view) {
  if (const Objection objection = needs_levels(problem, view)) return objection;
  std::size_t largest = 0;
  for (const net::SubnetView& subnet : view.subnets) largest = std::max(largest, subnet.ranks.size());
  return is_short(view.subnets.size() * largest * largest * problem.block_bytes());
}

Objection needs_runs_of_subnets(const CommonProblem&, const GroupView& view) {
  if (const Objection objection = needs_subnets(view)) return objection;
  if (subnets_are_runs(view)) return std::nullopt;
  return "the subnets are no runs of ranks";
}

void add_sequences(std::vector<Algorithm>& all) {
  all.push_back(
      composed({Collective::broadcast,
                "scatter+allgather",
                Cut::in_blocks,
                broadcast_as_scatter_allgather,
                {{"scatter/binomial", "allgather/chain"}, {"scatter/flat", "allgather/circulant"}}}));
  all.push_back(composed({Collective::allreduce,
                          "reduce_scatter+allgather",
                          Cut::in_blocks,
                          allreduce_as_reduce_scatter_allgather,
                          {{"reduce_scatter/recursive_halving", "allgather/recursive_doubling"},
                           {"reduce_scatter/circulant", "allgather/circulant"}}}));
  all.push_back(composed({Collective::allreduce,
                          "near_halves",
                          Cut::in_blocks,
                          allreduce_in_near_halves,
                          {{"reduce_scatter/recursive_halving", "allgather/recursive_doubling"}},
                          {1},
                          needs_commutative}));
  all.push_back(composed({Collective::allreduce,
                          "reduce+broadcast",
                          Cut::whole,
                          allreduce_as_reduce_broadcast,
                          {{"reduce/binomial", "broadcast/chain"}, {"reduce/chain", "broadcast/binomial"}}}));
  all.push_back(composed({Collective::allreduce,
                          "allgather+combine",
                          Cut::whole,
                          allreduce_as_allgather_combine,
                          {{"allgather/flat"}, {"allgather/bruck"}},
                          {1},
                          needs_little_of_all}));
  all.push_back(composed(
      {Collective::reduce,
       "reduce_scatter+gather",
       Cut::in_blocks,
       reduce_as_reduce_scatter_gather,
       {{"reduce_scatter/recursive_halving", "gather/binomial"}, {"reduce_scatter/chain", "gather/flat"}}}));
  all.push_back(composed({Collective::reduce,
                          "gather+combine",
                          Cut::whole,
                          reduce_as_gather_combine,
                          {{"gather/flat"}, {"gather/binomial"}},
                          {1},
                          needs_little_of_all}));
  all.push_back(composed({Collective::allgather,
                          "gather+broadcast",
                          Cut::nothing,
                          allgather_as_gather_broadcast,
                          {{"gather/binomial", "broadcast/binomial"}, {"gather/flat", "broadcast/chain"}}}));
  all.push_back(composed({Collective::reduce_scatter,
                          "reduce+scatter",
                          Cut::nothing,
                          reduce_scatter_as_reduce_then_scatter,
                          {{"reduce/binomial", "scatter/binomial"}, {"reduce/chain", "scatter/flat"}},
                          {1},
                          needs_little}));
}

void add_levels(std::vector<Algorithm>& all) {
  const std::vector<int> leaders = {1, 2};
  all.push_back(
      composed({Collective::broadcast,
                "levels",
                Cut::whole,
                broadcast_in_levels,
                {{"broadcast/chain", "broadcast/binomial"}, {"broadcast/binomial", "broadcast/two_tree"}},
                leaders,
                needs_levels,
                {1}}));
  all.push_back(composed({Collective::reduce,
                          "levels",
                          Cut::whole,
                          reduce_in_levels,
                          {{"reduce/binomial", "reduce/chain"}, {"reduce/chain", "reduce/flat"}},
                          leaders,
                          needs_levels,
                          {0}}));
  all.push_back(composed({Collective::allreduce,
                          "levels",
                          Cut::whole,
                          allreduce_in_levels,
                          {{"reduce/chain", "allreduce/doubling", "broadcast/chain"},
                           {"reduce/binomial", "allreduce/reduce_scatter+allgather", "broadcast/binomial"}},
                          leaders,
                          needs_levels,
                          {0, 2}}));
  all.push_back(composed({Collective::barrier,
                          "levels",
                          Cut::whole,
                          allreduce_in_levels,
                          {{"reduce/flat", "barrier/dissemination", "broadcast/flat"},
                           {"reduce/binomial", "barrier/dissemination", "broadcast/binomial"}},
                          {1},
                          needs_levels,
                          {0, 2}}));
  all.push_back(composed({Collective::allgather,
                          "levels",
                          Cut::block,
                          allgather_in_levels,
                          {{"gather/flat", "broadcast/flat", "broadcast/chain"}},
                          leaders,
                          needs_levels,
                          {0, 2}}));
  all.push_back(composed({Collective::reduce_scatter,
                          "levels",
                          Cut::block,
                          reduce_scatter_in_levels,
                          {{"reduce/chain", "reduce/flat", "scatter/flat"}},
                          leaders,
                          needs_levels,
                          {0, 2}}));
  all.push_back(composed({Collective::scatter,
                          "levels",
                          Cut::block,
                          scatter_in_levels,
                          {{"scatter/flat", "scatter/binomial"}, {"scatter/binomial", "scatter/flat"}},
                          leaders,
                          needs_levels,
                          {1}}));
  all.push_back(composed({Collective::gather,
                          "levels",
                          Cut::block,
                          gather_in_levels,
                          {{"gather/binomial", "gather/flat"}, {"gather/flat", "gather/binomial"}},
                          leaders,
                          needs_levels,
                          {0}}));
  all.push_back(composed({Collective::alltoall,
                          "levels",
                          Cut::block,
                          alltoall_in_levels,
                          {{"gather/flat", "alltoall/flat", "scatter/flat"},
                           {"gather/binomial", "alltoall/bruck", "scatter/binomial"}},
                          leaders,
                          needs_levels_and_little_of_all,
                          {0, 2}}));
  for (const Collective collective : {Collective::scan, Collective::exscan}) {
    const std::string inside = title(collective, "chain");
    // An exscan leaves the first member of an island without a result, which a group's operation can't.
    const bool inclusive = collective == Collective::scan;
    all.push_back(composed({collective,
                            "levels",
                            Cut::whole,
                            scan_in_levels,
                            {{inside, "exscan/chain", "broadcast/flat"},
                             {title(collective, "doubling"), "exscan/doubling", "broadcast/chain"}},
                            {1},
                            needs_runs_of_subnets,
                            inclusive ? std::vector<std::size_t>{0, 2} : std::vector<std::size_t>{2}}));
  }
}

}  // namespace

void add_compositions(std::vector<Algorithm>& all) {
  add_sequences(all);
  add_levels(all);
}

}  // namespace eco::algo
