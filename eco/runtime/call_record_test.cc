#include "eco/runtime/call_record.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace eco::runtime {
namespace {

CallRecord broadcast(std::uint64_t bytes, std::int32_t root = 0) {
  CallRecord record("MPI_Bcast");
  record.bytes = bytes;
  record.root = root;
  return record;
}

TEST(CallRecord, EqualOnesDoNotDiffer) {
  EXPECT_EQ(difference(std::vector<CallRecord>(5, broadcast(1024)), "MPI_COMM_WORLD", 3), std::nullopt);
}

TEST(CallRecord, NamesTheRankThatDiffersAndInWhat) {
  std::vector<CallRecord> records(8, broadcast(1024));
  records[3] = broadcast(512);
  EXPECT_EQ(difference(records, "MPI_COMM_WORLD", 17),
            "call 17 on MPI_COMM_WORLD (8 ranks): ranks 0-2,4-7 call MPI_Bcast of 1024 bytes, root 0; "
            "rank 3 calls MPI_Bcast of 512 bytes, root 0");
}

// Whoever differs may be rank 0.
TEST(CallRecord, TheMostCommonComesFirst) {
  std::vector<CallRecord> records(3, CallRecord("MPI_Barrier"));
  records[0] = CallRecord("MPI_Finalize");
  EXPECT_EQ(difference(records, "c", 1),
            "call 1 on c (3 ranks): ranks 1,2 call MPI_Barrier; rank 0 calls MPI_Finalize");
}

TEST(CallRecord, SaysOfReductionsByWhatAndOfWhat) {
  CallRecord sum("MPI_Allreduce");
  sum.bytes = 8;
  sum.operation = CallRecord::to_name("MPI_SUM");
  sum.element = CallRecord::to_name("MPI_INT");
  CallRecord most = sum;
  most.operation = CallRecord::to_name("MPI_MAX");
  EXPECT_EQ(difference(std::vector{sum, most}, "c", 1),
            "call 1 on c (2 ranks): rank 0 calls MPI_Allreduce of 8 bytes, MPI_SUM of MPI_INT; "
            "rank 1 calls MPI_Allreduce of 8 bytes, MPI_MAX of MPI_INT");
}

TEST(CallRecord, SaysWhoseArgumentsAreWrong) {
  std::vector<CallRecord> records(3, broadcast(8));
  records[1].arguments = CallRecord::Arguments::refused;
  records[2].arguments = CallRecord::Arguments::unfit;
  EXPECT_EQ(
      difference(records, "c", 1),
      "call 1 on c (3 ranks): rank 0 calls MPI_Bcast of 8 bytes, root 0; rank 1 calls MPI_Bcast of 8 bytes, "
      "root 0, with arguments that MPI refuses; rank 2 calls MPI_Bcast of 8 bytes, root 0, its own sides of "
      "different lengths");
}

TEST(CallRecord, ShowsDigestsWhereNothingElseDiffers) {
  std::vector<CallRecord> records(2, broadcast(8));
  records[1].recipe = 0xab;
  EXPECT_EQ(
      difference(records, "c", 1),
      "call 1 on c (2 ranks): rank 0 calls MPI_Bcast of 8 bytes, root 0, block lengths 0000000000000000, "
      "recipe 0000000000000000; rank 1 calls MPI_Bcast of 8 bytes, root 0, block lengths "
      "0000000000000000, recipe 00000000000000ab");
}

TEST(CallRecord, CountsTheRestOfManyKinds) {
  std::vector<CallRecord> records;
  for (std::uint64_t rank = 0; rank < 11; ++rank) records.push_back(broadcast(rank));
  const auto text = difference(records, "c", 1);
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("rank 7 calls"), std::string::npos) << *text;
  EXPECT_EQ(text->find("rank 8 calls"), std::string::npos) << *text;
  EXPECT_NE(text->find("; and 3 more"), std::string::npos) << *text;
}

TEST(CallRecord, KeepsAsMuchOfALongNameAsThereIsRoomFor) {
  const std::string name(60, 'x');
  EXPECT_EQ(std::string(CallRecord(name).call.data()), name.substr(0, 47));
}

}  // namespace
}  // namespace eco::runtime
