#include "eco/algo/patterns/candidates.h"

#include <algorithm>

#include "eco/algo/patterns/segments.h"
#include "eco/algo/patterns/tree.h"

namespace eco::algo {
namespace {

// From here on many flows that meet on one uplink overrun its queue unless receivers confirm (measured on three-subnets
// in the lab: 8 MiB lost 464 packets without, none with 4 messages of 16 KiB under way to a peer; from 1 MiB it pays).
// An allreduce uses two channels between two leaders, one up and one down.
constexpr std::size_t kWindowFrom = std::size_t{1} << 20;
constexpr int kWindowPerPeer = 4;

// Up to this many segments the depth of a tree counts more than what its root sends; beyond, the reverse.
constexpr std::size_t kFewSegments = 4;

std::vector<int> windows(const coll::CommonProblem& problem) {
  if (coll::payload_bytes(problem) < kWindowFrom) return {0};
  return {0, problem.collective == coll::Collective::broadcast ? kWindowPerPeer : kWindowPerPeer / 2};
}

// While a chain of subnets fills, the last one idles for a segment per subnet before it: so many first segments may go
// to every subnet straight from the root, whose own subnet can wait that long.
std::vector<int> heads(Shape between, int n_subnets, std::size_t n_segments) {
  if (between != Shape::chain || n_subnets < 3 || n_segments < 2 * static_cast<std::size_t>(n_subnets))
    return {0};
  return {0, n_subnets - 1};
}

std::vector<Shape> inner_shapes(std::size_t n_segments) {
  if (n_segments <= kFewSegments) return {Shape::chain, Shape::binomial, Shape::flat};
  return {Shape::chain, Shape::flat};
}

}  // namespace

std::vector<Params> tree_candidates(const coll::CommonProblem& problem, Shape shape) {
  std::vector<Params> all;
  for (const std::size_t segment : segment_candidates(problem)) {
    for (const int window : windows(problem)) {
      Params params;
      params.segment_bytes = segment;
      params.window = window;
      params.inside = params.between = shape;
      all.push_back(std::move(params));
    }
  }
  return all;
}

std::vector<Params> subnet_candidates(const coll::CommonProblem& problem, const net::GroupView& view,
                                      bool for_broadcast) {
  const bool several_inside = std::any_of(view.subnets.begin(), view.subnets.end(),
                                          [](const net::SubnetView& s) { return s.ranks.size() > 2; });
  std::vector<std::vector<int>> orders = {{}};
  if (for_broadcast && view.n_subnets() > 2) {
    orders = subnet_orders(view, view.subnet_of_rank[static_cast<std::size_t>(problem.root)]);
  }
  std::vector<Shape> between = {Shape::chain};
  if (view.n_subnets() > 2) between = {Shape::chain, Shape::flat};
  if (view.n_subnets() > 4) between.push_back(Shape::binomial);

  std::vector<Params> all;
  for (const Params& base : tree_candidates(problem, Shape::chain)) {
    const Segments segments(problem, base.segment_bytes);
    const std::vector<Shape> inside =
        several_inside ? inner_shapes(segments.count()) : std::vector{Shape::chain};
    for (const Shape b : between) {
      for (const auto& order : orders) {
        for (const Shape i : inside) {
          for (const int head :
               for_broadcast ? heads(b, view.n_subnets(), segments.count()) : std::vector{0}) {
            Params params = base;
            params.head = head;
            params.between = b;
            params.inside = i;
            params.order = order;
            all.push_back(std::move(params));
          }
        }
      }
    }
  }
  return all;
}

}  // namespace eco::algo
