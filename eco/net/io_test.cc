#include "eco/net/io.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/net/store.h"
#include "eco/net/synthetic.h"

namespace eco::net {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "eco-net-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }

  fs::path directory_;
};

std::string refusal(const std::string& text) {
  try {
    parse_network(text, "network file x.json");
  } catch (const CorruptFile& error) {
    return error.what();
  }
  return "accepted";
}

void expect_refused(const std::string& text, const std::string& reason) {
  const std::string message = refusal(text);
  EXPECT_EQ(message.rfind("network file x.json", 0), 0u) << message;
  EXPECT_NE(message.find(reason), std::string::npos) << message;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

const Network kNetwork = synthetic_network("hosts=3+3+2 rate_mbit=200 uplink_mbit=40");

TEST_F(FileTest, RoundTripGivesTheSameBits) {
  Network network = kNetwork;
  network.concurrent = {{"bus 0", {{0, 1}, {1, 2}}, 1024, {0.1, 1.0 / 3}, {0.2, 2.0 / 3}}};
  save_network(network, path("a.json"));
  const Network again = load_network(path("a.json"));
  EXPECT_EQ(to_json(network), to_json(again));
  EXPECT_EQ(network.fingerprint(), again.fingerprint());
  EXPECT_EQ(again.concurrent[0].alone_s[1], 1.0 / 3);
  EXPECT_EQ(network.resources.size(), again.resources.size());
}

Network with_plogp() {
  Network network = kNetwork;
  ClassPLogP inside;
  inside.pairs = PairClass::subnet;
  inside.from = 1;
  inside.to = 0;
  inside.parameters = {1.0 / 3, model::Curve({{8, 2e-6}}), model::Curve({{8, 3e-6}}),
                       model::Curve({{8, 4e-6}, {65536, 2.0 / 3}})};
  inside.eager_limit = 65000;
  inside.slow_down = {{2, 1.5}, {4, 2.5}};
  inside.gamma = 0.4;
  inside.samples = {{"gap", 8, {4e-6, 5e-6}}, {"send", 8, {}}};
  ClassPLogP across;
  across.pairs = PairClass::between;
  across.from = 0;
  across.to = 7;
  across.parameters = inside.parameters;
  network.plogp = {inside, across};
  network.finish();
  return network;
}

TEST_F(FileTest, PlogpIsKeptAndChangesNoFingerprint) {
  const Network network = with_plogp();
  const Network again = parse_network(to_json(network), "again");
  EXPECT_EQ(to_json(network), to_json(again));
  ASSERT_EQ(again.plogp.size(), 2u);
  EXPECT_EQ(again.plogp[0].parameters, network.plogp[0].parameters);
  EXPECT_EQ(again.plogp[0].eager_limit, std::size_t{65000});
  EXPECT_EQ(again.plogp[0].gamma, 0.4);
  EXPECT_FALSE(again.plogp[1].eager_limit);
  EXPECT_FALSE(again.plogp[1].gamma);
  EXPECT_EQ(again.fingerprint(), kNetwork.fingerprint());

  EXPECT_EQ(again.eager_bytes(), 65000u);
  EXPECT_EQ(kNetwork.eager_bytes(), 0u) << "not measured";
  Network all_wait = network;
  all_wait.plogp[1].eager_limit = 0;
  EXPECT_EQ(all_wait.eager_bytes(), 1u);
  EXPECT_EQ(to_json(kNetwork).find("plogp"), std::string::npos) << "files without it stay as they were";

  const Network slim = network.without_samples();
  EXPECT_TRUE(slim.plogp[0].samples.empty());
  EXPECT_EQ(slim.plogp[0].parameters, network.plogp[0].parameters);

  EXPECT_EQ(again.plogp_between(2, 1), &again.plogp[0]);
  EXPECT_EQ(again.plogp_between(1, 2), &again.plogp[0]) << "the other direction, where its own is not known";
  EXPECT_EQ(again.plogp_between(2, 6), &again.plogp[1]);
  EXPECT_EQ(again.plogp_between(6, 2), &again.plogp[1]);
  EXPECT_EQ(again.plogp_between(3, 4), nullptr) << "the second subnet was not measured";
  EXPECT_EQ(again.plogp_between(3, 3), nullptr);
}

TEST_F(FileTest, PlogpOfRailsIsKeptToo) {
  Network network = with_plogp();
  network.rails = {"10.0.0.0/24", "10.1.0.0/24"};
  network.rail_plogp = {{"10.0.0.0/24", "TCP", network.plogp}, {"10.1.0.0/24", "TCP", {network.plogp[1]}}};
  network.finish();
  const Network again = parse_network(to_json(network), "again");
  EXPECT_EQ(to_json(network), to_json(again));
  ASSERT_EQ(again.rail_plogp.size(), 2u);
  EXPECT_EQ(again.rail_plogp[1].classes.at(0).to, 7);
  EXPECT_EQ(again.fingerprint(), with_plogp().fingerprint());
  EXPECT_EQ(again.eager_bytes(), 65000u) << "the library's own";
  EXPECT_TRUE(again.without_samples().rail_plogp.empty());
  network.rail_plogp[1].rail = "elsewhere";
  EXPECT_THROW(network.finish(), InvalidArgument);
  network.rail_plogp[1].rail = "10.1.0.0/24";
  network.rail_plogp[1].classes[0].to = 99;
  EXPECT_THROW(network.finish(), InvalidArgument);
  network.rail_plogp[1] = network.rail_plogp[0];
  EXPECT_THROW(network.finish(), InvalidArgument) << "the same rail twice";
  network.rail_plogp.pop_back();
  network.finish();
  network.plogp.push_back(network.plogp[0]);
  EXPECT_THROW(network.finish(), InvalidArgument) << "the same two hosts twice";
}

TEST_F(FileTest, RailsAreKept) {
  const Network network = synthetic_network("hosts=3+2 rate_mbit=20 rail_mbit=8 uplink_mbit=10");
  save_network(network, path("n.json"));
  const Network same = load_network(path("n.json"));
  EXPECT_EQ(same.n_rails(), 2);
  EXPECT_EQ(to_json(same), to_json(network));
  EXPECT_EQ(same.fingerprint(), network.fingerprint());
  std::string text = to_json(network);
  const auto at = text.find("switched", text.find("more_rails"));
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 8, "bent");
  expect_refused(text, "more_rails[0]: subnets[0]: kind 'bent'");
  EXPECT_EQ(to_json(synthetic_network("hosts=2")).find("more_rails"), std::string::npos);
}

