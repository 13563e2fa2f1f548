#include "eco/late/proving.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "eco/algo/patterns/stream.h"
#include "eco/late/channels.h"
#include "eco/late/mended_broadcast.h"
#include "eco/late/notice.h"
#include "eco/late/play.h"
#include "eco/late/waves.h"

namespace eco::late {
namespace {

std::vector<Plan> plans() {
  std::vector<Plan> all;
  for (std::size_t i = 0; i < kPlans; ++i) all.push_back(static_cast<Plan>(i));
  return all;
}

void expect_no_fault(const Proof& proof) {
  EXPECT_GT(proof.n_plays, 0U);
  for (const std::string& fault : proof.faults) ADD_FAILURE() << fault;
}

// Every plan of every collective that forms.
std::vector<ProofTask> tasks() {
  std::vector<ProofTask> all;
  for (const Plan plan : plans()) {
    for (const coll::Collective collective : kForming) {
      if (forms(plan, collective)) all.push_back({.plan = plan, .collective = collective});
    }
  }
  return all;
}

TEST(LateProof, EveryOrderOfFewRanks) {
  EXPECT_EQ(tasks().size(), kPlans + 5);
  for (ProofTask task : tasks()) {
    task.all_orders = true;
    task.n_random = 0;
    for (task.n_ranks = 1; task.n_ranks <= 4; ++task.n_ranks) {
      const Proof proof = prove(task);
      expect_no_fault(proof);
      if (task.n_ranks == 4) {
        EXPECT_EQ(proof.n_plays, proof.n_cases * 24 * 27);
      }
    }
  }
}

TEST(LateProof, RandomOrdersOfManyRanks) {
  for (ProofTask task : tasks()) {
    task.n_random = 40;
    for (const int n_ranks : {5, 8, 13, 33}) {
      task.n_ranks = n_ranks;
      expect_no_fault(prove(task));
    }
  }
}

// 0 feeds 1, who feeds 2, who is trusted to come: 1 hears nothing of it, sends it all, and may leave.
TEST(MendedBroadcast, ATrustedLeafIsSentToUnasked) {
  const algo::Tree tree = algo::shape_tree(algo::Shape::chain, algo::rank_ring(3, 0), 3);
  std::vector<std::byte> message(30);
  const std::vector<int> trusted{2};
  MendedBroadcast one(tree, 1, message, {.pieces = {10, 1}, .trusted = trusted});
  one.enter();
  std::vector<Order> orders = one.take_orders();
  ASSERT_EQ(orders.size(), 2u) << "its own word to 0, and what 0 sends it";
  EXPECT_EQ(orders[0].peer, 0);
  const std::vector<std::byte> head =
      write({.kind = Notice::Kind::head, .feeder = 0, .leads = false}, std::vector<std::byte>(10));
  std::copy(head.begin(), head.end(), orders[1].target.begin());
  std::size_t n_sent = 0;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const bool to_leaf = orders[i].kind == Order::Kind::send && orders[i].peer == 2;
    EXPECT_NE(orders[i].kind == Order::Kind::recv && orders[i].peer == 2, true) << "waits for its word";
    EXPECT_FALSE(to_leaf && orders[i].synchronous) << "waits until it has come";
    n_sent += to_leaf ? 1 : 0;
    one.on_done(orders[i].ticket);
    for (const Order& order : one.take_orders()) orders.push_back(order);
  }
  EXPECT_EQ(n_sent, 3u);
  EXPECT_TRUE(one.is_done());
  EXPECT_TRUE(one.late().empty());
}

// Does one thing wrong with its first segment, for a play to find.
class Broken final : public ScheduleSource {
 public:
  enum class How : std::uint8_t { forgets, repeats, spoils, ends_early };

  Broken(std::unique_ptr<ScheduleSource> good, How how, int channel)
      : good_(std::move(good)), how_(how), channel_(channel) {}

  void enter() override { good_->enter(); }
  void on_done(Ticket ticket) override {
    if (ticket != kRepeated) good_->on_done(ticket);
  }
  bool is_done() const override { return good_->is_done() || (how_ == How::ends_early && did_); }

  std::vector<Order> take_orders() override {
    std::vector<Order> orders = good_->take_orders();
    const auto data = std::find_if(orders.begin(), orders.end(), [&](const Order& order) {
      return order.kind == Order::Kind::send && order.channel == channel_;
    });
    if (data == orders.end() || std::exchange(did_, true)) return orders;
    switch (how_) {
      case How::forgets:
        good_->on_done(data->ticket);
        orders.erase(data);
        break;
      case How::repeats:
        orders.push_back(*data);
        orders.back().ticket = kRepeated;
        break;
      case How::spoils:
        spoiled_.assign(data->source.begin(), data->source.end());
        spoiled_.back() ^= std::byte{1};
        data->source = spoiled_;
        break;
      case How::ends_early:
        break;
    }
    return orders;
  }

 private:
  static constexpr Ticket kRepeated = 9999;

