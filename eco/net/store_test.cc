#include "eco/net/store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/net/io.h"
#include "eco/net/synthetic.h"

namespace eco::net {
namespace {

namespace fs = std::filesystem;

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "eco-store-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    fs::create_directories(path("site"));
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  Store cache() const { return Store(path("cache")); }
  Store shared(const std::string& cache = "cache") const { return Store(path(cache), path("site")); }

  // The only remembered file, older or newer than it is.
  void age(const std::string& file, int hours) const {
    fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(hours));
  }

  fs::path directory_;
};

// Hosts `first` to `last` of one cluster, measured at these sizes; every sample is `seconds`.
Network part(int first, int last, double seconds = 0.001,
             const std::vector<std::size_t>& sizes = {8, 1024, 16384, 65536}) {
  const int n = last - first + 1;
  Network network = synthetic_network("hosts=" + std::to_string(n));
  network.sizes = sizes;
  for (PairTimes& pair : network.pairs) {
    pair.seconds.assign(sizes.size(), seconds);
    pair.samples.assign(sizes.size(), {seconds, seconds});
  }
  for (int i = 0; i < n; ++i)
    network.hosts[static_cast<std::size_t>(i)].name = "h" + std::to_string(first + i);
  for (int i = 0; i < n; ++i) network.hosts[static_cast<std::size_t>(i)].address.clear();
  network.finish();
  return network;
}

std::vector<HostId> hosts(int first, int last) { return part(first, last).hosts; }

