#include "eco/algo/patterns/candidates.h"

#include <algorithm>

#include "eco/algo/patterns/segments.h"
#include "eco/algo/patterns/tree.h"
#include "eco/net/sites.h"

namespace eco::algo {
namespace {

// From here on many flows that meet on one uplink overrun its queue unless receivers confirm (measured on three-subnets
// in the lab: 8 MiB lost 464 packets without, none with 4 messages of 16 KiB under way to a peer; from 1 MiB it pays).
constexpr std::size_t kWindowFrom = std::size_t{1} << 20;
// Of reductions all ranks send at once, and a window also paces them (Slots): a reduce of 128 KiB took 1.31 times its bound
// without on three-subnets, 1.17 with 4 messages under way, an allreduce 1.32 and 1.24; at 16 KiB it costs more.
constexpr std::size_t kWindowFromReducing = std::size_t{64} << 10;

// Up to this many segments the depth of a tree counts more than what its root sends; beyond, the reverse. As many segments as ranks
// are not enough for the deepest of all, a chain: between them lie trees of two children.
constexpr std::size_t kFewSegments = 4;

std::vector<int> windows(const coll::CommonProblem& problem, const Cutting& cutting) {
  const std::size_t blocks = problem.neighbors ? problem.neighbors->largest_degree() : 1;
  const std::size_t from = coll::is_reduction(problem.collective) ? kWindowFromReducing : kWindowFrom;
  if (coll::payload_bytes(problem) * blocks < from) return {0};
  return {0, cutting.messages_per_peer};
}

// Up to this many segments one segment's time less is worth predicting another pattern.
constexpr std::size_t kSegmentsInTurn = 64;

// How segments of a broadcast take other ways than one tree.
struct Detour {
  int head = 0;
  int tail = 0;
  bool in_turn = false;  // every subnet but the root's passes segments on
};

// While a chain of subnets fills, the last one idles for a segment per subnet before it: so many first segments may go
// to every subnet straight from the root, whose own subnet can wait that long. Or all pass segments on in turn, and the
// last segment goes straight.
std::vector<Detour> detours(Shape between, int n_subnets, std::size_t n_segments) {
  std::vector<Detour> all(1);
  if (n_subnets < 3 || n_segments < 2 * static_cast<std::size_t>(n_subnets)) return all;
  if (between == Shape::chain) all.push_back({.head = n_subnets - 1});
  if (between == Shape::flat && n_segments <= kSegmentsInTurn) all.push_back({.tail = 1, .in_turn = true});
  return all;
}

std::vector<Shape> inner_shapes(const net::GroupView& view, std::size_t n_segments) {
  std::size_t largest = 0;
  for (const net::SubnetView& subnet : view.subnets) largest = std::max(largest, subnet.ranks.size());
  if (largest <= 2) return {Shape::chain};
  if (n_segments > std::max(kFewSegments, largest)) return {Shape::chain, Shape::flat};
  if (n_segments > kFewSegments) return {Shape::chain, Shape::flat, Shape::kary};
  if (largest <= 4) return {Shape::chain, Shape::binomial, Shape::flat};
  return {Shape::chain, Shape::binomial, Shape::flat, Shape::kary};
}

std::size_t n_segments(const coll::CommonProblem& problem, const Cutting& cutting, const Params& params) {
  return Segments(cutting.bytes, problem.element_bytes, params.segment_bytes).count();
}

}  // namespace

std::vector<Params> shape_candidates(const coll::CommonProblem& problem, Pattern pattern,
                                     const Cutting& cutting) {
  std::vector<Params> all;
  for (const std::size_t segment : segment_candidates(cutting.bytes)) {
    for (const int window : windows(problem, cutting)) {
      Params params;
      params.segment_bytes = segment;
      params.window = window;
      params.inside = params.between = shape_of(pattern);
      all.push_back(std::move(params));
    }
  }
  return all;
}

std::vector<Params> few_candidates(const coll::CommonProblem& problem, std::size_t bytes_cut) {
  const std::vector<std::size_t> segments = segment_candidates(bytes_cut);
  std::vector<Params> all;
  Params params;
  if (segments.size() > 1) {
    params.segment_bytes = segments[segments.size() / 2];
    if (params.segment_bytes != segments.back()) all.push_back(params);
  }
  params.segment_bytes = segments.back();
  for (const int window : windows(problem, {.bytes = bytes_cut})) {
    params.window = window;
    all.push_back(params);
  }
  return all;
}

std::vector<Params> subnet_candidates(const coll::CommonProblem& problem, const net::GroupView& view,
                                      const Cutting& cutting) {
  std::vector<std::vector<int>> orders = {{}};
  if (cutting.orders && view.n_subnets() > 2) {
    orders = subnet_orders(view, view.subnet_of_rank[static_cast<std::size_t>(problem.root)]);
  }
  std::vector<Shape> between = {Shape::chain};
  if (view.n_subnets() > 2) between = {Shape::chain, Shape::flat};
  if (view.n_subnets() > 4) between.push_back(Shape::binomial);

  const std::vector<int> along_sites = net::site_tree(view);

  std::vector<Params> all;
  for (const Params& base : shape_candidates(problem, Pattern::chain, cutting)) {
    const std::size_t n = n_segments(problem, cutting, base);
    for (const Shape b : between) {
      for (const auto& order : orders) {
        for (const Shape i : inner_shapes(view, n)) {
          for (const Detour& detour :
               cutting.detours ? detours(b, view.n_subnets(), n) : std::vector<Detour>(1)) {
            Params params = base;
            params.head = detour.head;
            params.tail = detour.tail;
            params.between = b;
            params.inside = i;
            params.order = order;
            if (detour.in_turn) params.owners.assign(order.begin() + 1, order.end());
            all.push_back(std::move(params));
          }
        }
      }
    }
    if (along_sites.empty()) continue;
    for (const Shape inside : inner_shapes(view, n)) {
      Params params = base;
      params.inside = inside;
      params.tree = along_sites;
      all.push_back(std::move(params));
    }
  }
  return all;
}

std::vector<Params> leader_candidates(const coll::CommonProblem& problem, const net::GroupView& view,
                                      const Cutting& cutting) {
  std::vector<Params> all;
  for (const Params& base : shape_candidates(problem, Pattern::chain, cutting)) {
    for (const Shape inside : inner_shapes(view, n_segments(problem, cutting, base))) {
      Params params = base;
      params.inside = inside;
      all.push_back(std::move(params));
    }
  }
  return all;
}

}  // namespace eco::algo
