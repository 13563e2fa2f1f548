// The blocks that pass through one rank of a tree, in the order in which they travel: its own and those of its subtree.
//
// A child's part of its parent's stream is the child's own stream, so a forwarder never sorts anything: it cuts.
#pragma once

#include <cstddef>
#include <vector>

#include "eco/algo/patterns/tree.h"

namespace eco::algo {

enum class Own { first, last };

struct Stream {
  struct Part {
    int child = 0;          // rank
    std::size_t begin = 0;  // in blocks
    std::size_t count = 0;
  };
  std::vector<int> ranks;   // whose block stands where
  std::vector<Part> parts;  // in travelling order
  std::size_t own = 0;      // where this rank's block stands
};

// Own::last (scatter): children in the order in which they are served, so far ones first, then the rank's own block.
// Own::first (gather): the exact reverse: the own block is there at once, far ones come last.
Stream stream_of(const Tree& tree, int rank, Own own);

// True if the part's blocks stand one after the other in rank order too: then they need no sorting.
bool is_run(const Stream& stream, const Stream::Part& part);

}  // namespace eco::algo
