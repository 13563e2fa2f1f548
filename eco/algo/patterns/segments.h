// How a message is cut into the segments of a pipeline.
//
//   const Segments segments(problem, params.segment_bytes);
//   for (std::size_t j = 0; j < segments.count(); ++j) use(segments.region(Buffer::output, j));
#pragma once

#include <cstddef>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/sched/schedule.h"

namespace eco::algo {

// Segments of `segment_bytes` (0: the whole), whole elements each, the last one shorter.
class Segments {
 public:
  // With `at_least` > 1 segments become smaller until there are that many, as far as elements allow.
  Segments(const coll::CommonProblem& problem, std::size_t segment_bytes, std::size_t at_least = 1)
      : Segments(coll::payload_bytes(problem), problem.element_bytes, segment_bytes, at_least) {}
  // The same of any run of bytes: a block, the blocks of a subtree.
  Segments(std::size_t total_bytes, std::size_t element_bytes, std::size_t segment_bytes,
           std::size_t at_least = 1);

  std::size_t count() const { return (total_ + segment_ - 1) / segment_; }
  std::size_t bytes() const { return segment_; }  // of the longest
  sched::Region region(sched::Buffer buffer, std::size_t j, std::size_t base = 0) const;
  // Where the j-th begins; of j = count(), where all have ended.
  std::size_t begin_of(std::size_t j) const { return j >= count() ? total_ : j * segment_; }
  // How many segments begin before, and how many have ended by, this place.
  std::size_t begun_before(std::size_t place) const;
  std::size_t ended_by(std::size_t place) const;

 private:
  std::size_t total_;
  std::size_t segment_;
};

// Segment sizes worth predicting for a message of so many bytes: whole packets less room for the library's header, up to
// what stays below its eager limit; less than a packet for messages of a few packets; and 0 (uncut) where the message is
// about one. Multiples of 16, so that they hold whole elements of every common type.
std::vector<std::size_t> segment_candidates(std::size_t bytes);

}  // namespace eco::algo
