// Split binary broadcast: the left half of the message goes down one binary tree, the right half down another over the
// other half of the ranks, and ranks at the same place of the two exchange halves.
//
//   steps            n/2s + depth + 1, each of two segments of s: one way down, one across
//   bytes per link   n out of the root; n/2 into every rank from above, n/2 from its partner, n/2 to each child
//   model            (n/2s + depth) * (alpha + 2s/B)
//   order            none (data movement)
//   source           the split binary tree of Open MPI: Pjesivac-Grbovic et al., Cluster Computing 10 (2007)
//
// P = 7, root 0:   left half 0 -> 1 -> 2, 3   right half 0 -> 4 -> 5, 6   then   1 <-> 4, 2 <-> 5, 3 <-> 6
//
// With an even number of ranks one has no partner: it gets the right half from the root.
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_broadcast_split(const CommonProblem& problem, const Params& params, int rank) {
  const int n = problem.n_ranks;
  const std::vector<int> ranks = rank_ring(n, problem.root);
  const std::span<const int> below = std::span(ranks).subspan(1);
  const std::size_t n_right = below.size() / 2;
  const std::size_t n_left = below.size() - n_right;
  // A half's tree: the root, and the half's ranks as a binary tree below it.
  const auto tree_of = [&](std::span<const int> members) {
    if (members.empty()) return shape_tree(Shape::flat, std::span(ranks).first(1), n);
    Tree tree = shape_tree(Shape::kary, members, n);
    tree.parent[static_cast<std::size_t>(members[0])] = problem.root;
    tree.children[static_cast<std::size_t>(problem.root)] = {members[0]};
    return tree;
  };
  const std::array<Place, 2> places = {place_in(tree_of(below.first(n_left)), rank),
                                       place_in(tree_of(below.subspan(n_left)), rank)};
  // Who gives this rank the half that it gets across, and to whom it gives its own.
  const auto position = static_cast<std::size_t>((rank + n - problem.root) % n);  // 0: the root
  const bool is_left = position >= 1 && position <= n_left;
  int giver = -1;
  int taker = -1;
  if (is_left) {
    const std::size_t i = position - 1;
    giver = i < n_right ? below[n_left + i] : problem.root;
    if (i < n_right) taker = giver;
  } else if (position > 0) {
    giver = taker = below[position - 1 - n_left];
  } else if (n_left > n_right) {
    taker = below[n_left - 1];
  }
  const std::size_t own =
      is_left ? 0 : 1;  // the half that comes from above; the root gives away the right one

  const Segments cut(problem, params.segment_bytes, 2);
  const std::size_t n_of_left = (cut.count() + 1) / 2;
  const std::array<std::size_t, 2> counts = {n_of_left, cut.count() - n_of_left};
  Schedule schedule(rank, n);
  set_window(schedule, params);
  schedule.n_channels = 2;  // down; across
  schedule.repeat(n_of_left, [=](std::size_t j, Emitter& e) {
    const auto segment = [&](std::size_t half) { return cut.region(Buffer::output, half * counts[0] + j); };
    for (const std::size_t half : {std::size_t{0}, std::size_t{1}}) {
      if (j >= counts[half]) continue;
      if (places[half].parent >= 0) e.recv(places[half].parent, segment(half), 0);
      for (const int child : places[half].children) e.send(child, segment(half), 0);
    }
    if (taker >= 0 && j < counts[own]) e.send(taker, segment(own), 1);
    if (giver >= 0 && j < counts[1 - own]) e.recv(giver, segment(1 - own), 1);
  });
  return schedule;
}

}  // namespace eco::algo
