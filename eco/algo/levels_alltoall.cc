// All-to-all in levels: vectors are gathered at one leader inside each subnet, leaders exchange what their subnets have for
// each other, and every member gets its vector from its leader.
//
//   steps            those of the parts: a gather, an all-to-all between, a scatter
//   bytes per link   what a subnet's ranks have for others, as if all subnets were as large as the largest; inside, every
//                    vector passes the leader twice
//   model            gather inside, of vectors + all-to-all between + scatter inside, of vectors
//   order            none (data movement)
//   source           Kielmann et al., MagPIe, PPoPP 1999; Lowekamp and Beguelin, CMU-CS-95-191, section 5
//
// {0 1} {2 3}:   1 -> 0, 3 -> 2 (vectors)   then   0 -> 2 (of 0 1 for 2 3), 2 -> 0   then   0 -> 1, 2 -> 3 (vectors)
#include <algorithm>

#include "eco/algo/composed.h"

namespace eco::algo {

using coll::Collective;
using sched::Buffer;
using sched::Emitter;
using sched::Region;

Steps alltoall_in_levels(const Piece& piece) {
  const Levels levels(piece);
  const std::size_t part = piece.bytes;  // of a block
  const std::size_t n_ranks = levels.packed().size();
  const std::size_t n_own = levels.members(levels.subnet()).size();
  std::vector<std::size_t> first;
  std::vector<std::size_t> size;
  for (std::size_t s = 0; s < levels.count(); ++s) {
    first.push_back(levels.first_of(s));
    size.push_back(levels.members(s).size());
  }
  const std::size_t largest = *std::max_element(size.begin(), size.end());
  const std::size_t room = largest * largest;  // of what one subnet has for another
  const std::size_t of_leader = levels.leads() ? part : 0;
  Steps steps;
  const Region given = steps.scratch(n_ranks * part);  // vectors, packed subnet by subnet
  const Region all_given = steps.scratch(n_own * n_ranks * of_leader);
  const Region leaving = steps.scratch(levels.count() * room * of_leader);
  const Region come = steps.scratch(levels.count() * room * of_leader);
  const Region all_got = steps.scratch(n_own * n_ranks * of_leader);
  const Region got = steps.scratch(n_ranks * part);
  const Pieces pieces = piece.pieces();

  steps.own([=, ranks = levels.packed()](Emitter& e) {
    for (std::size_t i = 0; i < n_ranks; ++i) e.copy(pieces.of(Buffer::input, ranks[i]), pieces.in(given, i));
  });
  steps.part(piece.part(0), levels.inside_in_blocks(Collective::gather, n_ranks * part), given, all_given);
  if (levels.leads()) {
    // What member a has for their member b; the room that is left holds the first of it again.
    steps.own([=](Emitter& e) {
      for (std::size_t s = 0; s < size.size(); ++s) {
        for (std::size_t i = 0; i < room; ++i) {
          const std::size_t pair = i % (n_own * size[s]);
          e.copy(pieces.in(all_given, pair / size[s] * n_ranks + first[s] + pair % size[s]),
                 pieces.in(leaving, s * room + i));
        }
      }
    });
  }
  steps.part(piece.part(1), {levels.between(Collective::alltoall, levels.count() * room * part)}, leaving,
             come);
  if (levels.leads()) {
    steps.own([=](Emitter& e) {
      for (std::size_t s = 0; s < size.size(); ++s) {
        for (std::size_t i = 0; i < size[s] * n_own; ++i)
          e.copy(pieces.in(come, s * room + i),
                 pieces.in(all_got, i % n_own * n_ranks + first[s] + i / n_own));
      }
    });
  }
  steps.part(piece.part(2), levels.inside_in_blocks(Collective::scatter, n_ranks * part), all_got, got);
  steps.own([=, ranks = levels.packed()](Emitter& e) {
    for (std::size_t i = 0; i < n_ranks; ++i) e.copy(pieces.in(got, i), pieces.of(Buffer::output, ranks[i]));
  });
  return steps;
}

}  // namespace eco::algo
