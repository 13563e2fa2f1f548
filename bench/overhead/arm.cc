// What arming a communicator of very many ranks costs one of its ranks: seconds, and bytes of memory at the worst and
// afterwards, from agreeing on the network to the schedules of its own that it has built.
//
//   cmake --preset release && cmake --build --preset release --target bench-arm && build/release/bench-arm 16384
//   build/release/bench-arm 16384 16 allreduce 8,65536      16 ranks a host, one operation, these sizes
//
// The other ranks are played: rank 0 arms with a library whose collectives return what this rank gave (ranks that agree),
// and what it sends to all is kept; the last rank then arms with a library that gives it that. So of each rank its own work is
// timed (of the processor), and no waiting. The network is a file, of four sites with unequal links. The plan is rank 0's, by
// estimates: candidates chosen and the winner proved, but not tried, with the forecasts of a plan that is made without a job's
// limits; of rooted operations for a root in each site. One line of JSON for each operation, size and rank.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <filesystem>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eco/base/errors.h"
#include "eco/coll/problem.h"
#include "eco/net/io.h"
#include "eco/net/synthetic.h"
#include "eco/runtime/communicator.h"
#include "eco/transport/native.h"
#include "eco/transport/transport.h"

namespace {

// Of this process, by operator new.
std::size_t live_bytes = 0;
std::size_t most_bytes = 0;

}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  live_bytes += malloc_usable_size(memory);
  most_bytes = std::max(most_bytes, live_bytes);
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) live_bytes -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { ::operator delete(memory); }

namespace {

using eco::coll::Collective;
using eco::net::Network;

constexpr int kTimes = 3;  // each is run so often, and the least time counts

// A rank's messages, of which arming sends none.
class NoTransport final : public eco::transport::Transport {
 public:
  NoTransport(int rank, int n_ranks) : rank_(rank), n_ranks_(n_ranks) {}
  int rank() const override { return rank_; }
  int n_ranks() const override { return n_ranks_; }
  int max_tag() const override { return (1 << 28) - 1; }
  eco::transport::Status post_send(int, int, std::span<const std::byte>, eco::transport::SendMode,
                                   eco::transport::Ticket) override {
    return eco::transport::Status::failed;
  }
  eco::transport::Status post_recv(int, int, std::span<std::byte>, eco::transport::Ticket) override {
    return eco::transport::Status::failed;
  }
  eco::transport::Status wait_some(std::span<eco::transport::Ticket>, std::size_t& n_done) override {
    n_done = 0;
    return eco::transport::Status::failed;
  }
  eco::transport::Status test_some(std::span<eco::transport::Ticket>, std::size_t& n_done) override {
    n_done = 0;
    return eco::transport::Status::failed;
  }
  bool open_groups(const std::vector<eco::coll::RankGroup>&) override { return true; }

 private:
  int rank_;
  int n_ranks_;
};

// A library whose other ranks agree with this one: rank 0's broadcasts are kept, and given to another rank.
class Played final : public eco::transport::Native {
 public:
  using Kept = std::deque<std::vector<std::byte>>;
  Played(int rank, const std::vector<eco::net::HostId>& hosts, int ranks_a_host, Kept& kept)
      : rank_(rank), hosts_(hosts), ranks_a_host_(ranks_a_host), kept_(kept) {}

  void run(const eco::coll::CommonProblem&, std::span<const std::byte>, std::span<std::byte>) override {}
  void barrier() override {}
  void broadcast(std::span<std::byte> bytes, int root) override {
    if (root != 0) throw eco::TransportError("only rank 0 is played");
    if (rank_ == 0) {
      kept_.emplace_back(bytes.begin(), bytes.end());
      return;
    }
    const std::vector<std::byte>& next = kept_.at(n_given_++);
    if (next.size() != bytes.size()) throw eco::TransportError("rank 0 sent something else");
    std::copy(next.begin(), next.end(), bytes.begin());
  }
  void allreduce_min(std::span<std::int64_t>) override {}
  void allreduce_sum(std::span<std::int64_t>) override {}
  void allreduce_max(std::span<double>) override {}
  // Identities: this rank's, with the other hosts' names (arming.cc). Whoever else gathers has equal parts.
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    for (std::size_t r = 0; r * mine.size() < all.size(); ++r) {
      const auto part = all.subspan(r * mine.size(), mine.size());
      std::copy(mine.begin(), mine.end(), part.begin());
      if (mine.size() < 300) continue;
      const eco::net::HostId& host = hosts_[r / static_cast<std::size_t>(ranks_a_host_)];
      std::memset(part.data(), 0, 192);
      std::memcpy(part.data(), host.name.data(), host.name.size());
      std::memcpy(part.data() + 128, host.address.data(), host.address.size());
    }
  }
  std::string library() const override { return "played"; }

 private:
  int rank_;
  const std::vector<eco::net::HostId>& hosts_;
  int ranks_a_host_;
  Kept& kept_;
  std::size_t n_given_ = 0;
};

