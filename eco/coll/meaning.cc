#include "eco/coll/meaning.h"

namespace eco::coll {

std::vector<Part> meaning(const CommonProblem& problem, int rank) {
  const std::size_t bytes = output_bytes(problem, rank);
  if (bytes == 0) return {};
  const int all = problem.n_ranks - 1;
  const std::size_t block = problem.block_bytes();
  const std::size_t mine = static_cast<std::size_t>(rank) * block;
  std::vector<Part> parts;
  // One block of every rank's, taken there at the same place.
  const auto from_everybody = [&](std::size_t input_offset) {
    for (int from = 0; from <= all; ++from) {
      parts.push_back({static_cast<std::size_t>(from) * block, block, from, from, input_offset});
    }
  };
  switch (problem.collective) {
    case Collective::broadcast:
      return {{0, bytes, problem.root, problem.root, 0}};
    case Collective::scatter:
      return {{0, bytes, problem.root, problem.root, mine}};
    case Collective::gather:
    case Collective::allgather:
      from_everybody(0);
      return parts;
    case Collective::alltoall:
      from_everybody(mine);
      return parts;
    case Collective::barrier:
    case Collective::reduce:
    case Collective::allreduce:
      return {{0, bytes, 0, all, 0}};
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      return {{0, bytes, 0, all, mine}};
    case Collective::scan:
      return {{0, bytes, 0, rank, 0}};
    case Collective::exscan:
      return {{0, bytes, 0, rank - 1, 0}};
    case Collective::neighbor_allgather:
    case Collective::neighbor_alltoall:
      for (std::size_t i = 0; i * problem.bytes < bytes; ++i) {
        const auto [from, slot] = problem.neighbors->sources_of(rank)[i];
        if (from == Neighborhood::kNobody) continue;
        const bool all_alike = problem.collective == Collective::neighbor_allgather;
        const std::size_t input_offset = all_alike ? 0 : static_cast<std::size_t>(slot) * problem.bytes;
        parts.push_back({i * problem.bytes, problem.bytes, from, from, input_offset});
      }
      return parts;
  }
  return parts;
}

}  // namespace eco::coll