TEST_F(FileTest, RailsThatSomeHostsLackAreKept) {
  const Network network = synthetic_network("hosts=3+2 rate_mbit=20 rail_mbit=8+8 rail_hosts=4+2");
  save_network(network, path("n.json"));
  const Network same = load_network(path("n.json"));
  EXPECT_EQ(to_json(same), to_json(network));
  EXPECT_TRUE(same.has_rail(3, 1));
  EXPECT_FALSE(same.has_rail(4, 1));
  EXPECT_FALSE(same.has_rail(2, 2));
}

TEST_F(FileTest, PlogpIsRefusedWithReason) {
  const std::string good = to_json(with_plogp());
  EXPECT_EQ(refusal(good), "accepted");
  expect_refused(replaced(good, "\"class\": \"subnet\"", "\"class\": \"village\""), "class 'village'");
  expect_refused(replaced(good, "\"class\": \"subnet\"", "\"class\": \"between\""),
                 "hosts 1 and 0 are no pair of class between");
  expect_refused(replaced(good, "\"eager_limit\": 65000", "\"eager_limit\": \"none\""),
                 "plogp[0]: field 'eager_limit' has the wrong type");
  expect_refused(replaced(good, "\"pairs\": 4", "\"pairs\": 2"), "do not ascend");
  expect_refused(replaced(good, "\"os\":", "\"oss\":"), "field 'os' is missing");
  const auto spoilt = [](auto change) {
    Network network = with_plogp();
    change(network.plogp[0]);
    return to_json(network);
  };
  expect_refused(spoilt([](ClassPLogP& p) { p.to = 8; }), "names a host that is not there");
  expect_refused(spoilt([](ClassPLogP& p) { p.parameters.latency_s = -1; }), "latency_s is not a time");
  expect_refused(spoilt([](ClassPLogP& p) { p.parameters.gap = {}; }), "plogp[0]: g: has not one time");
  expect_refused(spoilt([](ClassPLogP& p) { p.samples[0].seconds = {-1}; }), "a sample is not a time");
  std::string text = good;  // curves check themselves
  text.replace(text.find("65536", text.find("\"plogp\"")), 5, "4");
  expect_refused(text, "bytes are not ascending");
}

