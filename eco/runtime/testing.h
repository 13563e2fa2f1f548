// For the tests of this room: groups of threads that arm, on networks from one line of text.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "eco/net/io.h"
#include "eco/net/synthetic.h"
#include "eco/runtime/communicator.h"
#include "eco/transport/loopback/loopback.h"

namespace eco::runtime::testing {

// A directory that vanishes with the test.
class Directory {
 public:
  Directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "eco-runtime-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
    return file(name);
  }

 private:
  std::filesystem::path path_;
};

// Loopback's own collectives, slowed down where a test wants the library to lose.
class PacedNative final : public transport::Native {
 public:
  PacedNative(transport::Native& native, double delay_s) : native_(native), delay_s_(delay_s) {}

  void barrier() override { native_.barrier(); }
  void broadcast(std::span<std::byte> bytes, int root) override {
    pause();
    native_.broadcast(bytes, root);
  }
  void allreduce_sum(std::span<const double> values, std::span<double> sums) override {
    pause();
    native_.allreduce_sum(values, sums);
  }
  void allreduce_min(std::span<std::int64_t> values) override { native_.allreduce_min(values); }
  void allreduce_max(std::span<double> values) override { native_.allreduce_max(values); }
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    native_.allgather(mine, all);
  }
  std::string library() const override { return native_.library(); }

 private:
  void pause() const {
    if (delay_s_ > 0) std::this_thread::sleep_for(std::chrono::duration<double>(delay_s_));
  }

  transport::Native& native_;
  double delay_s_;
};

struct Group {
  std::string network = "hosts=2+2 rate_mbit=200 uplink_mbit=40";
  double native_delay_s = 0.005;
  transport::LoopbackOptions loopback;
  ArmRequest request;
  // What differs between ranks, and a transport to put over theirs.
  std::function<void(int rank, Options& options, Identity& identity)> change;
  std::function<std::unique_ptr<transport::Transport>(int rank, transport::Transport& below)> wrap;
};

// Arms a group of one thread per host and hands every rank's result to `body` (in its thread). Identities are those of
// the network's own hosts.
inline std::vector<std::string> arm_group(
    const Group& group, const Options& options,
    const std::function<void(transport::Transport&, ArmResult&)>& body = [](transport::Transport&,
                                                                            ArmResult&) {}) {
  const net::Network network = net::synthetic_network(group.network);
  transport::Hub hub(network.n_hosts(), group.loopback);
  std::vector<std::string> reasons(static_cast<std::size_t>(network.n_hosts()));
  transport::run_ranks(hub, [&](transport::LoopbackTransport& loopback, transport::LoopbackNative& native) {
    const auto rank = static_cast<std::size_t>(loopback.rank());
    Options mine = options;
    Identity identity{network.hosts[rank], "1.0"};
    if (group.change) group.change(loopback.rank(), mine, identity);
    PacedNative paced(native, group.native_delay_s);
    std::unique_ptr<transport::Transport> wrapped;
    if (group.wrap) wrapped = group.wrap(loopback.rank(), loopback);
    transport::Transport& transport = wrapped ? *wrapped : static_cast<transport::Transport&>(loopback);
    ArmResult result = Communicator::arm(transport, paced, mine, identity, group.request);
    reasons[rank] = result.communicator ? "armed" : result.reason;
    body(transport, result);
  });
  return reasons;
}

}  // namespace eco::runtime::testing
