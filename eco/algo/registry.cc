// The table of all algorithms: builders joined with trees (owners.h), one line each. Map: parameters worth predicting, then a
// function for each kind of algorithm, and make_registry() at the end.
#include <array>
#include <utility>

#include "eco/algo/algorithm.h"
#include "eco/algo/at_sites.h"
#include "eco/algo/builders.h"
#include "eco/algo/compositions.h"
#include "eco/algo/objections.h"
#include "eco/algo/owners.h"
#include "eco/algo/patterns/candidates.h"
#include "eco/algo/patterns/two_trees.h"
#include "eco/algo/striped.h"

namespace eco::algo {
namespace {

using coll::Collective;

// Those of which every owner may have one; the k-nomial tree is for one root.
constexpr std::array kPatterns = {Pattern::subnets, Pattern::flat, Pattern::chain, Pattern::kary,
                                  Pattern::binomial};

// Radixes worth predicting: of k-nomial trees, of rounds with several ports.
constexpr std::array kRadixes = {4, 3};

// What of a problem is cut into segments.
std::size_t whole(const CommonProblem& problem) { return coll::payload_bytes(problem); }
std::size_t block(const CommonProblem& problem) { return problem.block_bytes(); }

struct TreeTraits {
  std::size_t (*cut)(const CommonProblem&);
  int messages_per_peer;  // in a send window
  bool orders;
  bool detours;
};

// Two segment sizes of each degree.
template <std::size_t N>
auto few_candidates_of(std::size_t (*cut)(const CommonProblem&), const std::array<int, N>& degrees,
                       Shape shape = Shape::chain) {
  return [=](const CommonProblem& problem, const GroupView&) {
    std::vector<Params> all;
    for (Params& params : few_candidates(problem, cut(problem))) {
      params.inside = params.between = shape;
      for (const int degree : degrees) {
        params.degree = degree;
        all.push_back(params);
      }
    }
    return all;
  };
}

auto few_candidates_of(std::size_t (*cut)(const CommonProblem&)) {
  return few_candidates_of(cut, std::array{Params{}.degree});
}

using Candidates = std::function<std::vector<Params>(const CommonProblem&, const GroupView&)>;

Candidates candidates_of(Pattern pattern, const TreeTraits& traits) {
  if (pattern == Pattern::knomial) return few_candidates_of(traits.cut, kRadixes, Shape::knomial);
  return [=](const CommonProblem& problem, const GroupView& view) {
    const Cutting cutting{traits.cut(problem), traits.messages_per_peer, traits.orders, traits.detours};
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

std::vector<Params> in_one_piece(const CommonProblem&, const GroupView&) { return std::vector<Params>(1); }

// For trees up which something is combined: rank order holds if the tree from rank 0 is one of runs.
auto keeps_order(Pattern pattern) {
  return [=](const CommonProblem& problem, const GroupView& view) -> Objection {
    return pattern == Pattern::subnets ? needs_runs(problem, view) : std::nullopt;
  };
}

void add_trees(std::vector<Algorithm>& all) {
  std::vector<Pattern> patterns(kPatterns.begin(), kPatterns.end());
  patterns.push_back(Pattern::knomial);
  for (const Pattern pattern : patterns) {
    all.push_back(
        {title(Collective::broadcast, name(pattern)),
         Collective::broadcast,
         candidates_of(pattern, {whole, 4, true, true}),
         [pattern](const CommonProblem& problem, const GroupView& view, const Params& params, int rank) {
           return build_broadcast(problem, broadcast_ways(pattern, problem, view, params), params, rank);
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
             return build_allreduce(problem, allreduce_owners(pattern, problem, view, params, rank), params,
                                    rank, first_owner(view, params, rank));
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
  }
  for (const Pattern pattern : kPatterns) {
    all.push_back(
        {title(Collective::allgather, name(pattern)),
         Collective::allgather,
         candidates_of(pattern, {block, 2, false, false}),
         [pattern](const CommonProblem& problem, const GroupView& view, const Params& params, int rank) {
           return build_allgather(problem, places_of_owners(pattern, view, params, rank), params, rank);
         },
         {}});
    all.push_back(
        {title(Collective::reduce_scatter, name(pattern)), Collective::reduce_scatter,
         candidates_of(pattern, {block, 2, false, false}),
         [pattern](const CommonProblem& problem, const GroupView& view, const Params& params, int rank) {
           return build_reduce_scatter(problem, places_of_owners(pattern, view, params, rank), params, rank);
         },
         needs_commutative});
  }
}

void add_others(std::vector<Algorithm>& all) {
  all.push_back({"allreduce/ring", Collective::allreduce,
                 candidates_of(Pattern::chain, {whole, 2, false, false}),
                 [](const CommonProblem& problem, const GroupView&, const Params& params, int rank) {
                   return build_allreduce(problem, ring_owners(problem, params, rank), params, rank);
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
                   return objection ? objection
                                    : is_short(problem.bytes * static_cast<std::size_t>(problem.n_ranks));
                 }});
  all.push_back({"alltoall/lanes", Collective::alltoall, in_one_piece, build_alltoall_lanes,
                 [](const CommonProblem& problem, const GroupView& view) {
                   const Objection objection = needs_subnets(view);
                   return objection ? objection : is_short(problem.bytes);
                 }});
  all.push_back({"reduce_scatter/leaders", Collective::reduce_scatter, leader_candidates_of(whole),
                 build_reduce_scatter_leaders,
                 [](const CommonProblem& problem, const GroupView& view) -> Objection {
                   if (const Objection objection = needs_runs(problem, view)) return objection;
                   return is_short(problem.bytes);
                 }});
  for (const Collective collective : {Collective::scan, Collective::exscan}) {
    all.push_back({title(collective, "leaders"), collective, leader_candidates_of(whole), build_scan_leaders,
                   [](const CommonProblem& problem, const GroupView&) {
                     return is_short(problem.bytes * static_cast<std::size_t>(problem.n_ranks));
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
  add(
      Collective::allgather,
      [](const CommonProblem& problem, const Params& params, int rank) {
        return build_allgather_rounds(problem, radix_rounds(problem.n_ranks, 2), params, rank);
      },
      whole, nothing);
  add(
      Collective::alltoall,
      [](const CommonProblem& problem, const Params& params, int rank) {
        return build_alltoall_rounds(problem, 2, params, rank);
      },
      whole, [](const CommonProblem& problem, const GroupView&) { return is_short(problem.bytes); });
  add(Collective::scan, build_scan_doubling, whole, nothing);
  add(Collective::exscan, build_scan_doubling, whole, nothing);
}

// Along the edges of the problem's graph.
void add_neighborhoods(std::vector<Algorithm>& all) {
  for (const Pattern pattern : {Pattern::subnets, Pattern::flat}) {
    all.push_back(
        {title(Collective::neighbor_allgather, name(pattern)), Collective::neighbor_allgather,
         candidates_of(pattern, {whole, 2, false, false}),
         [pattern](const CommonProblem& problem, const GroupView& view, const Params& params, int rank) {
           const TreeOf tree_of = [&](int owner) {
             return tree_of_told(pattern, view, *problem.neighbors, owner, params);
           };
           return build_neighborhood_allgather(problem, tree_of, params, rank);
         },
         [pattern](const CommonProblem&, const GroupView& view) -> Objection {
           return pattern == Pattern::subnets ? needs_subnets(view) : std::nullopt;
         }});
  }
  all.push_back({title(Collective::neighbor_alltoall, "flat"),
                 Collective::neighbor_alltoall,
                 shape_candidates_of(whole),
                 [](const CommonProblem& problem, const GroupView&, const Params& params, int rank) {
                   return build_neighborhood_alltoall(problem, params, rank);
                 },
                 {}});
  all.push_back({title(Collective::neighbor_alltoall, "leaders"), Collective::neighbor_alltoall, in_one_piece,
                 build_neighborhood_alltoall_leaders,
                 [](const CommonProblem& problem, const GroupView& view) -> Objection {
                   const std::size_t most = most_edges_across(*problem.neighbors, view);
                   if (most < 2) return "no two edges lead from one subnet to another";
                   return is_short(problem.bytes * most);
                 }});
}

// One shape each, in rank order, for who has heard of them.
void add_textbook(std::vector<Algorithm>& all) {
  using Builder = Schedule (*)(const CommonProblem& problem, const Params& params, int rank);
  const auto add = [&](Collective collective, std::string_view pattern, const Candidates& candidates,
                       Builder build, decltype(Algorithm::objection) objection = {}) {
    all.push_back({title(collective, pattern), collective, candidates,
                   [build](const CommonProblem& problem, const GroupView&, const Params& params, int rank) {
                     return build(problem, params, rank);
                   },
                   std::move(objection)});
  };
  add(Collective::broadcast, "split_binary", few_candidates_of(whole), build_broadcast_split);
  add(Collective::broadcast, "two_tree", few_candidates_of(whole), build_broadcast_two_tree);
  add(Collective::reduce, "two_tree", few_candidates_of(whole), build_reduce_two_tree, needs_commutative);
  add(
      Collective::allreduce, "two_tree", few_candidates_of(whole),
      [](const CommonProblem& problem, const Params& params, int rank) {
        const auto [even, odd] = two_trees(rank_ring(problem.n_ranks, 0), problem.n_ranks);
        return build_allreduce(problem, {owner_with(even, even, rank), owner_with(odd, odd, rank)}, params,
                               rank);
      },
      needs_commutative);
  add(Collective::reduce_scatter, "recursive_halving", few_candidates_of(whole), build_reduce_scatter_halving,
      needs_commutative);
  add(Collective::reduce_scatter, "circulant", few_candidates_of(whole), build_reduce_scatter_circulant,
      needs_commutative);
  add(Collective::allgather, "recursive_doubling", few_candidates_of(whole), build_allgather_halves);
  add(Collective::allgather, "circulant", few_candidates_of(whole),
      [](const CommonProblem& problem, const Params& params, int rank) {
        return build_allgather_rounds(problem, circulant_rounds(problem.n_ranks), params, rank);
      });
  add(Collective::allgather, "bruck", few_candidates_of(whole, kRadixes),
      [](const CommonProblem& problem, const Params& params, int rank) {
        return build_allgather_rounds(problem, radix_rounds(problem.n_ranks, params.degree), params, rank);
      });
  add(Collective::allgather, "neighbor", few_candidates_of(block), build_allgather_neighbor,
      [](const CommonProblem& problem, const GroupView&) -> Objection {
        if (problem.n_ranks % 2 == 0) return std::nullopt;
        return "pairs of neighbours need an even number of ranks";
      });
  add(
      Collective::alltoall, "bruck", few_candidates_of(whole, kRadixes),
      [](const CommonProblem& problem, const Params& params, int rank) {
        return build_alltoall_rounds(problem, params.degree, params, rank);
      },
      [](const CommonProblem& problem, const GroupView&) { return is_short(problem.bytes); });
  add(Collective::alltoall, "pairwise", few_candidates_of(block),
      [](const CommonProblem& problem, const Params& params, int rank) {
        return build_alltoall_steps(problem, true, params, rank);
      });
  add(Collective::alltoall, "circular", few_candidates_of(block),
      [](const CommonProblem& problem, const Params& params, int rank) {
        return build_alltoall_steps(problem, false, params, rank);
      });
  add(Collective::alltoall, "linear_sync", few_candidates_of(block, std::array{2, 4}), build_alltoall_linear);
  add(Collective::barrier, "dissemination", few_candidates_of(whole, std::array{2, 3, 4}),
      build_barrier_dissemination);
  add(Collective::barrier, "extended_ring", few_candidates_of(whole),
      [](const CommonProblem& problem, const Params& params, int rank) {
        return build_barrier_ring(problem, false, params, rank);
      });
  add(Collective::barrier, "double_ring", few_candidates_of(whole),
      [](const CommonProblem& problem, const Params& params, int rank) {
        return build_barrier_ring(problem, true, params, rank);
      });
  // Winners wait for the next game, losers are out; rank 0 wins and tells all.
  add(Collective::barrier, "tournament", few_candidates_of(whole),
      [](const CommonProblem& problem, const Params& params, int rank) {
        const std::vector<int> ranks = rank_ring(problem.n_ranks, 0);
        return build_allreduce(problem,
                               {owner_with(shape_tree(Shape::binomial, ranks, problem.n_ranks),
                                           shape_tree(Shape::flat, ranks, problem.n_ranks), rank)},
                               params, rank);
      });
}

// On hosts with several NICs. What is striped knows one rail; the subnets' trees know where it is narrow.
void add_rails(std::vector<Algorithm>& all) {
  all.push_back(
      striped(Collective::broadcast, {"broadcast/two_tree", "broadcast/chain", "broadcast/subnets"}));
  all.push_back(striped(Collective::reduce, {"reduce/two_tree", "reduce/chain", "reduce/subnets"}));
  all.push_back(
      striped(Collective::allreduce, {"allreduce/ring", "allreduce/two_tree", "allreduce/subnets"}));
  all.push_back(striped(Collective::allgather, {"allgather/chain", "allgather/subnets"}));
  all.push_back(striped(Collective::reduce_scatter, {"reduce_scatter/chain", "reduce_scatter/subnets"}));
  all.push_back(striped(Collective::alltoall, {"alltoall/pairwise", "alltoall/flat"}));
  all.push_back({"broadcast/rail_trees",
                 Collective::broadcast,
                 few_candidates_of(whole),
                 build_broadcast_rail_trees,
                 [](const CommonProblem&, const GroupView& view) -> Objection {
                   if (view.network->n_rails() != 2)
                     return "its two trees are for two rails, hosts have " +
                            std::to_string(view.network->n_rails());
                   if (view.n_hosts_on(1) < view.n_hosts_on(0))
                     return "its two trees are for two rails, and some hosts have one";
                   return std::nullopt;
                 },
                 {},
                 {},
                 true});
}

std::vector<Algorithm> make_registry() {
  std::vector<Algorithm> all;
  add_trees(all);
  add_others(all);
  add_leaders(all);
  add_doubling(all);
  add_textbook(all);
  add_neighborhoods(all);
  add_compositions(all);
  add_rails(all);
  for (Algorithm& algorithm : all) see_sites(algorithm);
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