TEST_F(FileTest, RefusesWithReason) {
  const std::string good = to_json(kNetwork);
  EXPECT_EQ(refusal(good), "accepted");
  expect_refused("", "is empty");
  expect_refused(good.substr(0, good.size() / 2), "is not complete JSON");
  expect_refused("[]", "no key 'schema'");
  expect_refused(R"({"schema": "eco.plan", "version": 1})", "schema 'eco.plan'");
  expect_refused(R"({"schema": "eco.network", "version": 2})",
                 "version 2; this build reads 'eco.network' version 1");
  expect_refused(R"({"schema": "eco.network"})", "no integer 'version'");
  expect_refused(R"({"schema": "eco.network", "version": 1})", "field 'transport' is missing");
  expect_refused(replaced(good, "\"kind\": \"switched\"", "\"kind\": \"wireless\""), "kind 'wireless'");
  expect_refused(replaced(good, "\"between\": [", "\"between\": 7, \"other\": ["),
                 "field 'between' is not a list");
  expect_refused(replaced(good, "\"name\": \"host0\"", "\"name\": 0"),
                 "hosts[0]: field 'name' has the wrong type");
  // NaN has no JSON: it is written as null, and null is no number.
  Network spoilt = kNetwork;
  spoilt.subnets[0].latency_s = std::nan("");
  expect_refused(to_json(spoilt), "subnets[0]: field 'latency_s' has the wrong type");
  spoilt = kNetwork;
  spoilt.subnets[2].hosts = {6, 8};
  expect_refused(to_json(spoilt), "host 8 is out of range");
}

TEST_F(FileTest, EveryTruncationIsRefused) {
  const std::string good = to_json(synthetic_network("hosts=2+1"));
  for (std::size_t length = 0; length + 2 < good.size(); ++length) {
    EXPECT_NE(refusal(good.substr(0, length)), "accepted") << length;
  }
}

TEST_F(FileTest, MissingAndUnreadableFiles) {
  EXPECT_THROW(load_network(path("nothing.json")), CorruptFile);
  EXPECT_THROW(load_network(directory_.string()), CorruptFile);
}

TEST_F(FileTest, AFailedWriteLeavesTheOldFile) {
  write("a.json", "old");
  const std::string below_a_file = path("a.json") + "/b.json";
  EXPECT_THROW(save_network(kNetwork, below_a_file), Error);
  EXPECT_EQ(base::read_text(path("a.json")), "old");
  EXPECT_FALSE(base::write_text_atomically(path("a.json"), "new"));
  EXPECT_EQ(base::read_text(path("a.json")), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()),
            1);  // no temporaries
}

TEST_F(FileTest, StoreFindsTheseHostsOrMoreInAnyOrder) {
  const Store store(path("cache"));
  EXPECT_NE(store.find_network(kNetwork.hosts, "synthetic").reason.find("no network is remembered"),
            std::string::npos);
  ASSERT_FALSE(store.remember_network(kNetwork).failure);

  std::vector<HostId> ranks(kNetwork.hosts.rbegin(), kNetwork.hosts.rend());
  ranks.push_back(ranks.front());  // a second rank there
  const FoundNetwork found = store.find_network(ranks, "synthetic");
  ASSERT_TRUE(found.network) << found.reason;
  EXPECT_EQ(found.network->fingerprint(), kNetwork.fingerprint());
  EXPECT_EQ(store.network_files(), (std::vector<std::string>{found.path}));

  EXPECT_FALSE(store.find_network(ranks, "another transport").network);
  ranks.pop_back();
  ranks.pop_back();  // seven of the eight
  const FoundNetwork larger = store.find_network(ranks, "synthetic");
  ASSERT_TRUE(larger.network) << larger.reason;
  EXPECT_EQ(larger.path, found.path);
  ranks = kNetwork.hosts;
  ranks[0].boot_id = "rebooted";
  EXPECT_FALSE(store.find_network(ranks, "synthetic").network);
}

// Like kNetwork, of these hosts, as measured with messages of up to so many bytes.
Network measured_up_to(const std::string& hosts, std::size_t bytes) {
  Network network = synthetic_network("hosts=" + hosts + " rate_mbit=200 uplink_mbit=40");
  while (network.sizes.back() > bytes) {
    network.sizes.pop_back();
    for (PairTimes& pair : network.pairs) {
      pair.seconds.pop_back();
      pair.samples.pop_back();
    }
  }
  return network;
}

TEST_F(FileTest, StorePrefersTheBetterMeasuredThenTheSmallerNetwork) {
  const Store store(path("cache"));
  const Network whole = kNetwork;
  const Network part = measured_up_to("3+3", 1024);
  const auto found_hosts = [&] {
    const FoundNetwork found = store.find_network(part.hosts, "synthetic");
    return found.network ? found.network->n_hosts() : 0;
  };
  ASSERT_FALSE(store.remember_network(part).failure);
  EXPECT_EQ(found_hosts(), 6) << "better than nothing";
  ASSERT_FALSE(store.remember_network(measured_up_to("3+3+2", 1024)).failure);
  EXPECT_EQ(found_hosts(), 6) << "measured alike, and smaller";
  ASSERT_FALSE(store.remember_network(whole).failure);
  EXPECT_EQ(found_hosts(), 8) << "measured with larger messages";
  ASSERT_FALSE(store.remember_network(measured_up_to("3+3", 16384)).failure);
  EXPECT_EQ(found_hosts(), 8);
  ASSERT_FALSE(store.remember_network(measured_up_to("3+3", kLargestPairBytes)).failure);
  EXPECT_EQ(found_hosts(), 6);
}

