// What is to be done, as far as every rank of the group knows it.
//
// Serve-or-pass and the choice of a recipe may depend on a CommonProblem and on nothing else: it holds only facts
// that are equal on all ranks by the rules of MPI (DESIGN, rule 2). What one rank alone knows (addresses, datatypes)
// is bound when the schedule starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace eco::coll {

enum class Collective : std::uint8_t {
  broadcast,
  barrier,
  allreduce,
};
inline constexpr int kCollectives = 3;

std::string_view name(Collective collective);
std::optional<Collective> collective_from_name(std::string_view name);

struct CommonProblem {
  Collective collective = Collective::broadcast;
  int n_ranks = 1;
  int root = 0;                   // broadcast; else 0
  std::size_t bytes = 0;          // broadcast: the message; allreduce: the vector; barrier: 0
  std::size_t element_bytes = 1;  // a reduction is never cut inside an element
  bool commutative = true;        // reductions
};

// A barrier runs as an allreduce of one token byte: nobody has the combined token before everybody contributed.
inline constexpr std::size_t kBarrierTokenBytes = 1;

// Bytes of the buffers that a schedule of this problem works on: the problem's bytes, or a barrier's token.
constexpr std::size_t payload_bytes(const CommonProblem& problem) {
  return problem.collective == Collective::barrier ? kBarrierTokenBytes : problem.bytes;
}

}  // namespace eco::coll
