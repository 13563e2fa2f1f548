// Which rank is to play which node of a program's graph on this network.
//
//   const Choice choice = choose_mapping(grid({4, 5}, {true, true}), view);
//   if (!choice.keeps_order()) use(choice.best().rank_of_node);
//
// Every strategy's proposals are judged by the same predicted time of one step (exchange.h), the best of each is
// improved by exchanges (refine.h), and the ranks stay as they are unless a mapping is predicted to be clearly faster.
// Local and pure; equal arguments give equal choices.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "eco/map/graph.h"
#include "eco/map/mapping.h"
#include "eco/net/group_view.h"

namespace eco::map {

struct MapOptions {
  // Of the messages that a program exchanges. Where nobody says, one whose latency counts and one that fills links: the
  // two sizes at which hosts are parted into subnets too (docs/characterization.md).
  std::vector<std::size_t> sizes = {net::kSmallPairBytes, net::kLargestPairBytes};
  std::size_t most_work = 100'000'000;  // numbers that refining looks at, in all: some tenths of a second
};

struct Candidate {
  std::string strategy;  // "identity", "rows", ...; "rows, refined"
  Mapping rank_of_node;
  std::vector<double> seconds;  // predicted, by size
};

struct Choice {
  std::vector<std::size_t> sizes;
  std::vector<Candidate> candidates;  // the identity first, then the best of each strategy
  std::size_t chosen = 0;

  bool keeps_order() const { return chosen == 0; }
  const Candidate& best() const { return candidates[chosen]; }
  const Candidate& unordered() const { return candidates.front(); }
};

// Throws InvalidArgument: more nodes than ranks, no sizes.
Choice choose_mapping(const Graph& graph, const net::GroupView& view, const MapOptions& options = {});

}  // namespace eco::map
