// What is to be done, as far as every rank of the group knows it.
//
// Serve-or-pass and the choice of a recipe may depend on a CommonProblem and on nothing else: it holds only facts
// that are equal on all ranks by the rules of MPI. What one rank alone knows (addresses, datatypes)
// is bound when the schedule starts.
//
// Of which buffers a rank has, and how long they are, one table in problem.cc speaks:
//
//   input_bytes(problem, rank)     what the rank contributes
//   output_bytes(problem, rank)    what it has in the end (of a broadcast: the message, the root's from the start)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eco/coll/neighborhood.h"

namespace eco::coll {

enum class Collective : std::uint8_t {
  broadcast,
  barrier,
  reduce,
  allreduce,
  reduce_scatter,        // with equal counts
  reduce_scatter_block,  // the same to us; the libraries' two functions are not equally fast
  scatter,
  gather,
  allgather,
  alltoall,
  scan,
  exscan,
  neighbor_allgather,
  neighbor_alltoall,
};
inline constexpr int kCollectives = 14;

std::string_view name(Collective collective);
std::optional<Collective> collective_from_name(std::string_view name);
// Those that any group of ranks can do: all but the last two, which go along a graph that a group need not have.
const std::vector<Collective>& all_collectives();
// It goes along the edges of CommonProblem::neighbors.
constexpr bool follows_graph(Collective collective) { return collective >= Collective::neighbor_allgather; }
// Whose algorithms serve it: its own, but reduce_scatter's for reduce_scatter_block.
constexpr Collective algorithms_of(Collective collective) {
  return collective == Collective::reduce_scatter_block ? Collective::reduce_scatter : collective;
}

// One rank gives or gets what the others do not: broadcast, reduce, scatter, gather.
constexpr bool is_rooted(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce ||
         collective == Collective::scatter || collective == Collective::gather;
}
// No rank can leave it before all have come to it.
bool synchronizes(Collective collective);
// Elements are combined: reduce, allreduce, reduce_scatter (and _block), scan, exscan (and a barrier's tokens).
bool is_reduction(Collective collective);
// The whole is one block for every rank: reduce_scatter (and _block), scatter, gather, allgather, alltoall.
bool is_blocked(Collective collective);

struct CommonProblem {
  Collective collective = Collective::broadcast;
  int n_ranks = 1;
  int root = 0;  // rooted collectives; else 0
  // The whole: a broadcast's message, a reduction's vector, the blocks of all ranks together (scatter, gather: the
  // root's buffer; allgather: the result; alltoall, reduce_scatter: one rank's input); a barrier's is 0. Along a graph:
  // one block.
  std::size_t bytes = 0;
  std::size_t element_bytes = 1;  // a reduction is never cut inside an element, or so many (grain_of())
  bool commutative = true;        // reductions
  bool exact =
      false;  // reductions: the same bytes in whichever order elements are combined, or the user does not mind
  std::shared_ptr<const Neighborhood> neighbors{};  // of those that follow a graph, and of no others

  std::size_t block_bytes() const { return bytes / static_cast<std::size_t>(n_ranks); }
};

// Equal parts that the whole consists of: one block for every rank, or, where there are no blocks, one.
std::size_t n_blocks(const CommonProblem& problem);

// Reductions are planned with doubles. A vector of as many bytes in shorter elements is cut as theirs is: one of eight bytes
// stays whole instead of going over a tree of each subnet.
inline constexpr std::size_t kPlannedElementBytes = sizeof(double);
// Pure. What a reduction of such elements, of one byte or more, is not cut inside: doubles, where the vector or each block
// consists of whole ones and they of whole elements; else an element.
std::size_t grain_of(const CommonProblem& problem, std::size_t element_bytes);

// The number of bytes nearest to `bytes`, from below, that this collective can have: whole elements, equal blocks; at
// least one element (of each block) if `bytes` is not 0.
std::size_t whole_bytes(const CommonProblem& problem, std::size_t bytes);

// A barrier runs as an allreduce of one token byte: nobody has the combined token before everybody contributed.
inline constexpr std::size_t kBarrierTokenBytes = 1;

// Bytes of the whole as schedules see it: the problem's, or a barrier's token.
inline std::size_t payload_bytes(const CommonProblem& problem) {
  return problem.collective == Collective::barrier ? kBarrierTokenBytes : problem.bytes;
}

std::size_t input_bytes(const CommonProblem& problem, int rank);
std::size_t output_bytes(const CommonProblem& problem, int rank);

}  // namespace eco::coll
