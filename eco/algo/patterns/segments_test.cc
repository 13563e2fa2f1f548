#include "eco/algo/patterns/segments.h"

#include <gtest/gtest.h>

namespace eco::algo {
namespace {

using sched::Buffer;

Segments cut(std::size_t bytes, std::size_t element, std::size_t segment, std::size_t at_least = 1) {
  return Segments({.collective = coll::Collective::allreduce, .bytes = bytes, .element_bytes = element},
                  segment, at_least);
}

TEST(Segments, CoverTheMessageOnceInWholeElements) {
  for (const std::size_t element : {1, 4, 8, 16}) {
    for (const std::size_t elements : {1, 2, 7, 64, 1000, 1003}) {
      for (const std::size_t segment : {0, 1, 64, 100, 1392, 100000}) {
        for (const std::size_t at_least : {1, 3, 8}) {
          const Segments segments = cut(elements * element, element, segment, at_least);
          std::size_t at = 0;
          for (std::size_t j = 0; j < segments.count(); ++j) {
            const auto region = segments.region(Buffer::output, j);
            ASSERT_EQ(region.offset, at);
            ASSERT_GT(region.bytes, 0U);
            ASSERT_LE(region.bytes, segments.bytes());
            ASSERT_EQ(region.bytes % element, 0U);
            at += region.bytes;
          }
          ASSERT_EQ(at, elements * element);
          if (elements >= at_least * at_least) {
            ASSERT_GE(segments.count(), at_least);
          }
        }
      }
    }
  }
}

TEST(Segments, TheLastIsShorter) {
  std::vector<std::size_t> sizes;
  const Segments segments = cut(500, 1, 200);
  for (std::size_t j = 0; j < segments.count(); ++j)
    sizes.push_back(segments.region(Buffer::output, j).bytes);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{200, 200, 100}));
}

TEST(Segments, CandidatesArePacketsOrTheWhole) {
  const auto of = [](std::size_t bytes) { return segment_candidates(bytes); };
  EXPECT_EQ(of(8), (std::vector<std::size_t>{0}));
  EXPECT_EQ(of(2000), (std::vector<std::size_t>{1392, 0}));
  EXPECT_EQ(of(16384), (std::vector<std::size_t>{720, 976, 1392, 2832, 5728, 8624, 15872}));
  EXPECT_EQ(of(65536), (std::vector<std::size_t>{1392, 2832, 5728, 8624, 15872}));
  EXPECT_EQ(of(std::size_t{1} << 30), (std::vector<std::size_t>{15872}));
}

}  // namespace
}  // namespace eco::algo