// "h1-h2 0.001" for each, ascending.
std::vector<std::string> text_of(const std::vector<KnownPair>& pairs) {
  std::vector<std::string> texts;
  for (const KnownPair& pair : pairs) {
    const auto [a, b] = std::minmax(pair.a.name, pair.b.name);
    texts.push_back(a + "-" + b + " " + std::to_string(static_cast<int>(pair.samples.back()[0] * 1e3)));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::vector<KnownPair> two_pairs() {
  const std::vector<HostId> of = hosts(1, 3);
  return {{of[0], of[1], {8, 1024}, {{0.001, 0.002}, {0.003, 0.004}}},
          {of[2], of[1], {8}, {{0.005, 0.006, 0.007}}}};
}

TEST_F(StoreTest, KnowsThePairsOfAJobThatHadNoTimeForTheOthers) {
  const Store store = shared();
  ASSERT_EQ(store.remember_pairs(hosts(1, 3), "synthetic", two_pairs()), std::nullopt);
  const std::vector<KnownPair> known = store.known_pairs(hosts(1, 3), "synthetic");
  EXPECT_EQ(text_of(known), (std::vector<std::string>{"h1-h2 3", "h2-h3 5"}));
  EXPECT_EQ(known.at(0).sizes, (std::vector<std::size_t>{8, 1024}));
  EXPECT_EQ(known.at(1).samples, (std::vector<std::vector<double>>{{0.005, 0.006, 0.007}}));
  EXPECT_TRUE(store.known_pairs(hosts(1, 3), "another").empty());
  EXPECT_EQ(text_of(store.known_pairs(hosts(2, 5), "synthetic")), std::vector<std::string>{"h2-h3 5"});
  EXPECT_FALSE(store.find_network(hosts(1, 3), "synthetic").network) << "they are none";

  // What a network says of a pair comes first; one of these hosts takes the place of all.
  ASSERT_FALSE(store.remember_network(part(1, 2, 0.009)).failure);
  EXPECT_EQ(text_of(store.known_pairs(hosts(1, 3), "synthetic")),
            (std::vector<std::string>{"h1-h2 9", "h2-h3 5"}));
  ASSERT_FALSE(store.remember_network(part(1, 3, 0.008)).failure);
  EXPECT_TRUE(fs::is_empty(path("cache/pairs")));
}

TEST_F(StoreTest, OldFilesOfPairsAreRemoved) {
  for (int n = 3; n < 23; ++n)
    ASSERT_EQ(cache().remember_pairs(hosts(1, n), "synthetic", two_pairs()), std::nullopt);
  EXPECT_EQ(std::distance(fs::directory_iterator(path("cache/pairs")), {}), 16);
}

TEST_F(StoreTest, PairsThatCantBeReadOrWrittenAreNone) {
  ASSERT_EQ(cache().remember_pairs(hosts(1, 3), "synthetic", two_pairs()), std::nullopt);
  const fs::path file = fs::directory_iterator(path("cache/pairs"))->path();
  const std::string text = base::read_text(file.string());
  const auto with = [&](const std::string& what, const std::string& instead) {
    std::string other = text;
    other.replace(other.find(what), what.size(), instead);
    return other;
  };
  for (const std::string& damaged :
       {std::string(), text.substr(0, text.size() / 2), with("eco.pairs", "eco.network"),
        with("\"version\": 1", "\"version\": 2"), with("0.001", "-0.001"), with("0.005", "\"soon\""),
        with("\"a\": 0", "\"a\": 1"), with("\"a\": 0", "\"a\": 7"), with("1024", "1024, 2048")}) {
    std::ofstream(file) << damaged;
    EXPECT_TRUE(cache().known_pairs(hosts(1, 3), "synthetic").empty()) << damaged;
    EXPECT_THROW(parse_pairs(damaged, "pairs"), CorruptFile) << damaged;
  }
  EXPECT_TRUE(Store("").remember_pairs(hosts(1, 3), "synthetic", two_pairs()));
  EXPECT_TRUE(Store("").known_pairs(hosts(1, 3), "synthetic").empty());
  std::ofstream(path("file")) << "in the way";
  EXPECT_TRUE(Store(path("file")).remember_pairs(hosts(1, 3), "synthetic", two_pairs()));
  EXPECT_FALSE(Store("").takes_pairs() || Store(path("file/cache")).takes_pairs());
  EXPECT_TRUE(cache().takes_pairs() && Store(path("not/yet/there")).takes_pairs());
}

TEST_F(StoreTest, KnowsThePairsOfAllFilesEachFromTheNewest) {
  ASSERT_FALSE(cache().remember_network(part(1, 3, 0.001)).failure);
  age(cache().network_files().at(0), 1);
  ASSERT_FALSE(cache().remember_network(part(2, 4, 0.002)).failure);
  EXPECT_FALSE(cache().find_network(hosts(1, 4), "synthetic").network);
  EXPECT_EQ(text_of(cache().known_pairs(hosts(1, 5), "synthetic")),
            (std::vector<std::string>{"h1-h2 1", "h1-h3 1", "h2-h3 2", "h2-h4 2", "h3-h4 2"}));
  EXPECT_EQ(text_of(cache().known_pairs(hosts(3, 5), "synthetic")), (std::vector<std::string>{"h3-h4 2"}));
  EXPECT_TRUE(cache().known_pairs(hosts(1, 5), "another transport").empty());
  EXPECT_TRUE(cache().known_pairs(hosts(7, 9), "synthetic").empty());
  EXPECT_TRUE(Store("").known_pairs(hosts(1, 5), "synthetic").empty());
}

TEST_F(StoreTest, LeavesOutWhatIsDamaged) {
  ASSERT_FALSE(cache().remember_network(part(1, 3)).failure);
  const std::string good = cache().network_files().at(0);
  const std::string text = base::read_text(good);
  Network without_evidence = part(4, 6).without_samples();
  Network zeros = part(7, 9);
  for (PairTimes& pair : zeros.pairs) pair.samples[0] = {0, 0};
  const std::vector<std::string> bad = {"",
                                        "{",
                                        text.substr(0, text.size() / 2),
                                        R"({"schema": "other", "version": 1})",
                                        R"({"schema": "eco.network", "version": 99})",
                                        to_json(without_evidence),
                                        to_json(zeros)};
  for (std::size_t i = 0; i < bad.size(); ++i)
    std::ofstream(path("cache/networks/bad" + std::to_string(i) + ".json")) << bad[i];
  fs::create_directory(path("cache/networks/directory.json"));
  ASSERT_EQ(::mkfifo(path("cache/networks/pipe.json").c_str(), 0600), 0);
  EXPECT_EQ(cache().known_pairs(hosts(1, 9), "synthetic").size(), 3u);
  EXPECT_TRUE(cache().find_network(hosts(1, 3), "synthetic").network);

  // The file of these very hosts, cut off: a reason, and in its place the same again.
  std::ofstream(good) << text.substr(0, text.size() / 2);
  EXPECT_NE(cache().find_network(hosts(1, 3), "synthetic").reason.find("not complete JSON"),
            std::string::npos);
  ASSERT_FALSE(cache().remember_network(part(1, 3)).failure);
  EXPECT_TRUE(cache().find_network(hosts(1, 3), "synthetic").network);
}

TEST_F(StoreTest, WhoKnowsMoreIsNotReplacedByWhoComesLater) {
  const auto found_sizes = [&] {
    return cache().find_network(hosts(1, 3), "synthetic").network->sizes.size();
  };
  ASSERT_FALSE(cache().remember_network(part(1, 3, 0.001, {8, 1024})).failure);
  EXPECT_EQ(found_sizes(), 2u);
  ASSERT_FALSE(cache().remember_network(part(1, 3, 0.001)).failure);
  EXPECT_EQ(cache().network_files().size(), 1u) << "what tells less is removed";
  ASSERT_FALSE(cache().remember_network(part(1, 3, 0.001, {8, 1024, 65536})).failure);
  ASSERT_FALSE(cache().remember_network(part(1, 3, 0.001, {8, 1024, 16384})).failure);
  EXPECT_EQ(found_sizes(), 4u);
  ASSERT_FALSE(cache().remember_network(part(1, 3, 0.005)).failure);
  EXPECT_EQ(cache().find_network(hosts(1, 3), "synthetic").network->pairs[0].seconds[0], 0.005)
      << "as well measured, and newer";
}

TEST_F(StoreTest, ANetworkThatHasChangedReplacesAllOfItsHosts) {
  ASSERT_FALSE(shared().remember_network(part(1, 3, 0.001)).failure);
  ASSERT_FALSE(shared().remember_network(part(1, 2, 0.001)).failure);
  ASSERT_FALSE(shared().remember_network(part(1, 3, 0.002, {8, 1024, 16384}), true).failure);
  const FoundNetwork found = shared().find_network(hosts(1, 3), "synthetic");
  ASSERT_TRUE(found.network);
  EXPECT_EQ(found.network->sizes.size(), 3u);
  EXPECT_EQ(shared().network_files().size(), 4u) << "those of other hosts stay, in both directories";
}

TEST_F(StoreTest, TheSiteDirectoryServesEverybody) {
  ASSERT_FALSE(shared("mine").remember_network(part(1, 3)).site_failure);
  const Store other = shared("hers");
  EXPECT_TRUE(other.find_network(hosts(1, 3), "synthetic").network);
  EXPECT_TRUE(other.find_network(hosts(2, 3), "synthetic").network);
  EXPECT_EQ(other.known_pairs(hosts(1, 4), "synthetic").size(), 3u);
  EXPECT_TRUE(Store("", path("site")).find_network(hosts(1, 3), "synthetic").network) << "without a cache";
  EXPECT_FALSE(Store(path("hers")).find_network(hosts(1, 3), "synthetic").network);
  // Plans are run as they are found: another user's are not.
  const PlanKey key{"f", {0, 1}, "library", "0.1"};
  ASSERT_FALSE(shared("mine").remember_plan(key, "text"));
  EXPECT_FALSE(other.find_plan(key).text);
}

TEST_F(StoreTest, ASiteDirectoryThatTakesNothingLosesNothing) {
  std::ofstream(path("site/networks")) << "a file where a directory should be";  // stops root too
  const Remembered kept = shared().remember_network(part(1, 3));
  EXPECT_FALSE(kept.failure);
  ASSERT_TRUE(kept.site_failure);
  EXPECT_NE(kept.site_failure->find(path("site/networks")), std::string::npos) << *kept.site_failure;
  EXPECT_TRUE(shared().find_network(hosts(1, 3), "synthetic").network);

  const Store nowhere(path("cache"), path("missing"));
  EXPECT_FALSE(nowhere.remember_network(part(1, 3)).site_failure);
  EXPECT_FALSE(fs::exists(path("missing"))) << "who wants one makes it";

  // The other way round: the site directory keeps what the cache can't.
  fs::remove(path("site/networks"));
  std::ofstream(path("occupied")) << "a file";
  EXPECT_FALSE(shared("occupied").remember_network(part(4, 6)).failure);
  EXPECT_TRUE(shared("occupied").find_network(hosts(4, 6), "synthetic").network);
}

// Several jobs write at once, the same hosts with more and with less time, and others; readers see whole files only,
// and in the end whoever knew the most of each.
TEST_F(StoreTest, WritersAtTheSameTimeNeitherTearNorLose) {
  const std::vector<Network> written = {part(1, 3, 0.001), part(1, 3, 0.001, {8, 1024, 65536}),
                                        part(1, 3, 0.001, {8, 1024}), part(2, 4, 0.001),
                                        part(1, 4, 0.001, {8})};
  std::atomic<bool> ended = false;
  std::atomic<int> torn = 0;
  std::atomic<int> failed = 0;
  std::atomic<int> gone = 0;
  ASSERT_FALSE(shared().remember_network(written[0]).failure);
  std::thread reader([&] {
    while (!ended) {
      if (!shared().find_network(hosts(1, 3), "synthetic").network) ++gone;
      for (const std::string& file : shared().network_files()) {
        try {
          load_network(file);
        } catch (const std::exception& error) {
          if (fs::exists(file) && std::string(error.what()).find("cannot open") == std::string::npos) ++torn;
        }
      }
    }
  });
  std::vector<std::thread> writers;
  for (const Network& network : written) {
    writers.emplace_back([&] {
      for (int i = 0; i < 30; ++i) {
        const Remembered kept = shared().remember_network(network);
        if (kept.failure || kept.site_failure) ++failed;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  ended = true;
  reader.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(gone, 0) << "a network that was there is there";
  EXPECT_EQ(shared().find_network(hosts(1, 3), "synthetic").network->sizes.size(), 4u);
  EXPECT_EQ(shared().find_network(hosts(2, 4), "synthetic").network->sizes.size(), 4u);
  // h1-h4 only by the least of them.
  EXPECT_EQ(shared().known_pairs(hosts(1, 4), "synthetic").size(), 6u);
  EXPECT_EQ(std::distance(fs::directory_iterator(path("cache/networks")), {}),
            static_cast<std::ptrdiff_t>(Store(path("cache")).network_files().size()))
      << "no temporary file is left";
}

}  // namespace
}  // namespace eco::net