  std::unique_ptr<ScheduleSource> good_;
  How how_;
  int channel_;
  bool did_ = false;
  std::vector<std::byte> spoiled_;
};

class Mutation : public ::testing::TestWithParam<Broken::How> {};

TEST_P(Mutation, IsFound) {
  const algo::Tree tree = algo::shape_tree(algo::Shape::chain, algo::rank_ring(4, 0), 4);
  for (const Plan plan : plans()) {
    const coll::CommonProblem problem{
        .collective = coll::Collective::broadcast, .n_ranks = 4, .root = 0, .bytes = 12};
    const Form form(plan, problem, tree, {.segment_bytes = 4, .window = 0});
    std::vector<std::vector<std::byte>> messages(4, std::vector<std::byte>(12));
    std::vector<std::unique_ptr<ScheduleSource>> sources;
    std::vector<ScheduleSource*> pointers;
    for (int rank = 0; rank < 4; ++rank) {
      sources.push_back(
          form.source(rank, {.input = {}, .output = messages[static_cast<std::size_t>(rank)]}, {}));
      if (rank == 1)
        sources.back() = std::make_unique<Broken>(std::move(sources.back()), GetParam(), Flow::kChannel);
      pointers.push_back(sources.back().get());
    }
    messages[0].assign(12, std::byte{7});
    Play play(pointers, 1);
    for (int rank = 0; rank < 4; ++rank) play.enter(rank);
    play.settle();
    const bool is_wrong = std::any_of(messages.begin(), messages.end(),
                                      [&](const auto& message) { return message != messages[0]; });
    EXPECT_TRUE(is_wrong || !play.fault().empty()) << name(plan);
  }
}

TEST_P(Mutation, IsFoundInWaves) {
  constexpr std::size_t kBytes = 2000;
  const algo::Tree tree = algo::shape_tree(algo::Shape::chain, algo::rank_ring(4, 0), 4);
  const auto add = [](void*, const void* in, void* inout, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
      static_cast<std::uint8_t*>(inout)[i] += static_cast<const std::uint8_t*>(in)[i];
  };
  for (const auto& [collective, channel] :
       {std::pair(coll::Collective::reduce, kUpChannel), std::pair(coll::Collective::allreduce, kUpChannel),
        std::pair(coll::Collective::allreduce, Flow::kChannel),
        std::pair(coll::Collective::allgather, kUpChannel),
        std::pair(coll::Collective::allgather, Flow::kChannel)}) {
    const coll::CommonProblem problem{.collective = collective, .n_ranks = 4, .bytes = kBytes, .exact = true};
    const Form form(Plan::mended, problem, tree, {.segment_bytes = 100, .window = 0});
    const std::vector<std::byte> input(coll::input_bytes(problem, 0), std::byte{7});
    std::vector<std::vector<std::byte>> outputs(4, std::vector<std::byte>(kBytes));
    std::vector<std::vector<std::byte>> scratches(4, std::vector<std::byte>(form.scratch_bytes()));
    std::vector<std::unique_ptr<ScheduleSource>> sources;
    std::vector<ScheduleSource*> pointers;
    for (int rank = 0; rank < 4; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const exec::Buffers buffers{.input = input, .output = outputs[r], .combine = {.function = add}};
      sources.push_back(form.source(rank, buffers, scratches[r]));
      if (rank == 2)
        sources.back() = std::make_unique<Broken>(std::move(sources.back()), GetParam(), channel);
      pointers.push_back(sources.back().get());
    }
    Play play(pointers, 1);
    for (const int rank : {0, 1, 2, 3}) play.enter(rank);
    play.settle();
    const std::byte right{coll::is_reduction(collective) ? std::uint8_t{28} : std::uint8_t{7}};
    const std::size_t n_results = collective == coll::Collective::reduce ? 1 : outputs.size();
    const bool is_wrong =
        std::any_of(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(n_results),
                    [&](const auto& output) { return output != std::vector<std::byte>(kBytes, right); });
    EXPECT_TRUE(is_wrong || !play.fault().empty()) << coll::name(collective) << ", channel " << channel;
  }
}

// Whoever is out has nobody below but others who are out.
TEST(LateTrees, OthersComeLast) {
  for (const auto shape : {algo::Shape::chain, algo::Shape::binomial, algo::Shape::flat}) {
    const algo::Tree tree = algo::shape_tree(shape, algo::rank_ring(9, 4), 9);
    for (unsigned mask = 0; mask < 512; ++mask) {
      std::vector<bool> is_in(9);
      for (std::size_t r = 0; r < 9; ++r) is_in[r] = (mask >> r & 1U) != 0;
      const algo::Tree wave = among(tree, is_in);
      const algo::Tree all = others_last(tree, is_in);
      EXPECT_EQ(algo::stream_of(all, 4, algo::Own::first).ranks.size(), 9U);
      for (std::size_t r = 0; r < 9; ++r) {
        if (is_in[r] || r == 4) {
          EXPECT_EQ(all.parent[r], wave.parent[r]);
          continue;
        }
        EXPECT_TRUE(wave.children[r].empty() && wave.parent[r] == -1);
        for (const int child : all.children[r]) EXPECT_FALSE(is_in[static_cast<std::size_t>(child)]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(LateProof, Mutation,
                         ::testing::Values(Broken::How::forgets, Broken::How::repeats, Broken::How::spoils,
                                           Broken::How::ends_early));

}  // namespace
}  // namespace eco::late
