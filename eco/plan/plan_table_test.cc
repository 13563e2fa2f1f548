#include "eco/plan/plan_table.h"

#include <gtest/gtest.h>

#include <string>

#include "eco/base/errors.h"
#include "eco/plan/testing.h"

namespace eco::plan {
namespace {

PlanTable example() {
  PlanTable table;
  table.network = "f00d";
  table.library = "loopback";
  table.host_of_rank = {0, 1, 2};
  Entry entry;
  entry.collective = coll::Collective::broadcast;
  entry.root_subnet = 1;
  entry.rows.push_back({64, std::nullopt, 0, 0, 1e-4, "native is faster"});
  algo::Recipe recipe;
  recipe.algorithm = "broadcast/subnets";
  recipe.params.segment_bytes = 1392;
  recipe.params.order = {1, 0};
  entry.rows.push_back({16384, recipe, 0.004, 0.0042, 0.015, "measured 3.6x"});
  entry.rows.push_back({65536, std::nullopt, 0, 0, 0, "no time left to plan it", true});
  table.entries.push_back(entry);
  return table;
}

TEST(PlanTable, ReasonsMayQuoteAnyBytes) {
  PlanTable table = example();
  table.entries[0].rows[0].reason = "no /tmp/n\xff.json";
  EXPECT_EQ(PlanTable::from_json(table.to_json()).entries[0].rows[0].reason, "no /tmp/n\uFFFD.json");
}

TEST(PlanTable, LooksUpTheRowThatHoldsTheSize) {
  const PlanTable table = example();
  const auto lookup = [&](std::size_t bytes) { return table.lookup(coll::Collective::broadcast, 1, bytes); };
  EXPECT_EQ(lookup(0), nullptr);
  EXPECT_EQ(lookup(64), nullptr);
  ASSERT_NE(lookup(65), nullptr);
  EXPECT_EQ(lookup(65)->params.segment_bytes, 1392u);
  EXPECT_NE(lookup(16384), nullptr);
  EXPECT_EQ(lookup(16385), nullptr);
  EXPECT_EQ(lookup(65537), nullptr) << "beyond the last row is native";
  EXPECT_EQ(table.lookup(coll::Collective::broadcast, 0, 1000), nullptr) << "another root class";
  EXPECT_EQ(table.lookup(coll::Collective::allreduce, 1, 1000), nullptr) << "another collective";
  EXPECT_FALSE(table.is_all_native());
}

TEST(PlanTable, SurvivesItsFile) {
  const PlanTable table = example();
  const PlanTable again = PlanTable::from_json(table.to_json());
  EXPECT_EQ(again.to_json(), table.to_json());
  EXPECT_EQ(again.host_of_rank, table.host_of_rank);
  ASSERT_EQ(again.entries.size(), 1u);
  ASSERT_EQ(again.entries[0].rows.size(), 3u);
  EXPECT_FALSE(again.entries[0].rows[0].recipe);
  EXPECT_EQ(*again.entries[0].rows[1].recipe, *table.entries[0].rows[1].recipe);
  EXPECT_EQ(again.entries[0].rows[1].reason, "measured 3.6x");
  EXPECT_FALSE(again.entries[0].rows[1].open) << "absent in the file";
  EXPECT_TRUE(again.entries[0].rows[2].open);
}

TEST(PlanTable, TakesWhatAnotherKnows) {
  PlanTable table = example();
  PlanTable other;
  other.entries.push_back({coll::Collective::gather, 0, {{64, std::nullopt, 0, 0, 1e-4, "new"}}});
  EXPECT_FALSE(table.knows(coll::Collective::gather));
  table.take(other);
  EXPECT_TRUE(table.knows(coll::Collective::gather));
  EXPECT_TRUE(table.knows(coll::Collective::broadcast)) << "what stood there stays";
  other.entries[0].collective = coll::Collective::broadcast;
  table.take(other);
  EXPECT_EQ(table.find_entry(coll::Collective::broadcast, 1), nullptr) << "all of a collective is replaced";
  EXPECT_EQ(table.find_entry(coll::Collective::broadcast, 0)->rows[0].reason, "new");
}

TEST(PlanTable, SaysWithHowMuchEffortRowsWereMeasured) {
  PlanTable table = example();
  table.entries[0].rows[1].effort = Effort::exhaustive;
  const std::vector<Row> rows = PlanTable::from_json(table.to_json()).entries[0].rows;
  EXPECT_EQ(rows[1].effort, Effort::exhaustive);
  EXPECT_TRUE(rows[1].is_measured(Effort::measure));
  EXPECT_EQ(rows[0].effort, Effort::job) << "absent in the file";
  EXPECT_FALSE(rows[0].is_measured(Effort::measure));
  EXPECT_FALSE(rows[2].is_measured()) << "open";
  std::string text = table.to_json();
  text.replace(text.find("exhaustive"), 4, "heroic");
  EXPECT_THROW(PlanTable::from_json(text), CorruptFile);
}

TEST(PlanTable, ShorterCallsOfARowGainLess) {
  const net::GroupView view = view_of("hosts=1+2 uplink_mbit=40");
  PlanTable table = example();
  std::vector<Row>& rows = table.entries[0].rows;
  rows[0] = {.up_to_bytes = 8192, .measured_s = 0.001, .native_s = 0.001};
  rows[1].up_to_bytes = 16384;
  const double most_s = rows[1].native_s - rows[1].measured_s;
  const auto gain_s = [&](std::size_t bytes) {
    return table
        .gain({.collective = coll::Collective::broadcast, .n_ranks = 3, .root = 1, .bytes = bytes}, view)
        .seconds;
  };
  ASSERT_GT(most_s, 0);
  EXPECT_DOUBLE_EQ(gain_s(16384), most_s);
  EXPECT_DOUBLE_EQ(gain_s(12288), most_s / 2) << "the library serves what is shorter";
  rows[0].native_s = 0;
  EXPECT_DOUBLE_EQ(gain_s(12288), most_s) << "nothing is known of what is shorter";
}

TEST(PlanTable, SaysWhetherAGainMayBeMore) {
  const net::GroupView view = view_of("hosts=1+2 uplink_mbit=40");
  PlanTable table = example();
  const coll::CommonProblem problem{
      .collective = coll::Collective::broadcast, .n_ranks = 3, .root = 1, .bytes = 16384};
  EXPECT_DOUBLE_EQ(table.gain(problem, view).seconds, 0.015 - 0.0042);
  EXPECT_FALSE(table.gain(problem, view).is_least);
  table.entries[0].rows[1].native_is_least = true;
  table.entries[0].rows[1].in_a_row = true;
  const PlanTable again = PlanTable::from_json(table.to_json());
  EXPECT_TRUE(again.gain(problem, view).is_least);
  EXPECT_FALSE(again.entries[0].rows[0].native_is_least) << "absent in the file";
  EXPECT_FALSE(again.entries[0].rows[0].in_a_row);
  EXPECT_TRUE(again.entries[0].rows[1].in_a_row);
  EXPECT_GT(table.entries[0].rows[1].native_s, 0);
  EXPECT_EQ(again.call_s(problem, view), 0) << "from a common start it is not known";
  coll::CommonProblem native = problem;
  native.bytes = 64;
  EXPECT_EQ(again.gain(native, view).seconds, 0) << "the library serves it";
}

TEST(PlanTable, KeepsTheRecipeThatCombinesInOrder) {
  PlanTable table = example();
  Row row{64, algo::parse_recipe("allreduce/ring"), 0, 0, 1e-4, "measured"};
  row.in_order = algo::parse_recipe("allreduce/binomial");
  table.entries.push_back({coll::Collective::allreduce, 0, {row}});
  const PlanTable again = PlanTable::from_json(table.to_json());
  EXPECT_EQ(again.lookup(coll::Collective::allreduce, 0, 64)->algorithm, "allreduce/ring");
  EXPECT_EQ(again.lookup(coll::Collective::allreduce, 0, 64, false)->algorithm, "allreduce/binomial");
  EXPECT_EQ(again.lookup(coll::Collective::broadcast, 1, 1000, false), nullptr) << "none is named";
  table.entries.back().rows[0].recipe.reset();
  EXPECT_THROW(PlanTable::from_json(table.to_json()), CorruptFile) << "only beside a recipe";
}

struct BadFile {
  std::string from;  // text in the good file
  std::string to;    // what stands there instead
  std::string says;  // part of the reason
};

TEST(PlanTable, RefusesBadFilesWithTheReason) {
  const std::string good = example().to_json();
  const BadFile cases[] = {
      {"eco.plan", "eco.network", "schema"},
      {"\"version\": 1", "\"version\": 2", "version 2"},
      {"\"version\": 1", "\"version\": \"1\"", "version"},
      {"\"entries\"", "\"entrees\"", "'entries' is missing"},
      {"\"broadcast\"", "\"broadcats\"", "broadcats"},
      {"\"up_to_bytes\": 16384", "\"up_to_bytes\": 64", "does not rise"},
      {"\"up_to_bytes\": 16384", "\"up_to_bytes\": -1", "whole number"},
      {"\"up_to_bytes\": 16384", "\"up_to_bytes\": 1e300", "whole number"},
      {"broadcast/subnets ", "broadcast/nonsense ", "nonsense"},
      {"broadcast/subnets ", "allreduce/subnets ", "is no broadcast"},
      {"\"open\": true", "\"open\": 1", "neither true nor false"},
      {"\"open\": true", "\"native_is_least\": 1", "'native_is_least' is neither true nor false"},
      {"segment=", "segmnt=", "segmnt"},
      {"\"native_s\": 0.015", "\"native_s\": -1", "not a time"},
      {"\"native_s\": 0.015", "\"native_s\": null", "not a number"},
      {"\"root_subnet\": 1", "\"root_subnet\": 99999999999", "more than"},
  };
  for (const BadFile& bad : cases) {
    std::string text = good;
    const auto at = text.find(bad.from);
    ASSERT_NE(at, std::string::npos) << bad.from;
    text.replace(at, bad.from.size(), bad.to);
    try {
      PlanTable::from_json(text);
      FAIL() << "accepted " << bad.to;
    } catch (const CorruptFile& error) {
      EXPECT_NE(std::string(error.what()).find(bad.says), std::string::npos) << error.what();
    }
  }
}

TEST(PlanTable, RefusesEveryTruncation) {
  const std::string good = example().to_json();
  for (std::size_t length = 0; length + 2 < good.size(); length += 7) {
    EXPECT_THROW(PlanTable::from_json(good.substr(0, length)), CorruptFile) << length;
  }
  EXPECT_THROW(PlanTable::from_json("[]"), CorruptFile);
  EXPECT_THROW(PlanTable::from_json("null"), CorruptFile);
}

}  // namespace
}  // namespace eco::plan
