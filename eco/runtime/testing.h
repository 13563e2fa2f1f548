// For the tests of this room: groups of threads that arm, on networks from one line of text.
#pragma once

#include <gtest/gtest.h>

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
#include "eco/runtime/abandoned.h"
#include "eco/runtime/combine.h"
#include "eco/runtime/communicator.h"
#include "eco/runtime/contents.h"
#include "eco/transport/loopback/loopback.h"
#include "eco/transport/passing.h"

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

// The library's own collectives, slowed down where a test wants it to lose.
class PacedNative final : public transport::PassingNative {
 public:
  PacedNative(transport::Native& native, double delay_s) : PassingNative(native), delay_s_(delay_s) {}

  void run(const coll::CommonProblem& problem, std::span<const std::byte> input,
           std::span<std::byte> output) override {
    if (delay_s_ > 0) std::this_thread::sleep_for(std::chrono::duration<double>(delay_s_));
    below_.run(problem, input, output);
  }

 private:
  double delay_s_;
};

using transport::PassingTransport;

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

// What a rank has in its hands when its program calls; the library is as slow as in the group.
struct Program {
  PacedNative native;
  Options options;
  Identity identity;
};

// Arms a group and hands every rank its communicator and its program.
inline void run_program(const Group& group, const Options& options,
                        const std::function<void(Communicator&, int rank, Program&)>& body) {
  const net::Network network = net::synthetic_network(group.network);
  transport::Hub hub(network.n_hosts(), group.loopback);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative& native) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    Program program{{native, group.native_delay_s}, options, {network.hosts[rank], "1.0"}};
    program.options.budget_s = 4;  // what arming left: enough for the smallest sizes, which come first
    const ArmResult armed =
        Communicator::arm(transport, program.native, options, program.identity, group.request);
    ASSERT_TRUE(armed.communicator) << armed.reason;
    body(*armed.communicator, transport.rank(), program);
  });
}

inline constexpr const char* kNetwork = "hosts=2+2 rate_mbit=200 uplink_mbit=40";

// Options that find the network in a file and have time for a small plan.
inline Options with_network(const Directory& directory) {
  Options options;
  options.network_file = directory.file("network.json");
  net::save_network(net::synthetic_network(kNetwork), options.network_file);
  options.cache_dir = directory.file("cache");
  options.budget_s = 60;
  return options;
}

inline Group small_group() {
  Group group;
  group.network = kNetwork;
  group.request.collectives = {coll::Collective::broadcast, coll::Collective::allreduce,
                               coll::Collective::barrier};
  group.request.sizes = {64, 4096};
  return group;
}

// A problem of about so many bytes; reductions of doubles.
inline coll::CommonProblem problem_of(coll::Collective collective, std::size_t bytes, int root = 0,
                                      int n_ranks = 4) {
  coll::CommonProblem problem{.collective = collective, .n_ranks = n_ranks, .root = root};
  const bool combines = coll::is_reduction(collective) && collective != coll::Collective::barrier;
  if (combines) problem.element_bytes = sizeof(double);
  problem.exact = combines;  // as input_of() has them
  if (collective != coll::Collective::barrier) problem.bytes = coll::whole_bytes(problem, bytes);
  return problem;
}

// Collective: runs what serves the problem, on known contents, and checks this rank's result. `in_place`: input and
// output are one buffer.
inline void expect_served(Communicator& communicator, int rank, const coll::CommonProblem& problem,
                          bool in_place = false) {
  const std::string what = std::string(coll::name(problem.collective)) + " of " +
                           std::to_string(problem.bytes) + " bytes, root " + std::to_string(problem.root) +
                           (in_place ? ", in place" : "");
  const algo::Recipe* recipe = communicator.serves(problem);
  ASSERT_NE(recipe, nullptr) << what;
  const std::vector<std::byte> input = input_of(problem, rank);
  const std::vector<std::byte> expected = expected_of(problem, rank);
  const bool begins_as_input =
      in_place || (problem.collective == coll::Collective::broadcast && rank == problem.root);
  std::vector<std::byte> output =
      begins_as_input ? input : std::vector<std::byte>(expected.size(), kUntouched);
  const exec::Buffers buffers{.input = input,
                              .output = output,
                              .input_is_output = in_place,
                              .combine = {sums_doubles(problem) ? sum_doubles : combine_tokens, nullptr}};
  ASSERT_EQ(communicator.run(problem, *recipe, buffers), transport::Status::ok) << what;
  if (problem.collective == coll::Collective::barrier) return;
  EXPECT_TRUE(output == expected) << what << " by " << recipe->text() << " on rank " << rank;
}

// Collective: a broadcast by this recipe; whether this rank has every byte.
inline transport::Status run_broadcast(Communicator& communicator, int rank,
                                       const coll::CommonProblem& problem, const algo::Recipe& recipe,
                                       bool& right) {
  // Shared, since a transport that failed may write to it later.
  const auto memory = std::make_shared<std::vector<std::byte>>(problem.bytes);
  std::vector<std::byte>& message = *memory;
  const auto value = [](std::size_t i) { return static_cast<std::byte>(i * 7 + 1); };
  if (rank == problem.root) {
    for (std::size_t i = 0; i < message.size(); ++i) message[i] = value(i);
  }
  const transport::Status status = communicator.run(problem, recipe, {.input = {}, .output = message});
  if (status != transport::Status::ok) keep_until_exit(memory);
  right = true;
  for (std::size_t i = 0; i < message.size(); ++i) right = right && message[i] == value(i);
  return status;
}

inline void expect_all(const std::vector<std::string>& reasons, const std::string& part) {
  for (const std::string& reason : reasons) {
    EXPECT_EQ(reason, reasons[0]) << "ranks disagree";
    EXPECT_NE(reason.find(part), std::string::npos) << reason;
  }
}

inline coll::CommonProblem broadcast_of(std::size_t bytes, int root, int n_ranks = 4) {
  return {.collective = coll::Collective::broadcast, .n_ranks = n_ranks, .root = root, .bytes = bytes};
}

inline std::string plan_text(const std::string& recipe, int root_subnet, std::vector<int> hosts,
                             std::size_t up_to_bytes = 1000) {
  plan::PlanTable table;
  table.host_of_rank = std::move(hosts);
  table.entries.push_back({coll::Collective::broadcast,
                           root_subnet,
                           {{up_to_bytes, algo::parse_recipe(recipe), 0, 0, 0, "by hand"}}});
  return table.to_json();
}

}  // namespace eco::runtime::testing
