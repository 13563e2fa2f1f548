// What UCX does beyond the contract that all transports share (contract_test.cc).
#include "eco/transport/ucx/ucx.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "eco/base/errors.h"
#include "eco/transport/loopback/loopback.h"
#include "eco/transport/open_rails.h"
#include "eco/transport/ucx/testing.h"

extern char** environ;

namespace eco::transport::ucx {
namespace {

namespace fs = std::filesystem;

// Where a child of a test finds its job; what it does there.
constexpr const char* kStore = "ECO_TEST_UCX_STORE";
constexpr const char* kRole = "ECO_TEST_UCX_ROLE";

class Ucx : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_ucx().empty()) GTEST_SKIP() << why_no_ucx();
  }
};

Status wait_for_one(Transport& transport) {
  std::array<Ticket, 4> room{};
  std::size_t n = 0;
  return transport.wait_some(room, n);
}

std::size_t n_descriptors() {
  const fs::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(fs::begin(all), fs::end(all)));
}

// Rank 1 of two as a process of its own, which dies as its role has it.
class Child {
 public:
  explicit Child(const std::string& role)
      : store_(fs::path(testing::TempDir()) / ("eco-ucx-" + role + "-" + std::to_string(::getpid()))) {
    fs::remove_all(store_);
    ::setenv(kStore, store_.c_str(), 1);
    ::setenv(kRole, role.c_str(), 1);
    std::array<std::string, 2> words{"eco_tests", "--gtest_filter=UcxChild.*"};
    std::array<char*, 3> arguments{words[0].data(), words[1].data(), nullptr};
    EXPECT_EQ(::posix_spawn(&pid_, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ), 0);
    ::unsetenv(kStore);
    ::unsetenv(kRole);
  }
  ~Child() {
    end();
    fs::remove_all(store_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::string store() const { return store_.string(); }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  void wait() {
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  fs::path store_;
  pid_t pid_ = 0;
};

TEST(UcxChild, PlaysItsRole) {
  const char* const store_path = std::getenv(kStore);
  if (store_path == nullptr) GTEST_SKIP() << "a child of other tests";
  FileStore store(store_path);
  const std::string role = std::getenv(kRole);
  const auto transport = meet(store, 1, 2, devices(2));
  if (role == "silent") ::_exit(0);
  std::vector<std::byte> bytes(100);
  if (role == "large") {  // connected; then asked for, and never fetched whole
    ASSERT_EQ(transport->post_send(0, 5, bytes, SendMode::synchronous, 0), Status::ok);
    ASSERT_EQ(wait_for_one(*transport), Status::ok);
    bytes.resize(std::size_t{8} << 20);
  }
  for (int tag = 0; tag < 2; ++tag) {
    // UCX 1.13 aborts where a peer dies while it connects.
    const std::array<std::uint8_t, 1> rail{static_cast<std::uint8_t>(role == "large" ? 0 : tag)};
    transport->set_rails(tag, rail);
    ASSERT_EQ(transport->post_send(0, tag, bytes, SendMode::synchronous, 0), Status::ok);
  }
  if (role == "large") {
    for (int i = 0; i < 100; ++i) {
      transport->look();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ::_exit(0);
  }
  EXPECT_EQ(wait_for_one(*transport), Status::ok);
  EXPECT_EQ(wait_for_one(*transport), Status::ok);
  std::this_thread::sleep_for(std::chrono::seconds(60));  // until it is killed
}

TEST_F(Ucx, AProcessThatIsKilledIsLost) {
  Child child("talks");
  FileStore store(child.store());
  const auto transport = meet(store, 0, 2, devices(2));
  std::array<std::byte, 100> memory{};
  for (int tag = 0; tag < 2; ++tag) {
    ASSERT_EQ(transport->post_recv(1, tag, memory, 0), Status::ok);
    ASSERT_EQ(wait_for_one(*transport), Status::ok);
  }
  ASSERT_EQ(transport->post_recv(1, 0, memory, 1), Status::ok);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    child.end();
  });
  EXPECT_EQ(wait_for_one(*transport), Status::lost_peer);
  killer.join();
  EXPECT_NE(transport->post_send(1, 0, memory, SendMode::eager, 2), Status::ok);
  transport->abandon();
}

TEST_F(Ucx, AProcessThatWasGoneBeforeItWasMetIsLost) {
  Child child("silent");
  FileStore store(child.store());
  const auto transport = meet(store, 0, 2, devices(2));
  child.wait();
  std::array<std::byte, 100> memory{};
  ASSERT_EQ(transport->post_recv(1, 0, memory, 1), Status::ok);
  EXPECT_EQ(wait_for_one(*transport), Status::lost_peer);
}

TEST_F(Ucx, WhoDiesWithAMessageHalfFetchedIsLost) {
  Child child("large");
  FileStore store(child.store());
  const auto transport = meet(store, 0, 2, devices(2));
  std::vector<std::byte> memory(std::size_t{8} << 20);
  ASSERT_EQ(transport->post_recv(1, 5, memory, 0), Status::ok);
  ASSERT_EQ(wait_for_one(*transport), Status::ok);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  transport->look();  // the request is here
  child.wait();
  ASSERT_EQ(transport->post_recv(1, 0, memory, 1), Status::ok);
  EXPECT_EQ(wait_for_one(*transport), Status::lost_peer);
}

TEST_F(Ucx, WhoLeavesHasSaidEverything) {
  constexpr int kMessages = 100;
  run_ucx_ranks(2, 2, {}, [](RailTransport& transport) {
    std::vector<std::byte> bytes(5000, std::byte{7});
    const std::array<std::uint8_t, 2> rails{0, 1};
    transport.set_rails(0, rails);
    if (transport.rank() == 0) {
      for (int i = 0; i < kMessages; ++i)
        ASSERT_EQ(transport.post_send(1, i % 2, bytes, SendMode::eager, 0), Status::ok);
      for (int i = 0; i < kMessages;) {
        std::array<Ticket, 4> room{};
        std::size_t n = 0;
        ASSERT_EQ(transport.wait_some(room, n), Status::ok);
        i += static_cast<int>(n);
      }
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    for (int i = 0; i < kMessages; ++i) {
      ASSERT_EQ(transport.post_recv(0, i % 2, bytes, 0), Status::ok);
      ASSERT_EQ(wait_for_one(transport), Status::ok);
    }
    // And nothing more will come.
    ASSERT_EQ(transport.post_recv(0, 0, bytes, 0), Status::ok);
    EXPECT_EQ(wait_for_one(transport), Status::lost_peer);
  });
}

// Says another key than rank 0's for one rank.
class LyingStore final : public KeyValue {
 public:
  explicit LyingStore(KeyValue& store) : store_(store) {}
  void put(const std::string& key, const std::string& value) override { store_.put(key, value); }
  std::optional<std::string> get(const std::string& key) override {
    std::optional<std::string> value = store_.get(key);
    if (value && key == "rank-0") value->front() = value->front() == '0' ? '1' : '0';
    return value;
  }

 private:
  KeyValue& store_;
};

TEST_F(Ucx, WhoDoesNotKnowTheJobsKeyIsNotHeard) {
  MemoryStore store;
  LyingStore lies(store);
  std::array<std::byte, 8> word{};
  std::thread stranger([&] {
    const auto transport = meet(lies, 1, 2, devices(1), {.farewell_s = 0.3});
    EXPECT_EQ(transport->post_send(0, 0, word, SendMode::eager, 0), Status::ok);
    EXPECT_EQ(wait_for_one(*transport), Status::ok);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  });
  const auto transport = meet(store, 0, 2, devices(1), {.farewell_s = 0.3});
  ASSERT_EQ(transport->post_recv(1, 0, word, 0), Status::ok);
  for (int i = 0; i < 100; ++i) {
    std::array<Ticket, 1> room{};
    std::size_t n = 0;
    ASSERT_NE(transport->test_some(room, n), Status::failed);
    ASSERT_EQ(n, 0u);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  stranger.join();
}

TEST_F(Ucx, NothingStaysOpen) {
  const auto talk = [](RailTransport& transport) {
    std::array<std::byte, 8> out{}, in{};
    for (int peer = 0; peer < transport.n_ranks(); ++peer) {
      if (peer == transport.rank()) continue;
      for (int tag = 0; tag < 2; ++tag) {
        const std::array<std::uint8_t, 1> rail{static_cast<std::uint8_t>(tag)};
        transport.set_rails(tag, rail);
        ASSERT_EQ(transport.post_send(peer, tag, out, SendMode::eager, 0), Status::ok);
        ASSERT_EQ(transport.post_recv(peer, tag, in, 0), Status::ok);
      }
    }
    for (int left = 4 * (transport.n_ranks() - 1); left > 0;) {
      std::array<Ticket, 4> room{};
      std::size_t n = 0;
      ASSERT_EQ(transport.wait_some(room, n), Status::ok);
      left -= static_cast<int>(n);
    }
  };
  run_ucx_ranks(3, 2, {}, talk);
  const std::size_t before = n_descriptors();
  for (int i = 0; i < 10; ++i) run_ucx_ranks(4, 2, {}, talk);
  EXPECT_EQ(n_descriptors(), before);
}

TEST_F(Ucx, ADeviceThatIsNotThereIsSaid) {
  MemoryStore store;
  try {
    meet(store, 0, 1, {"nothing0"});
    FAIL() << "met on a device that is not there";
  } catch (const TransportError& error) {
    EXPECT_NE(std::string(error.what()).find("nothing0"), std::string::npos) << error.what();
  }
}

tcp::MetOnRails open_as(const tcp::WantedRails& wanted) {
  tcp::MetOnRails of_rank_0;
  Hub hub(2);
  run_ranks(hub, [&](LoopbackTransport& library, LoopbackNative& native) {
    tcp::MetOnRails met = open_rails(native, library.rank(), 2, wanted, true);
    if (library.rank() == 0) of_rank_0 = std::move(met);
  });
  return of_rank_0;
}

TEST_F(Ucx, CarriesTheRailsThatItIsAskedFor) {
  const std::string address = tcp::nics({device()}).front().address;
  const tcp::MetOnRails met = open_as({.host = "one", .wanted = {device(), address}, .fewest = 1});
  ASSERT_TRUE(met.transport) << met.reason;
  EXPECT_EQ(met.transport->kind(), "UCX");
  EXPECT_EQ(met.transport->n_rails(), 2);
  EXPECT_EQ(tcp::names_of(met.rails), (std::vector<std::string>{device(), address}));
}

// Ranks that met over the library have asked for the way to their next one before, each in one direction alone.
TEST_F(Ucx, ThreeThatMetOverTheLibraryAllReachEachOther) {
  Hub hub(3);
  run_ranks(hub, [](LoopbackTransport& library, LoopbackNative& native) {
    const int rank = library.rank();
    const auto transport = meet(native, rank, 3, devices(2));
    std::vector<std::byte> out(1000, std::byte{1});
    std::vector<std::byte> in(4000);
    for (int peer = 0; peer < 3; ++peer) {
      for (int tag = 0; tag < 2 && peer != rank; ++tag) {
        const std::array<std::uint8_t, 1> rail{static_cast<std::uint8_t>(tag)};
        transport->set_rails(tag, rail);
        ASSERT_EQ(transport->post_send(peer, tag, out, SendMode::synchronous, 0), Status::ok);
        ASSERT_EQ(transport->post_recv(peer, tag, in, 0), Status::ok);
      }
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    std::size_t n_done = 0;
    while (n_done < 8 && std::chrono::steady_clock::now() < until) {
      std::array<Ticket, 8> room{};
      std::size_t n = 0;
      ASSERT_EQ(transport->test_some(room, n), Status::ok);
      n_done += n;
    }
    EXPECT_EQ(n_done, 8u);
  });
}

TEST_F(Ucx, StepsAsideWhereItCannotBe) {
  const tcp::MetOnRails met = open_as({.host = "one", .wanted = {device(), "mlx5_9:1"}, .fewest = 1});
  EXPECT_FALSE(met.transport);  // TCP has no such device either
  EXPECT_NE(met.reason.find("not over UCX: "), std::string::npos) << met.reason;
  EXPECT_NE(met.reason.find("mlx5_9:1"), std::string::npos) << met.reason;
}

}  // namespace
}  // namespace eco::transport::ucx