TEST_F(FileTest, StoreLooksAmongTheNewestNetworks) {
  const Store store(path("cache"));
  ASSERT_FALSE(store.remember_network(kNetwork).failure);
  const std::vector<HostId> part(kNetwork.hosts.begin(), kNetwork.hosts.begin() + 3);
  const std::string file = store.find_network(part, "synthetic").path;
  const auto written = fs::last_write_time(file);
  for (int i = 0; i < 64; ++i) {
    const std::string other = "cache/networks/other" + std::to_string(i) + ".json";
    write(other, "{");
    fs::last_write_time(path(other), written - std::chrono::hours(1));
  }
  EXPECT_TRUE(store.find_network(part, "synthetic").network) << "the newest of 65";
  fs::last_write_time(file, written - std::chrono::hours(2));
  EXPECT_FALSE(store.find_network(part, "synthetic").network) << "the 65th";
  EXPECT_TRUE(store.find_network(kNetwork.hosts, "synthetic").network) << "found by its own name";
}

TEST_F(FileTest, ANetworkWithoutSamplesIsTheSameNetwork) {
  Network network = kNetwork;
  network.concurrent = {{"bus 0", {{0, 1}}, 1024, {0.1}, {0.2}}};
  network.memory_pair_bytes_per_s = 1e9;
  network.memory_message_s = 3e-6;
  network.memory_wake_s = 7e-6;
  network.common_message_s = 10e-6;
  network.common_wake_s = 20e-6;
  network.finish();
  const Network slim = parse_network(to_json(network.without_samples()), "slim");
  EXPECT_TRUE(slim.pairs.empty());
  EXPECT_TRUE(slim.concurrent.empty());
  EXPECT_EQ(slim.fingerprint(), network.fingerprint());
  EXPECT_EQ(slim.largest_size(), network.largest_size());
  EXPECT_EQ(slim.message_s(0, 7, 5000), network.message_s(0, 7, 5000));
  EXPECT_EQ(slim.message_s(0, 0, 5000), network.message_s(0, 0, 5000));
  EXPECT_NEAR(slim.message_s(0, 7, 5000), kNetwork.message_s(0, 7, 5000) + 30e-6, 1e-12);
  EXPECT_LT(to_json(slim).size(), to_json(network).size() / 2);
}

TEST_F(FileTest, StoreGivesReasonsNotFailures) {
  const Store store(path("cache"));
  ASSERT_FALSE(store.remember_network(kNetwork).failure);
  const std::string file = store.find_network(kNetwork.hosts, "synthetic").path;
  write(fs::relative(file, directory_).string(), "{");
  EXPECT_NE(store.find_network(kNetwork.hosts, "synthetic").reason.find("not complete JSON"),
            std::string::npos);

  write("occupied", "a file where a directory should be");
  const Store blocked(path("occupied"));
  EXPECT_TRUE(blocked.remember_network(kNetwork).failure);
  EXPECT_FALSE(blocked.find_network(kNetwork.hosts, "synthetic").network);
  EXPECT_TRUE(blocked.network_files().empty());
  EXPECT_TRUE(Store("").remember_network(kNetwork).failure);
  EXPECT_FALSE(Store("").find_plan({}).text);
}

TEST_F(FileTest, PlansBelongToNetworkPlacementLibraryAndVersion) {
  const Store store(path("cache"));
  const PlanKey key{"f", {0, 1, 2}, "Open MPI 5.0.11", "0.1"};
  ASSERT_FALSE(store.remember_plan(key, "text"));
  EXPECT_EQ(store.find_plan(key).text, "text");
  for (const PlanKey& other :
       {PlanKey{"g", {0, 1, 2}, "Open MPI 5.0.11", "0.1"}, PlanKey{"f", {0, 2, 1}, "Open MPI 5.0.11", "0.1"},
        PlanKey{"f", {0, 1, 2}, "MPICH 5.0.2", "0.1"}, PlanKey{"f", {0, 1, 2}, "Open MPI 5.0.11", "0.2"}}) {
    EXPECT_FALSE(store.find_plan(other).text);
  }
}

}  // namespace
}  // namespace eco::net
