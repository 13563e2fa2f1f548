// The blocks that pass through one rank of a tree, in the order in which they travel: its own and those of its subtree.
//
// A child's part of its parent's stream is the child's own stream, so a forwarder never sorts anything: it cuts.
#pragma once

#include <cstddef>
#include <vector>

#include "eco/algo/patterns/segments.h"
#include "eco/algo/patterns/tree.h"
#include "eco/sched/schedule.h"

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

// A child's part at this rank: where it lies, and how it is cut.
struct ChildPart {
  int child = 0;  // rank
  sched::Region place;
  Segments segments;

  sched::Region region(std::size_t k) const { return segments.region(place.buffer, k, place.offset); }
};

// In travelling order. `whole`: where the root has all blocks in rank order, so that runs need not be copied; scratch on other
// ranks, where parts lie as the stream has them.
std::vector<ChildPart> child_parts(const Stream& stream, std::size_t block_bytes, std::size_t segment_bytes,
                                   sched::Buffer whole);
// Segments of the part that has most.
std::size_t most_segments(const std::vector<ChildPart>& parts);

}  // namespace eco::algo
