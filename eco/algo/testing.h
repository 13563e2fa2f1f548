// What tests of schedules share: networks of several shapes, and running schedules on loopback threads.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/algo/proving.h"
#include "eco/coll/meaning.h"
#include "eco/exec/executor.h"
#include "eco/transport/loopback/loopback.h"

namespace eco::algo::testing {

// Ranks on hosts in the order rank * stride, so that rank order says nothing about subnets.
inline net::GroupView scattered_view(const std::string& hosts, int n_ranks, int stride = 1) {
  return dealt_view("hosts=" + hosts + " uplink_mbit=100", n_ranks, stride);
}

// Of proof_views() those that are run: without the many lone hosts, and without buses, whose schedules are like those of
// switches.
inline std::vector<net::GroupView> views(int n_ranks) {
  std::vector<net::GroupView> all = proof_views(n_ranks);
  if (n_ranks <= 3) return all;
  std::erase_if(all, [](const net::GroupView& view) {
    return view.n_subnets() == view.n_ranks() || view.subnets.front().kind == net::SubnetKind::bus;
  });
  return all;
}

// Those on which an algorithm can run.
inline std::vector<net::GroupView> views_for(const Algorithm& algorithm, int n_ranks) {
  return algorithm.on_rails ? proof_views_with_rails(n_ranks) : views(n_ranks);
}

// One 8-byte word of a rank's input: any 32 bits, twice, the same in every run. (A barrier's is a byte.)
inline std::uint64_t contribution(int rank, std::size_t i) {
  std::uint64_t x = (static_cast<std::uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15 + i * 0xd1b54a32d192ed03;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// inout[i] = in[i] op inout[i] for words.
template <std::uint64_t (*op)(std::uint64_t, std::uint64_t)>
void combine_words(void*, const void* in, void* inout, std::size_t bytes) {
  for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::memcpy(&a, static_cast<const char*>(in) + at, sizeof a);
    std::memcpy(&b, static_cast<char*>(inout) + at, sizeof b);
    b = op(a, b);
    std::memcpy(static_cast<char*>(inout) + at, &b, sizeof b);
  }
  // A barrier's token: a set of ranks.
  for (std::size_t at = bytes / 8 * 8; at < bytes; ++at) {
    static_cast<std::byte*>(inout)[at] |= static_cast<const std::byte*>(in)[at];
  }
}

// Exact in every order.
inline std::uint64_t sum(std::uint64_t a, std::uint64_t b) { return a + b; }
// The word (m, c) stands for x -> m x + c modulo 2^32; one after the other is associative and does not commute.
inline std::uint64_t compose(std::uint64_t a, std::uint64_t b) {
  const auto m = [](std::uint64_t w) { return static_cast<std::uint32_t>(w >> 32) | 1; };
  const auto c = [](std::uint64_t w) { return static_cast<std::uint32_t>(w); };
  return static_cast<std::uint64_t>(m(a) * m(b)) << 32 | (m(a) * c(b) + c(a));
}
// Of doubles between 1 and 2: their sum depends on the order in its last bits, so that ranks which combine differently
// differ. For comparing ranks with each other.
inline std::uint64_t rounded_sum(std::uint64_t a, std::uint64_t b) {
  const double s = std::bit_cast<double>(a) + std::bit_cast<double>(b);
  return std::bit_cast<std::uint64_t>(s);
}

struct Operation {
  exec::Combine combine;
  std::uint64_t (*word)(int rank, std::size_t i);
};
inline Operation sum_of_words() { return {{combine_words<sum>, nullptr}, contribution}; }
inline Operation composition() {
  // compose() reads every m as odd; so that results compare as words, contributions are odd too.
  return {{combine_words<compose>, nullptr},
          [](int rank, std::size_t i) { return contribution(rank, i) | std::uint64_t{1} << 32; }};
}
inline Operation sum_that_rounds() {
  return {{combine_words<rounded_sum>, nullptr}, [](int rank, std::size_t i) {
            return std::bit_cast<std::uint64_t>(
                1.0 + std::ldexp(static_cast<double>(contribution(rank, i) >> 12), -52));
          }};
}
inline Operation operation_for(const coll::CommonProblem& problem) {
  return problem.commutative ? sum_of_words() : composition();
}

// A rank's input: words, the last of them cut; a barrier's token is one bit of a byte.
inline std::vector<std::byte> input_of(const coll::CommonProblem& problem, int rank,
                                       const Operation& operation) {
  std::size_t bytes = coll::input_bytes(problem, rank);
  if (problem.collective == coll::Collective::broadcast && rank == problem.root) bytes = problem.bytes;
  std::vector<std::byte> input(bytes);
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = operation.word(rank, at / 8);
    std::memcpy(input.data() + at, &word, std::min<std::size_t>(8, bytes - at));
  }
  if (problem.collective == coll::Collective::barrier) input[0] = static_cast<std::byte>(1U << (rank % 8));
  return input;
}

// In a result before anything comes there.
inline constexpr std::byte kUntouched{0xEE};

// What the rank has to hold in the end, by coll::meaning().
inline std::vector<std::byte> expected(const coll::CommonProblem& problem, int rank,
                                       const Operation& operation) {
  std::vector<std::byte> output(coll::output_bytes(problem, rank), kUntouched);
  for (const coll::Part& part : coll::meaning(problem, rank)) {
    std::vector<std::byte> value;
    for (int from = part.last; from >= part.first; --from) {
      const std::vector<std::byte> input = input_of(problem, from, operation);
      const std::byte* theirs = input.data() + part.input_offset;
      if (from == part.last) {
        value.assign(theirs, theirs + part.bytes);
      } else {
        operation.combine.function(nullptr, theirs, value.data(), part.bytes);
      }
    }
    std::copy(value.begin(), value.end(), output.begin() + static_cast<std::ptrdiff_t>(part.offset));
  }
  return output;
}

// Runs the schedules on threads, `calls` times in a row on the same executors, and hands every result to `check`; what
// went wrong, or "". Sizes are whole words where something is combined, but for a barrier's token.
using CheckResult = std::function<std::string(int rank, const std::vector<std::byte>& output)>;
inline std::string run_schedules(const coll::CommonProblem& problem,
                                 const std::vector<sched::Schedule>& schedules, const Operation& operation,
                                 const CheckResult& check, transport::LoopbackOptions options = {},
                                 bool in_place = false, int calls = 2) {
  std::vector<std::string> wrong(static_cast<std::size_t>(problem.n_ranks));
  transport::Hub hub(problem.n_ranks, options);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative&) {
    const int rank = transport.rank();
    const auto index = static_cast<std::size_t>(rank);
    exec::Executor executor(transport);
    const sched::Schedule& schedule = schedules[index];
    if (!transport.open_groups(schedule.groups)) wrong[index] = "no groups";
    for (int call = 0; call < calls; ++call) {
      const std::vector<std::byte> in = input_of(problem, rank, operation);
      std::vector<std::byte> out(coll::output_bytes(problem, rank), kUntouched);
      if (in_place || problem.collective == coll::Collective::broadcast)
        std::copy(in.begin(), in.end(), out.begin());
      const exec::Buffers buffers{
          .input = in, .output = out, .input_is_output = in_place, .combine = operation.combine};
      const int tag_base = call % 3 * schedule.n_channels;
      if (executor.run(schedule, buffers, tag_base) != transport::Status::ok) {
        wrong[index] = "transport reported an error";
        hub.lose(rank);
        return;
      }
      if (wrong[index].empty()) wrong[index] = check(rank, out);
    }
  });
  for (const auto& text : wrong) {
    if (!text.empty()) return text;
  }
  return "";
}

// Holds every result against what it has to be.
inline CheckResult is_expected(const coll::CommonProblem& problem, const Operation& operation) {
  return [&problem, operation](int rank, const std::vector<std::byte>& output) -> std::string {
    const std::vector<std::byte> wanted = expected(problem, rank, operation);
    const auto [here, there] = std::mismatch(output.begin(), output.end(), wanted.begin());
    if (here == output.end()) return "";
    return "rank " + std::to_string(rank) + " has a wrong byte " + std::to_string(here - output.begin());
  };
}

// The same of a recipe's schedules.
inline std::string run_on_loopback(const coll::CommonProblem& problem, const net::GroupView& view,
                                   const Recipe& recipe, transport::LoopbackOptions options = {},
                                   bool in_place = false, int calls = 2) {
  const Operation operation = operation_for(problem);
  const std::string wrong = run_schedules(problem, build_all(recipe, problem, view), operation,
                                          is_expected(problem, operation), options, in_place, calls);
  return wrong.empty() ? "" : recipe.text() + ": " + wrong;
}

}  // namespace eco::algo::testing
