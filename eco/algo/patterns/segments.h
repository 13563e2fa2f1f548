// How a message is cut into the segments of a pipeline.
//
//   Segments s(problem, /*segment_bytes=*/1392, /*at_least=*/1);
//   for j < s.count(): s.region(Buffer::output, j)
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/sched/schedule.h"

namespace eco::algo {

class Segments {
 public:
  // Segments of `segment_bytes` (0: the whole), whole elements each, the last one shorter. With `at_least` > 1
  // segments become smaller until there are that many, as far as elements allow.
  Segments(const coll::CommonProblem& problem, std::size_t segment_bytes, std::size_t at_least = 1)
      : total_(coll::payload_bytes(problem)) {
    const std::size_t element = problem.element_bytes;
    std::size_t bytes = segment_bytes == 0 ? total_ : segment_bytes;
    const std::size_t elements = (total_ + element - 1) / element;
    bytes = std::min(bytes, (elements + at_least - 1) / at_least * element);
    bytes_ = std::max(bytes / element * element, element);
  }

  std::size_t count() const { return (total_ + bytes_ - 1) / bytes_; }
  std::size_t bytes() const { return std::min(bytes_, total_); }  // of the longest

  sched::Region region(sched::Buffer buffer, std::size_t j) const {
    const std::size_t offset = j * bytes_;
    return {buffer, offset, std::min(bytes_, total_ - offset)};
  }

 private:
  std::size_t total_;
  std::size_t bytes_;
};

// Segment sizes worth predicting for a message: whole packets less room for the library's header, up to what stays
// below its eager limit; and 0 (uncut) where the message is about one packet. Multiples of 16, so that they hold
// whole elements of every common type.
std::vector<std::size_t> segment_candidates(const coll::CommonProblem& problem);

}  // namespace eco::algo
