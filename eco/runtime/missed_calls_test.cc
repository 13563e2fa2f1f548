#include "eco/runtime/missed_calls.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "eco/algo/algorithm.h"
#include "eco/net/group_view.h"
#include "eco/net/synthetic.h"

namespace eco::runtime {
namespace {

using coll::Collective;
using coll::CommonProblem;

plan::Row won_row(std::size_t up_to_bytes, double native_s, double measured_s) {
  plan::Row row;
  row.up_to_bytes = up_to_bytes;
  row.recipe = algo::parse_recipe("broadcast/binomial");
  row.native_s = native_s;
  row.measured_s = measured_s;
  return row;
}

// Short broadcasts gain 1 s, long ones 5 s, barriers 2 s, allreduces are the library's.
KnownGroup gaining_group() {
  KnownGroup group;
  auto network = std::make_shared<net::Network>(net::synthetic_network("hosts=2+2"));
  group.view = net::make_view(std::move(network), {0, 1, 2, 3});
  for (int root_subnet = 0; root_subnet < group.view.n_subnets(); ++root_subnet) {
    plan::Entry broadcasts{.collective = Collective::broadcast, .root_subnet = root_subnet, .rows = {}};
    broadcasts.rows = {won_row(1024, 3, 2), won_row(1 << 20, 10, 5)};
    group.table.entries.push_back(broadcasts);
  }
  plan::Entry barriers{.collective = Collective::barrier, .root_subnet = 0, .rows = {won_row(0, 4, 2)}};
  group.table.entries.push_back(barriers);
  plan::Entry sums{.collective = Collective::allreduce, .root_subnet = 0, .rows = {won_row(1 << 20, 4, 0)}};
  sums.rows.front().recipe.reset();
  group.table.entries.push_back(sums);
  return group;
}

CommonProblem missed_call(Collective collective, std::size_t bytes, int root = 0) {
  return {.collective = collective, .n_ranks = 4, .root = root, .bytes = bytes};
}

TEST(MissedCalls, AddsUpWhatCallsWouldHaveGained) {
  const KnownGroup group = gaining_group();
  MissedCalls missed;
  EXPECT_EQ(missed.gain_s(group), 0);
  missed.add(missed_call(Collective::broadcast, 8));
  missed.add(missed_call(Collective::broadcast, 8));
  missed.add(missed_call(Collective::broadcast, 8, 3));
  EXPECT_EQ(missed.gain_s(group), 3);
  missed.add(missed_call(Collective::broadcast, 1 << 20));
  missed.add(missed_call(Collective::barrier, 0));
  EXPECT_EQ(missed.gain_s(group), 10);
  missed.add(missed_call(Collective::allreduce, 1 << 10));
  missed.add(missed_call(Collective::gather, 1 << 10));
  EXPECT_EQ(missed.gain_s(group), 10) << "what is the library's, or not planned, gains nothing";
}

TEST(MissedCalls, CallsOfOneKindCountAsTheLeastOfThem) {
  const KnownGroup group = gaining_group();
  MissedCalls missed;
  missed.add(missed_call(Collective::broadcast, 1025));
  missed.add(missed_call(Collective::broadcast, 8192));
  EXPECT_NEAR(missed.gain_s(group), 2, 1e-4) << "twice what is little more than the short ones' gain";
}

TEST(MissedCalls, BetweenTwoSizesThatEcoWonCallsGainWhatTheSmallerOneDoes) {
  KnownGroup group = gaining_group();
  for (plan::Entry& entry : group.table.entries) {
    if (entry.collective == Collective::broadcast)
      entry.rows.insert(entry.rows.begin() + 1, won_row(4096, 0, 0));
  }
  MissedCalls missed;
  missed.add(missed_call(Collective::broadcast, 2048));
  EXPECT_EQ(missed.gain_s(group), 1);
  CommonProblem in_order = missed_call(Collective::broadcast, 8);
  in_order.commutative = false;
  missed.add(in_order);
  EXPECT_EQ(missed.gain_s(group), 1) << "may have no recipe";
  missed.add(missed_call(Collective::broadcast, 4097));
  EXPECT_NEAR(missed.gain_s(group), 2, 0.02) << "a guess between two that were measured is passed over";
}

TEST(MissedCalls, WhatThereIsNoRoomForCountsForNothing) {
  const KnownGroup group = gaining_group();
  MissedCalls missed;
  for (int i = 0; i < 40; ++i)
    missed.add(missed_call(Collective::gather, std::size_t{8} << i, i % group.view.n_ranks()));
  missed.add(missed_call(Collective::barrier, 0));
  EXPECT_EQ(missed.gain_s(group), 0);
}

}  // namespace
}  // namespace eco::runtime
