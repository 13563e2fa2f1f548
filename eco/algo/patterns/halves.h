// Partners at powers of two, for any number of ranks: of the first ranks pairs are made until a power of two is left. The
// left one of a pair waits while the right one takes its part; whoever takes part has a number.
//
//   n = 5:   0 waits for 1;   rank 1 2 3 4   has number   0 1 2 3
#pragma once

#include <bit>

namespace eco::algo {

struct Halves {
  Halves(int n_ranks, int rank)
      : power(static_cast<int>(std::bit_floor(static_cast<unsigned>(n_ranks)))),
        n_paired(2 * (n_ranks - power)),
        waits(rank < n_paired && rank % 2 == 0),
        takes_in(rank < n_paired && rank % 2 == 1),
        number(rank < n_paired ? rank / 2 : rank - n_paired / 2) {}

  int rank_of(int other) const { return other < n_paired / 2 ? 2 * other + 1 : other + n_paired / 2; }
  // The first of the ranks that `other` stands for; of `power` the end.
  int first_of(int other) const { return other < n_paired / 2 ? 2 * other : other + n_paired / 2; }

  int power;
  int n_paired;
  bool waits;     // for rank + 1
  bool takes_in;  // rank - 1
  int number;     // of the pair, or of the rank
};

}  // namespace eco::algo
