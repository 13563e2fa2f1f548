// The best segment of a pipelined operation (section 3 of the 2004 paper): every s = m / 2^i, then hill climbing in the
// number of segments round the best of them.
//
//   const SegmentChoice best = search_segment({.bytes = m, .least_bytes = 512, .element_bytes = 8}, [&](std::size_t s) {
//     return broadcast_chain_segmented(net, {.n_ranks = 16, .bytes = m, .segment_bytes = s}); });
//
// The cost may be any function of the segment: a closed form, the predictor, a measurement. Deterministic; never asks
// twice for the same segment.
#pragma once

#include <cstddef>
#include <functional>

namespace eco::model {

struct SegmentRange {
  std::size_t bytes = 0;          // m: the largest segment
  std::size_t least_bytes = 1;    // none smaller, unless the message is
  std::size_t element_bytes = 1;  // segments are multiples of it (the whole message is one too)
};

struct SegmentChoice {
  std::size_t segment_bytes = 0;  // equal to `bytes`: not cut
  double seconds = 0;
  int n_asked = 0;  // how often the cost was computed
};

// Of equal costs the larger segment wins: fewer messages. Throws InvalidArgument if there are no bytes or elements.
SegmentChoice search_segment(const SegmentRange& range, const std::function<double(std::size_t)>& cost);

}  // namespace eco::model
