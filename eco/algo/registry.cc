// The table of all algorithms: builders joined with trees, one line each.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "eco/algo/algorithm.h"
#include "eco/algo/builders.h"
#include "eco/algo/patterns/candidates.h"

namespace eco::algo {
namespace {

using coll::Collective;
using Objection = std::optional<std::string>;

constexpr std::array kPatterns = {Pattern::subnets, Pattern::flat, Pattern::chain, Pattern::kary,
                                  Pattern::binomial};

// Short messages only: algorithms that bring more bytes to some rank than the problem has.
constexpr std::size_t kMostConcentratedBytes = std::size_t{256} << 10;

std::string title(Collective collective, std::string_view pattern) {
  return std::string(coll::name(collective)) + "/" + std::string(pattern);
}

// What of a problem is cut into segments.
std::size_t whole(const CommonProblem& problem) { return coll::payload_bytes(problem); }
std::size_t block(const CommonProblem& problem) { return problem.block_bytes(); }

struct TreeTraits {
  std::size_t (*cut)(const CommonProblem&);
  int messages_per_peer;  // in a send window
  bool orders;
  bool heads;
};

auto candidates_of(Pattern pattern, const TreeTraits& traits) {
  return [=](const CommonProblem& problem, const GroupView& view) {
    const Cutting cutting{traits.cut(problem), traits.messages_per_peer, traits.orders, traits.heads};
    if (pattern == Pattern::subnets) return subnet_candidates(problem, view, cutting);
    return shape_candidates(problem, pattern, cutting);
  };
}

auto leader_candidates_of(std::size_t (*cut)(const CommonProblem&)) {
  return [=](const CommonProblem& problem, const GroupView& view) {
    return leader_candidates(problem, view, {.bytes = cut(problem), .messages_per_peer = 2});
  };
}

auto shape_candidates_of(std::size_t (*cut)(const CommonProblem&)) {
  return [=](const CommonProblem& problem, const GroupView&) {
    return shape_candidates(problem, Pattern::chain, {.bytes = cut(problem), .messages_per_peer = 4});
  };
}

Objection needs_commutative(const CommonProblem& problem, const GroupView&) {
  if (problem.commutative) return std::nullopt;
  return "needs a commutative operation";
}

// For trees up which something is combined: rank order holds if the tree from rank 0 is one of runs.
auto keeps_order(Pattern pattern) {
  return [=](const CommonProblem& problem, const GroupView& view) -> Objection {
    if (problem.commutative || pattern != Pattern::subnets || subnets_are_runs(view)) return std::nullopt;
    return "the operation does not commute and the subnets are no runs of ranks";
  };
}

Objection needs_runs(const CommonProblem& problem, const GroupView& view) {
  return keeps_order(Pattern::subnets)(problem, view);
}

Objection needs_subnets(const GroupView& view) {
  if (view.n_subnets() > 1) return std::nullopt;
  return "one subnet needs no leaders";
}

Objection is_short(std::size_t bytes, const CommonProblem&) {
  if (bytes <= kMostConcentratedBytes) return std::nullopt;
  return "brings " + std::to_string(bytes) + " bytes to one rank, more than " +
         std::to_string(kMostConcentratedBytes);
}

// The i-th owner leads with the i-th rank of each subnet, so that leading is shared.
int owner_root(const GroupView& view, int subnet, std::size_t i) {
  const auto& ranks = view.subnets[static_cast<std::size_t>(subnet)].ranks;
  return ranks[i % ranks.size()];
}

// Subnets that own segments in turn, of an allreduce over trees of subnets.
std::vector<int> owning_subnets(const GroupView& view, const Params& params) {
  if (!params.owners.empty()) return params.owners;
  std::vector<int> all(view.subnets.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Rank 0's tree in rank order, where the operation does not commute; it leads its subnet, as every first rank does.
Tree ordered_tree(Pattern pattern, const GroupView& view, const Params& params) {
  Params in_order = params;
  for (auto list : {&Params::order, &Params::tree, &Params::first, &Params::ring}) (in_order.*list).clear();
  return pattern_tree(pattern, view, 0, in_order);
}

std::vector<Owner> allreduce_owners(Pattern pattern, const CommonProblem& problem, const GroupView& view,
                                    const Params& params) {
  if (!problem.commutative) {
    const Tree tree = ordered_tree(pattern, view, params);
    return {{tree, tree}};
  }
  std::vector<Owner> owners;
  std::vector<int> subnets = owning_subnets(view, params);
  if (pattern != Pattern::subnets || problem.collective != Collective::allreduce) subnets.resize(1);
  for (std::size_t i = 0; i < subnets.size(); ++i) {
    const int root = pattern == Pattern::subnets ? owner_root(view, subnets[i], i) : 0;
    const Tree tree = pattern_tree(pattern, view, root, params, static_cast<int>(i));
    owners.push_back({tree, tree});
  }
  return owners;
}

// Up: owner + 1 is the leaf and the owner's left neighbour its last child, so both ways lead to the right.
std::vector<Owner> ring_owners(const CommonProblem& problem, const Params& params) {
  std::vector<Owner> owners;
  for (int owner = 0; owner < problem.n_ranks; ++owner) {
    const std::vector<int> rightwards = ring_from(params, problem.n_ranks, owner);
    std::vector<int> leftwards = rightwards;
    std::reverse(leftwards.begin() + 1, leftwards.end());
    owners.push_back({shape_tree(Shape::chain, leftwards, problem.n_ranks),
                      shape_tree(Shape::chain, rightwards, problem.n_ranks)});
  }
  return owners;
}

// The tree of every owner of a block; leaders of subnets take turns, so that leading is shared.
TreeOf trees_of_owners(Pattern pattern, const GroupView& view, const Params& params) {
  return [=, &view](int owner) { return pattern_tree(pattern, view, owner, params, owner); };
}

void add_trees(std::vector<Algorithm>& all) {
  for (const Pattern pattern : kPatterns) {
    all.push_back(
        {title(Collective::broadcast, name(pattern)),
         Collective::broadcast,
         candidates_of(pattern, {whole, 4, true, true}),
         [pattern](const CommonProblem& problem, const GroupView& view, const Params& params, int rank) {
           Params straight = params;
           straight.between = Shape::flat;
           straight.tree.clear();
           return build_broadcast(problem, pattern_tree(pattern, view, problem.root, params),
                                  pattern_tree(pattern, view, problem.root, straight), params, rank);
         },
         {}});
    all.push_back(
        {title(Collective::reduce, name(pattern)), Collective::reduce,
         candidates_of(pattern, {whole, 4, true, false}),
         [pattern](const CommonProblem& problem, const GroupView& view, const Params& params, int rank) {
           const Tree tree = problem.commutative ? pattern_tree(pattern, view, problem.root, params)
                                                 : ordered_tree(pattern, view, params);
           return build_reduce(problem, tree, params, rank);
         },
         keeps_order(pattern)});
    for (const Collective collective : {Collective::allreduce, Collective::barrier}) {
      all.push_back(
          {title(collective, name(pattern)), collective, candidates_of(pattern, {whole, 2, false, false}),
           [pattern](const CommonProblem& problem, const GroupView& view, const Params& params, int rank) {
             return build_allreduce(problem, allreduce_owners(pattern, problem, view, params), params, rank);
           },
           keeps_order(pattern)});
    }
    all.push_back(
        {title(Collective::scatter, name(pattern)),
         Collective::scatter,
         candidates_of(pattern, {whole, 4, true, false}),
         [pattern](const CommonProblem& problem, const GroupView& view, const Params& params, int rank) {
           return build_scatter(problem, pattern_tree(pattern, view, problem.root, params), params, rank);
         },
         {}});
    all.push_back(
        {title(Collective::gather, name(pattern)),
         Collective::gather,
         candidates_of(pattern, {whole, 4, true, false}),
         [pattern](const CommonProblem& problem, const GroupView& view, const Params& params, int rank) {
           return build_gather(problem, pattern_tree(pattern, view, problem.root, params), params, rank);
         },
         {}});
    all.push_back(
        {title(Collective::allgather, name(pattern)),
         Collective::allgather,
         candidates_of(pattern, {block, 2, false, false}),
         [pattern](const CommonProblem& problem, const GroupView& view, const Params& params, int rank) {
           return build_allgather(problem, trees_of_owners(pattern, view, params), params, rank);
         },
         {}});
    all.push_back(
        {title(Collective::reduce_scatter, name(pattern)), Collective::reduce_scatter,
         candidates_of(pattern, {block, 2, false, false}),
         [pattern](const CommonProblem& problem, const GroupView& view, const Params& params, int rank) {
           return build_reduce_scatter(problem, trees_of_owners(pattern, view, params), params, rank);
         },
         needs_commutative});
  }
}

void add_others(std::vector<Algorithm>& all) {
  all.push_back({"allreduce/ring", Collective::allreduce,
                 candidates_of(Pattern::chain, {whole, 2, false, false}),
                 [](const CommonProblem& problem, const GroupView&, const Params& params, int rank) {
                   return build_allreduce(problem, ring_owners(problem, params), params, rank);
                 },
                 needs_commutative});
  for (const bool far_first : {true, false}) {
    all.push_back({far_first ? "alltoall/subnets" : "alltoall/flat",
                   Collective::alltoall,
                   candidates_of(Pattern::flat, {block, 2, false, false}),
                   [far_first](const CommonProblem& problem, const GroupView& view, const Params& params,
                               int rank) { return build_alltoall(problem, view, far_first, params, rank); },
                   {}});
  }
  for (const Collective collective : {Collective::scan, Collective::exscan}) {
    all.push_back({title(collective, "chain"),
                   collective,
                   candidates_of(Pattern::chain, {whole, 4, false, false}),
                   [](const CommonProblem& problem, const GroupView&, const Params& params, int rank) {
                     return build_scan_chain(problem, params, rank);
                   },
                   {}});
  }
}

void add_leaders(std::vector<Algorithm>& all) {
  for (const Collective collective : {Collective::allreduce, Collective::barrier}) {
    all.push_back({title(collective, "leaders"), collective, leader_candidates_of(whole),
                   build_allreduce_leaders, [](const CommonProblem& problem, const GroupView& view) {
                     const Objection objection = needs_subnets(view);
                     return objection ? objection : needs_runs(problem, view);
                   }});
  }
  all.push_back({"allgather/leaders", Collective::allgather, leader_candidates_of(whole),
                 build_allgather_leaders,
                 [](const CommonProblem&, const GroupView& view) { return needs_subnets(view); }});
  all.push_back({"alltoall/leaders", Collective::alltoall, shape_candidates_of(whole), build_alltoall_leaders,
                 [](const CommonProblem& problem, const GroupView& view) {
                   const Objection objection = needs_subnets(view);
                   return objection
                              ? objection
                              : is_short(problem.bytes * static_cast<std::size_t>(problem.n_ranks), problem);
                 }});
  all.push_back({"reduce_scatter/leaders", Collective::reduce_scatter, leader_candidates_of(whole),
                 build_reduce_scatter_leaders,
                 [](const CommonProblem& problem, const GroupView& view) -> Objection {
                   if (const Objection objection = needs_runs(problem, view)) return objection;
                   return is_short(problem.bytes, problem);
                 }});
  for (const Collective collective : {Collective::scan, Collective::exscan}) {
    all.push_back({title(collective, "leaders"), collective, leader_candidates_of(whole), build_scan_leaders,
                   [](const CommonProblem& problem, const GroupView&) {
                     return is_short(problem.bytes * static_cast<std::size_t>(problem.n_ranks), problem);
                   }});
  }
}

void add_doubling(std::vector<Algorithm>& all) {
  const auto add = [&](Collective collective, auto build, std::size_t (*cut)(const CommonProblem&),
                       auto objection) {
    all.push_back({title(collective, "doubling"), collective, shape_candidates_of(cut),
                   [build](const CommonProblem& problem, const GroupView&, const Params& params, int rank) {
                     return build(problem, params, rank);
                   },
                   objection});
  };
  const auto nothing = [](const CommonProblem&, const GroupView&) -> Objection { return std::nullopt; };
  add(Collective::allreduce, build_allreduce_doubling, whole, nothing);
  add(Collective::barrier, build_allreduce_doubling, whole, nothing);
  add(Collective::allgather, build_allgather_doubling, whole, nothing);
  add(Collective::alltoall, build_alltoall_doubling, whole,
      [](const CommonProblem& problem, const GroupView&) { return is_short(problem.bytes, problem); });
  add(Collective::scan, build_scan_doubling, whole, nothing);
  add(Collective::exscan, build_scan_doubling, whole, nothing);
}

std::vector<Algorithm> make_registry() {
  std::vector<Algorithm> all;
  add_trees(all);
  add_others(all);
  add_leaders(all);
  add_doubling(all);
  return all;
}

}  // namespace

std::span<const Algorithm> registry() {
  static const std::vector<Algorithm> algorithms = make_registry();
  return algorithms;
}

const Algorithm* find(std::string_view name) {
  for (const Algorithm& algorithm : registry()) {
    if (algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

}  // namespace eco::algo
