// Allreduce by halves of the nearest: as reduce-scatter by halving, then allgather by doubling, in an order of ranks in which the
// first partners, who exchange half of the vector, are neighbours, and the last, who exchange least, are of other subnets.
//
//   steps            2 log2(P) rounds; four more where P is no power of two
//   bytes per link   2 (P-1)/P n per rank; 2 (1/S - 1/P) n leave a subnet for each of its ranks, if all have S, powers of two
//   model            2 log2(P) alpha + 2 (P-1)/P n beta + (P-1)/P n gamma
//   order            neighbours are combined first; needs a commutative operation
//   source           Rabenseifner, ICCS 2004, whose first partners are neighbours by rank; here they are by host and subnet
//
// P = 4, hosts of two:   0 <-> 1, 2 <-> 3 (halves)   0 <-> 2, 1 <-> 3 (quarters)   and the same way back
#include "eco/algo/composed.h"
#include "eco/algo/patterns/halves.h"

namespace eco::algo {
namespace {

// The number whose lowest binary digit is the highest of `number`, of those below `power`.
int mirrored(int number, int power) {
  int result = 0;
  for (int digit = 1; digit < power; digit *= 2) {
    result = 2 * result + number % 2;
    number /= 2;
  }
  return result;
}

// Ranks in the order in which recursive halving is to number them: its first partners are half of the numbers apart.
// `near`: neighbours stand beside each other.
std::vector<int> mirrored_members(const std::vector<int>& near) {
  const Halves halves(static_cast<int>(near.size()), 0);
  std::vector<int> members(near.size());
  auto next = near.begin();
  for (int place = 0; place < halves.power; ++place) {
    const int number = mirrored(place, halves.power);
    for (int member = halves.first_of(number); member <= halves.rank_of(number); ++member)
      members[static_cast<std::size_t>(member)] = *next++;
  }
  return members;
}

}  // namespace

Steps allreduce_in_near_halves(const Piece& piece) {
  return reduce_scatter_then_allgather(piece, mirrored_members(Levels(piece).packed()));
}

}  // namespace eco::algo