// Four sites, of a half, a quarter and two eighths of the hosts. Without the times of pairs, of which there are millions.
Network network_of(int n_hosts) {
  Network network = eco::net::synthetic_network(
      "hosts=2+2+2+2 rate_mbit=10000 uplink_mbit=8000+4000+2000+1000 latency_us=10 between_us=2000 "
      "overhead_us=1");
  network.pairs.clear();
  network.sizes.clear();
  network.hosts.clear();
  const int shares[] = {2, 4, 8, 8};
  for (std::size_t s = 0; s < 4; ++s) {
    std::vector<int>& hosts = network.subnets[s].hosts;
    hosts.clear();
    for (int i = 0; i < n_hosts / shares[s]; ++i) {
      const int host = network.n_hosts();
      hosts.push_back(host);
      network.hosts.push_back({"node" + std::to_string(100000 + host),
                               "10." + std::to_string(host / 65536) + "." + std::to_string(host / 256 % 256) +
                                   "." + std::to_string(host % 256),
                               "01234567-89ab-cdef-0123-456789abcdef", "4026531840"});
    }
  }
  network.finish();
  return network;
}

// Of this process alone: what else a machine does is no part of it.
double now_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Cost {
  double seconds = 1e9;
  std::size_t most_bytes = 0;  // at any time, beyond what was there before
  std::size_t kept_bytes = 0;  // afterwards, by the communicator
  std::string served;          // or why not
};

struct Setting {
  const std::vector<eco::net::HostId>& hosts;
  int ranks_a_host;
  eco::runtime::Options options;
  eco::runtime::ArmRequest request;
};

Cost arm(const Setting& setting, int rank, Played::Kept& kept) {
  const int n_ranks = static_cast<int>(setting.hosts.size()) * setting.ranks_a_host;
  Cost cost;
  for (int i = 0; i < kTimes; ++i) {
    if (rank == 0) kept.clear();
    NoTransport transport(rank, n_ranks);
    Played native(rank, setting.hosts, setting.ranks_a_host, kept);
    const eco::runtime::Identity identity{
        setting.hosts[static_cast<std::size_t>(rank / setting.ranks_a_host)], "bench"};
    const std::size_t before = live_bytes;
    most_bytes = live_bytes;
    const double start_s = now_s();
    const eco::runtime::ArmResult armed =
        eco::runtime::Communicator::arm(transport, native, setting.options, identity, setting.request);
    cost.seconds = std::min(cost.seconds, now_s() - start_s);
    std::size_t kept_here = 0;  // by the recorder
    if (rank == 0) {
      for (const auto& each : kept) kept_here += each.capacity();
    }
    cost.most_bytes = most_bytes - before - std::min(most_bytes - before, kept_here);
    cost.kept_bytes = live_bytes - before - std::min(live_bytes - before, kept_here);
    cost.served = armed.reason;
    if (armed.communicator) {
      for (const eco::plan::Entry& entry : armed.communicator->table().entries) {
        for (const eco::plan::Row& row : entry.rows) {
          if (row.recipe) cost.served = row.recipe->text();
        }
      }
    }
  }
  return cost;
}

void print(const char* who, std::string_view collective, std::size_t bytes, const Setting& setting,
           const Cost& cost) {
  std::printf(
      "{\"ranks\": %zu, \"ranks_a_host\": %d, \"operation\": \"%s\", \"bytes\": %zu, \"rank\": \"%s\", "
      "\"seconds\": %.6f, \"most_bytes\": %zu, \"kept_bytes\": %zu, \"serves\": \"%s\"}\n",
      setting.hosts.size() * static_cast<std::size_t>(setting.ranks_a_host), setting.ranks_a_host,
      std::string(collective).c_str(), bytes, who, cost.seconds, cost.most_bytes, cost.kept_bytes,
      cost.served.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int n_ranks = argc > 1 ? std::atoi(argv[1]) : 16384;
  const int ranks_a_host = argc > 2 ? std::atoi(argv[2]) : 1;
  const std::string_view only = argc > 3 ? argv[3] : "";
  std::vector<std::size_t> sizes;
  std::istringstream words(argc > 4 ? argv[4] : "8,65536,1048576");
  for (std::string word; std::getline(words, word, ',');) sizes.push_back(std::stoul(word));

  const Network network = network_of(n_ranks / ranks_a_host);
  const auto folder = std::filesystem::temp_directory_path() / ("bench-arm-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string file = (folder / "network.json").string();
  eco::net::save_network(network, file);

  Setting setting{network.hosts, ranks_a_host, {}, {}};
  setting.options.network_file = file;
  setting.options.cache_dir = folder.string();
  setting.options.budget_s = 0;
  setting.request.effort = eco::plan::Effort::estimate;
  for (const Collective collective : eco::coll::all_collectives()) {
    const std::string_view name = eco::coll::name(collective);
    if (collective == Collective::barrier || eco::coll::follows_graph(collective)) continue;
    if (only == "none" || (!only.empty() && name != only)) continue;
    setting.request.collectives = {collective};
    for (const std::size_t bytes : sizes) {
      setting.request.sizes = {bytes};
      Played::Kept kept;
      print("first", name, bytes, setting, arm(setting, 0, kept));
      print("last", name, bytes, setting, arm(setting, n_ranks - 1, kept));
    }
  }
  std::filesystem::remove_all(folder);
  return 0;
}
