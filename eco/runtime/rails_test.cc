#include "eco/runtime/rails.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/net/store.h"
#include "eco/net/synthetic.h"
#include "eco/runtime/testing.h"

namespace eco::runtime {
namespace {

using testing::Directory;
using testing::Group;

// Messages in memory, under tags that have a rail like under any other.
class RailedTransport final : public testing::PassingTransport {
 public:
  RailedTransport(transport::Transport& below, std::vector<std::string> names)
      : PassingTransport(below), names_(std::move(names)), n_rails_(static_cast<int>(names_.size())) {}
  int n_rails() const override { return n_rails_; }
  std::vector<std::string> rail_names() const override { return names_; }
  void choose_rails(std::vector<std::uint8_t> rails) override {
    chosen = rails;
    n_rails_ = static_cast<int>(rails.size());
  }
  bool has_rail(int rank, int rail) const override { return rail == 0 || !lacking.contains(rank); }

  std::vector<std::uint8_t> chosen;
  std::set<int> lacking = {};  // ranks whose hosts have rail 0 alone

 private:
  std::vector<std::string> names_;
  int n_rails_;
};

net::Network with_rails(const std::vector<std::string>& names) {
  std::string rates;
  for (std::size_t i = 1; i < names.size(); ++i) rates += (i == 1 ? " rail_mbit=" : "+") + std::string("400");
  net::Network network = net::synthetic_network("hosts=4" + rates);
  network.rails = names;
  for (std::size_t i = 1; i < names.size(); ++i) network.more_rails[i - 1].name = names[i];
  return network;
}

struct Fitted {
  int n_rails = 0;
  std::vector<std::uint8_t> chosen;
};

Fitted fit(net::Network network, const std::vector<std::string>& of_transport) {
  transport::Hub hub(1);
  Fitted fitted;
  transport::run_ranks(hub, [&](transport::LoopbackTransport& loopback, transport::LoopbackNative&) {
    RailedTransport transport(loopback, of_transport);
    const std::string said = fit_rails(network, transport);
    fitted = {network.n_rails(), transport.chosen};
  });
  return fitted;
}

TEST(NetworkRails, AreThoseThatTheTransportHas) {
  using Rails = std::vector<std::uint8_t>;
  const Fitted all = fit(with_rails({"a", "b"}), {"a", "b"});
  EXPECT_EQ(all.n_rails, 2);
  EXPECT_EQ(all.chosen, (Rails{0, 1}));
  const Fitted by_name = fit(with_rails({"a", "c"}), {"c", "b", "a"});
  EXPECT_EQ(by_name.n_rails, 2);
  EXPECT_EQ(by_name.chosen, (Rails{2, 0})) << "the network's rail 0 is a, its rail 1 is c";
  EXPECT_EQ(fit(with_rails({"a", "b"}), {"a", "c"}).n_rails, 1) << "b is gone";
  EXPECT_EQ(fit(with_rails({"a", "b"}), {"b", "c"}).n_rails, 1) << "shares are of a, which is gone";
  EXPECT_EQ(fit(with_rails({"a", "b"}), {}).n_rails, 1) << "the job has no rails";
}

TEST(NetworkRails, OfAKnownNetworkAreTheSameForEveryGroup) {
  transport::Hub hub(1);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& loopback, transport::LoopbackNative&) {
    RailedTransport all(loopback, {"a", "b", "c"});
    EXPECT_TRUE(choose_rails(with_rails({"a", "c"}), all));
    EXPECT_EQ(all.chosen, (std::vector<std::uint8_t>{0, 2})) << "b may share a link with a";
    RailedTransport fewer(loopback, {"a", "b"});
    EXPECT_FALSE(choose_rails(with_rails({"a", "c"}), fewer));
    EXPECT_TRUE(fewer.chosen.empty());
    EXPECT_FALSE(choose_rails(with_rails({"a", "c"}), loopback)) << "its rails are lost";
    EXPECT_TRUE(choose_rails(net::synthetic_network("hosts=4"), loopback));
  });
}

TEST(NetworkRails, AreKnownOfTheHostsThatHaveThem) {
  transport::Hub hub(3);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& loopback, transport::LoopbackNative&) {
    const std::vector<int> hosts = {2, 0, 3};  // of the ranks
    RailedTransport transport(loopback, {"a", "b"});
    const net::Network all = with_rails({"a", "b"});
    EXPECT_TRUE(knows_rails(all, transport, hosts));
    EXPECT_FALSE(knows_rails(with_rails({"a"}), transport, hosts));
    EXPECT_FALSE(knows_rails(with_rails({"b", "a"}), transport, hosts));
    EXPECT_FALSE(knows_rails(with_rails({"a", "b", "c"}), transport, hosts)) << "c is gone";
    net::Network some = net::synthetic_network("hosts=4 rail_mbit=400 rail_hosts=3");
    some.rails = {"a", "b"};
    some.more_rails[0].name = "b";
    EXPECT_FALSE(knows_rails(some, transport, hosts)) << "host 3 has it now";
    transport.lacking = {2};
    EXPECT_TRUE(knows_rails(some, transport, hosts));
    EXPECT_FALSE(knows_rails(all, transport, hosts)) << "host 3 has lost it";
    // One host that has it can't measure it.
    transport.lacking = {1, 2};
    EXPECT_TRUE(knows_rails(with_rails({"a"}), transport, hosts));
  });
}

TEST(NetworkRails, OfAFileWithoutNamesGoByNumber) {
  EXPECT_EQ(fit(net::synthetic_network("hosts=4 rail_mbit=400"), {"x", "y", "z"}).n_rails, 2);
  EXPECT_EQ(fit(net::synthetic_network("hosts=4 rail_mbit=400+400"), {"x", "y"}).n_rails, 2);
}

TEST(NetworkRails, AreMeasuredOnceAndRemembered) {
  const Directory directory;
  Options options;
  options.cache_dir = directory.file("cache");
  options.sentinels = false;
  options.budget_s = 30;  // on a slow machine too
  Group group;
  group.request.network_only = true;
  const auto arm = [&](bool has_rails) {
    group.wrap = [has_rails](int, transport::Transport& below) -> std::unique_ptr<transport::Transport> {
      if (!has_rails) return std::make_unique<testing::PassingTransport>(below);
      return std::make_unique<RailedTransport>(below, std::vector<std::string>{"a", "b"});
    };
    double measuring_s = 0;
    int n_rails = 0;
    arm_group(group, options, [&](transport::Transport& transport, ArmResult& armed) {
      if (transport.rank() != 0) return;
      measuring_s = armed.seconds_measuring;
      n_rails = armed.view.network ? armed.view.network->n_rails() : 0;
    });
    EXPECT_GT(n_rails, 0);
    return measuring_s;
  };
  EXPECT_GT(arm(false), 0);
  const auto remembered = [&] {
    const std::vector<std::string> files = net::Store(options.cache_dir).network_files();
    return net::load_network(files.at(0));
  };
  EXPECT_TRUE(remembered().rails.empty()) << "a job without rails looks for none";
  EXPECT_GT(arm(true), 0) << "only the rails";
  EXPECT_EQ(remembered().rails, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(remembered().pairs.empty()) << "what was known is kept";
  EXPECT_EQ(arm(true), 0) << "known now";
  options.measure = MeasurePolicy::never;
  EXPECT_EQ(arm(false), 0);
}

}  // namespace
}  // namespace eco::runtime
