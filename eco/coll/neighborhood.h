// The graph along whose edges neighbourhood collectives go: whom each rank hears from and tells, in the order of the
// blocks in its receive and its send buffer.
//
//   const auto graph = paired(std::move(sources), std::move(targets), Pairing::in_order);
//   for (const Incoming& from : graph->sources[rank]) ...         // block i of rank's result: from.rank's, its from.slot
//
// All ranks have all of it. A place of nobody (MPI_PROC_NULL, at a border) counts among the blocks, and nothing is written
// there. One rank may stand in a list several times, and in its own.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace eco::coll {

struct Neighborhood {
  static constexpr int kNobody = -1;

  struct Incoming {
    int rank = kNobody;
    int slot = 0;  // among that rank's targets: the edge that ends here
    friend bool operator==(const Incoming&, const Incoming&) = default;
  };

  std::vector<std::vector<Incoming>> sources;  // by rank
  std::vector<std::vector<int>> targets;       // by rank

  int n_ranks() const { return static_cast<int>(sources.size()); }
  const std::vector<Incoming>& sources_of(int rank) const { return sources[static_cast<std::size_t>(rank)]; }
  const std::vector<int>& targets_of(int rank) const { return targets[static_cast<std::size_t>(rank)]; }
  // Of these, each rank once, without itself and nobody, ascending.
  std::vector<int> others_told_by(int rank) const;
  std::vector<int> others_heard_by(int rank) const;
  // Tells nobody and hears from nobody but itself.
  bool is_alone(int rank) const;
  bool tells_somebody(int rank) const;
  std::size_t largest_degree() const;
  // The same for the same graph, in every build and on every machine.
  std::string digest() const;

  friend bool operator==(const Neighborhood&, const Neighborhood&) = default;
};

// Which of several messages from one rank to another ends in which place. MPI: the first told is the first heard
// (graphs); what is sent in one direction comes from the other (grids, whose places are pairs of opposite directions).
enum class Pairing { in_order, opposite };

// Nothing where the lists contradict each other: of another number of ranks, unknown ranks, or an edge in one alone.
std::shared_ptr<const Neighborhood> paired(const std::vector<std::vector<int>>& sources,
                                           std::vector<std::vector<int>> targets, Pairing pairing);

}  // namespace eco::coll
