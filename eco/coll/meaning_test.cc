#include "eco/coll/meaning.h"

#include <gtest/gtest.h>

#include <string>

namespace eco::coll {
namespace {

// "0..1 of 2 at 0", one line per part: ranks, bytes, place in their inputs.
std::string text(Collective collective, int rank, int root = 0) {
  const CommonProblem problem{.collective = collective, .n_ranks = 3, .root = root, .bytes = 12};
  std::string lines;
  std::size_t next = 0;
  for (const Part& part : meaning(problem, rank)) {
    EXPECT_EQ(part.offset, next) << "parts follow each other";
    next += part.bytes;
    if (!lines.empty()) lines += "; ";
    lines += std::to_string(part.first) + ".." + std::to_string(part.last) + " of " +
             std::to_string(part.bytes) + " at " + std::to_string(part.input_offset);
  }
  EXPECT_EQ(next, output_bytes(problem, rank)) << name(collective);
  return lines;
}

TEST(Meaning, IsThatOfTheMpiStandard) {
  EXPECT_EQ(text(Collective::broadcast, 1, 2), "2..2 of 12 at 0");
  EXPECT_EQ(text(Collective::scatter, 1, 2), "2..2 of 4 at 4");
  EXPECT_EQ(text(Collective::gather, 2, 2), "0..0 of 4 at 0; 1..1 of 4 at 0; 2..2 of 4 at 0");
  EXPECT_EQ(text(Collective::gather, 1, 2), "") << "the root's alone";
  EXPECT_EQ(text(Collective::allgather, 1), "0..0 of 4 at 0; 1..1 of 4 at 0; 2..2 of 4 at 0");
  EXPECT_EQ(text(Collective::alltoall, 1), "0..0 of 4 at 4; 1..1 of 4 at 4; 2..2 of 4 at 4");
  EXPECT_EQ(text(Collective::reduce, 0), "0..2 of 12 at 0");
  EXPECT_EQ(text(Collective::reduce, 1), "");
  EXPECT_EQ(text(Collective::allreduce, 1), "0..2 of 12 at 0");
  EXPECT_EQ(text(Collective::reduce_scatter, 2), "0..2 of 4 at 8");
  EXPECT_EQ(text(Collective::scan, 1), "0..1 of 12 at 0");
  EXPECT_EQ(text(Collective::exscan, 2), "0..1 of 12 at 0");
  EXPECT_EQ(text(Collective::exscan, 0), "") << "undefined";
  EXPECT_EQ(text(Collective::barrier, 1), "0..2 of 1 at 0") << "tokens";
}

}  // namespace
}  // namespace eco::coll
