// Static mapping by Scotch (Pellegrini and Roman, HPCN 1996): the graph is divided over the subnets in parts as large as
// their ranks are many, with as little weight between parts as it finds, and each part over its hosts in the same way.
//
// Its parts come out about right; nodes then move from parts that are too large to those that are too small.
#include <scotch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>  // what scotch.h needs
#include <memory>
#include <optional>
#include <unordered_map>

#include "eco/map/strategies.h"

// Scotch's own words on errors: there is no proposal then, and nobody to read more.
extern "C" {
void SCOTCH_errorProg(const char* const) {}
void SCOTCH_errorPrint(const char* const, ...) {}
void SCOTCH_errorPrintW(const char* const, ...) {}
}

namespace eco::map {
namespace {

constexpr SCOTCH_Num kSeed = 1;
// Part of a part's size by which it may be off before nodes are moved.
constexpr double kImbalance = 0.01;
// Weights are whole numbers there: the mean one in such units.
constexpr double kUnitsPerMean = 100;
constexpr double kMostUnits = 1e6;

// What Scotch makes and wants to have ended.
template <class Thing, int (*init)(Thing*), void (*exit)(Thing*)>
class Held {
 public:
  Held() : good_(init(&thing_) == 0) {}
  ~Held() {
    if (good_) exit(&thing_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  explicit operator bool() const { return good_; }
  Thing* get() { return &thing_; }

 private:
  Thing thing_{};
  bool good_;
};
using HeldGraph = Held<SCOTCH_Graph, &SCOTCH_graphInit, &SCOTCH_graphExit>;
using HeldArch = Held<SCOTCH_Arch, &SCOTCH_archInit, &SCOTCH_archExit>;
using HeldStrategy = Held<SCOTCH_Strat, &SCOTCH_stratInit, &SCOTCH_stratExit>;
using HeldContext = Held<SCOTCH_Context, &SCOTCH_contextInit, &SCOTCH_contextExit>;

struct ScotchArc {
  SCOTCH_Num to;
  SCOTCH_Num weight;
};

// Neighbours with the weight of both directions, as Scotch wants them.
using Neighbours = std::vector<std::vector<ScotchArc>>;

Neighbours neighbours_of(const Graph& graph) {
  double sum = 0;
  for (const Message& message : graph.messages) sum += message.weight;
  const double unit = sum / static_cast<double>(std::max<std::size_t>(graph.messages.size(), 1));
  std::vector<std::unordered_map<int, double>> weights(static_cast<std::size_t>(graph.n_nodes));
  for (const Message& message : graph.messages) {
    weights[static_cast<std::size_t>(message.from)][message.to] += message.weight / unit;
    weights[static_cast<std::size_t>(message.to)][message.from] += message.weight / unit;
  }
  Neighbours neighbours(weights.size());
  for (std::size_t node = 0; node < weights.size(); ++node) {
    for (const auto& [to, weight] : weights[node]) {
      const double units = std::clamp(std::round(weight * kUnitsPerMean), 1.0, kMostUnits);
      neighbours[node].push_back({to, static_cast<SCOTCH_Num>(units)});
    }
    // A hash table's order is nobody's.
    std::sort(neighbours[node].begin(), neighbours[node].end(),
              [](const ScotchArc& a, const ScotchArc& b) { return a.to < b.to; });
  }
  return neighbours;
}

// The graph among some nodes, numbered as they stand in the list.
Neighbours induced(const Neighbours& all, const std::vector<int>& nodes) {
  std::unordered_map<SCOTCH_Num, SCOTCH_Num> number;
  for (const int node : nodes) number.emplace(node, static_cast<SCOTCH_Num>(number.size()));
  Neighbours part;
  for (const int node : nodes) {
    std::vector<ScotchArc>& arcs = part.emplace_back();
    for (const ScotchArc& arc : all[static_cast<std::size_t>(node)]) {
      if (const auto found = number.find(arc.to); found != number.end())
        arcs.push_back({found->second, arc.weight});
    }
  }
  return part;
}

// The part of each node, about of these sizes; nothing if Scotch fails.
std::optional<std::vector<SCOTCH_Num>> divided(const Neighbours& neighbours,
                                               const std::vector<SCOTCH_Num>& sizes) {
  const auto n = static_cast<SCOTCH_Num>(neighbours.size());
  const auto n_parts = static_cast<SCOTCH_Num>(sizes.size());
  std::vector<SCOTCH_Num> first = {0};
  std::vector<SCOTCH_Num> ends;
  std::vector<SCOTCH_Num> weights;
  for (const std::vector<ScotchArc>& arcs : neighbours) {
    for (const ScotchArc& arc : arcs) {
      ends.push_back(arc.to);
      weights.push_back(arc.weight);
    }
    first.push_back(static_cast<SCOTCH_Num>(ends.size()));
  }
  HeldGraph graph;
  HeldGraph bound;
  HeldArch parts;
  HeldStrategy strategy;
  HeldContext context;
  if (!graph || !bound || !parts || !strategy || !context) return std::nullopt;
  std::vector<SCOTCH_Num> part(neighbours.size(), 0);
  // One thread, seeded, whatever Scotch's environment variables say: the program's process is not ours.
  SCOTCH_contextRandomClone(context.get());
  SCOTCH_contextRandomSeed(context.get(), kSeed);
  const bool good =
      SCOTCH_contextOptionSetNum(context.get(), SCOTCH_OPTIONNUMDETERMINISTIC, 1) == 0 &&
      SCOTCH_contextThreadSpawn(context.get(), 1, nullptr) == 0 &&
      SCOTCH_graphBuild(graph.get(), 0, n, first.data(), nullptr, nullptr, nullptr,
                        static_cast<SCOTCH_Num>(ends.size()), ends.data(), weights.data()) == 0 &&
      SCOTCH_contextBindGraph(context.get(), graph.get(), bound.get()) == 0 &&
      SCOTCH_archCmpltw(parts.get(), n_parts, sizes.data()) == 0 &&
      SCOTCH_stratGraphMapBuild(strategy.get(), SCOTCH_STRATQUALITY | SCOTCH_STRATBALANCE, n_parts,
                                kImbalance) == 0 &&
      SCOTCH_graphMap(bound.get(), parts.get(), strategy.get(), part.data()) == 0;
  if (!good) return std::nullopt;
  return part;
}

// Exactly these sizes: node after node goes where it costs least.
void level(const Neighbours& neighbours, const std::vector<SCOTCH_Num>& sizes,
           std::vector<SCOTCH_Num>& part) {
  std::vector<SCOTCH_Num> room = sizes;
  for (const SCOTCH_Num p : part) --room[static_cast<std::size_t>(p)];
  for (;;) {
    double best_gain = 0;
    std::size_t best_node = part.size();
    SCOTCH_Num best_part = 0;
    for (std::size_t node = 0; node < part.size(); ++node) {
      const auto from = static_cast<std::size_t>(part[node]);
      if (room[from] >= 0) continue;
      std::vector<double> talk(room.size(), 0.0);
      for (const ScotchArc& arc : neighbours[node]) {
        talk[static_cast<std::size_t>(part[static_cast<std::size_t>(arc.to)])] +=
            static_cast<double>(arc.weight);
      }
      for (std::size_t p = 0; p < room.size(); ++p) {
        const double gain = talk[p] - talk[from];
        if (room[p] <= 0 || (best_node < part.size() && gain <= best_gain)) continue;
        best_gain = gain;
        best_node = node;
        best_part = static_cast<SCOTCH_Num>(p);
      }
    }
    if (best_node == part.size()) return;
    ++room[static_cast<std::size_t>(part[best_node])];
    --room[static_cast<std::size_t>(best_part)];
    part[best_node] = best_part;
  }
}

// How many ranks in a row have one key.
template <class Key>
std::vector<SCOTCH_Num> runs(std::vector<int>::const_iterator begin, std::vector<int>::const_iterator end,
                             const Key& key) {
  std::vector<SCOTCH_Num> lengths;
  for (auto rank = begin; rank != end; ++rank) {
    if (rank == begin || key(*rank) != key(*(rank - 1))) lengths.push_back(0);
    ++lengths.back();
  }
  return lengths;
}

// The nodes part after part; nothing if Scotch fails.
std::optional<std::vector<std::vector<int>>> parts_of(const Neighbours& all, const std::vector<int>& nodes,
                                                      const std::vector<SCOTCH_Num>& sizes) {
  std::vector<std::vector<int>> parts(sizes.size());
  if (sizes.size() == 1) {
    parts.front() = nodes;
    return parts;
  }
  const Neighbours neighbours = induced(all, nodes);
  std::optional<std::vector<SCOTCH_Num>> part = divided(neighbours, sizes);
  if (!part) return std::nullopt;
  level(neighbours, sizes, *part);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    parts[static_cast<std::size_t>((*part)[i])].push_back(nodes[i]);
  return parts;
}

std::optional<Mapping> mapped(const Neighbours& all, const net::GroupView& view,
                              const std::vector<int>& ranks) {
  const auto subnet = [&](int rank) { return view.subnet_of_rank[static_cast<std::size_t>(rank)]; };
  const auto host = [&](int rank) { return view.host_of(rank); };
  const auto n = static_cast<std::ptrdiff_t>(all.size());
  const auto on_subnets =
      parts_of(all, identity(static_cast<int>(n)), runs(ranks.begin(), ranks.begin() + n, subnet));
  if (!on_subnets) return std::nullopt;
  std::vector<int> node_order;
  auto first = ranks.begin();
  for (const std::vector<int>& nodes : *on_subnets) {
    const auto end = first + static_cast<std::ptrdiff_t>(nodes.size());
    const auto on_hosts = parts_of(all, nodes, runs(first, end, host));
    if (!on_hosts) return std::nullopt;
    for (const std::vector<int>& together : *on_hosts) {
      node_order.insert(node_order.end(), together.begin(), together.end());
    }
    first = end;
  }
  return fill(view, node_order, ranks);
}

}  // namespace

std::vector<Mapping> scotch(const Graph& graph, const net::GroupView& view) {
  if (graph.messages.empty()) return {};
  const Neighbours neighbours = neighbours_of(graph);
  std::vector<Mapping> proposals;
  for (const std::vector<int>& ranks : rank_orders(view)) {
    if (std::optional<Mapping> mapping = mapped(neighbours, view, ranks))
      proposals.push_back(std::move(*mapping));
    // Every beginning is the same question where all ranks have nodes.
    if (graph.n_nodes == view.n_ranks()) break;
  }
  return proposals;
}

}  // namespace eco::map
