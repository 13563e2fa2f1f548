// What tests of schedules share: networks of several shapes, and running one recipe on loopback threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/exec/executor.h"
#include "eco/net/group_view.h"
#include "eco/net/synthetic.h"
#include "eco/transport/loopback/loopback.h"

namespace eco::algo::testing {

// Ranks dealt over `subnets` subnets round-robin-like by `stride`, so that rank order says nothing about
// them.
inline net::GroupView scattered_view(const std::string& hosts, int n_ranks, int stride = 1) {
  auto network =
      std::make_shared<net::Network>(net::synthetic_network("hosts=" + hosts + " uplink_mbit=100"));
  const int n_hosts = network->n_hosts();
  std::vector<int> host_of_rank;
  for (int rank = 0; rank < n_ranks; ++rank) host_of_rank.push_back(rank * stride % n_hosts);
  return net::make_view(std::move(network), std::move(host_of_rank));
}

// Groups of `n_ranks` on one subnet, two, three unequal ones, and with several ranks on a host.
inline std::vector<net::GroupView> views(int n_ranks) {
  std::vector<net::GroupView> all;
  const auto hosts = [](std::vector<int> sizes) {
    std::string text;
    for (const int size : sizes) {
      if (size > 0) text += (text.empty() ? "" : "+") + std::to_string(size);
    }
    return text;
  };
  all.push_back(scattered_view(hosts({n_ranks}), n_ranks));
  if (n_ranks >= 2) all.push_back(scattered_view(hosts({n_ranks - n_ranks / 2, n_ranks / 2}), n_ranks));
  if (n_ranks >= 3) {
    const int third = n_ranks / 3;
    all.push_back(
        scattered_view(hosts({n_ranks - 2 * third + (third > 1 ? 1 : 0), third, third - (third > 1 ? 1 : 0)}),
                       n_ranks, n_ranks % 5 == 0 ? 3 : 5));
    all.push_back(scattered_view("1+2", n_ranks));
  }
  return all;
}

// Contribution of a rank to element i: small integers, so that sums are exact in any order.
inline double contribution(int rank, std::size_t i) {
  return static_cast<double>(rank + 1) * 1000 + static_cast<double>(i % 997);
}

inline void add_doubles(void*, const void* in, void* inout, std::size_t bytes) {
  for (std::size_t at = 0; at + sizeof(double) <= bytes; at += sizeof(double)) {
    double a = 0;
    double b = 0;
    std::memcpy(&a, static_cast<const char*>(in) + at, sizeof a);
    std::memcpy(&b, static_cast<char*>(inout) + at, sizeof b);
    b += a;
    std::memcpy(static_cast<char*>(inout) + at, &b, sizeof b);
  }
}

// Element i of a rank's result: contributions of ranks `first` to `last` at place `place` of their inputs, summed.
inline double expected(const coll::CommonProblem& problem, int rank, std::size_t i) {
  using coll::Collective;
  const std::size_t block = problem.block_bytes() / sizeof(double);
  const std::size_t mine = static_cast<std::size_t>(rank) * block;
  int first = 0;
  int last = problem.n_ranks - 1;
  std::size_t place = i;
  switch (problem.collective) {
    case Collective::broadcast:
      first = last = problem.root;
      break;
    case Collective::scatter:
      first = last = problem.root;
      place = mine + i;
      break;
    case Collective::gather:
    case Collective::allgather:
      first = last = static_cast<int>(i / block);
      place = i % block;
      break;
    case Collective::alltoall:
      first = last = static_cast<int>(i / block);
      place = mine + i % block;
      break;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      place = mine + i;
      break;
    case Collective::scan:
      last = rank;
      break;
    case Collective::exscan:
      last = rank - 1;
      break;
    default:
      break;
  }
  double sum = 0;
  for (int r = first; r <= last; ++r) sum += contribution(r, place);
  return sum;
}

// Runs the recipe on threads, `calls` times in a row on the same executors; returns what went wrong, or "". Sizes are
// whole doubles, but for a barrier's token.
inline std::string run_on_loopback(const coll::CommonProblem& problem, const net::GroupView& view,
                                   const Recipe& recipe, transport::LoopbackOptions options = {},
                                   bool in_place = false, int calls = 2) {
  using coll::Collective;
  const bool is_barrier = problem.collective == Collective::barrier;
  std::vector<std::string> wrong(static_cast<std::size_t>(problem.n_ranks));
  transport::Hub hub(problem.n_ranks, options);
  transport::run_ranks(hub, [&](transport::LoopbackTransport& transport, transport::LoopbackNative&) {
    const int rank = transport.rank();
    exec::Executor executor(transport);
    const sched::Schedule schedule = find(recipe.algorithm)->build(problem, view, recipe.params, rank);
    for (int call = 0; call < calls; ++call) {
      std::vector<double> in(coll::input_bytes(problem, rank) / sizeof(double));
      std::vector<double> out(coll::output_bytes(problem, rank) / sizeof(double), -1);
      std::byte token{};
      std::byte all_tokens{};
      if (problem.collective == Collective::broadcast && rank == problem.root) in.resize(out.size());
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = contribution(rank, i);
      if (in_place || problem.collective == Collective::broadcast)
        std::copy(in.begin(), in.end(), out.begin());
      exec::Buffers buffers{.input = std::as_bytes(std::span(in)),
                            .output = std::as_writable_bytes(std::span(out)),
                            .input_is_output = in_place,
                            .combine = {add_doubles, nullptr}};
      if (is_barrier) {
        buffers.input = {&token, 1};
        buffers.output = {&all_tokens, 1};
        buffers.input_is_output = false;
      }
      const int tag_base = call % 3 * schedule.n_channels;
      if (executor.run(schedule, buffers, tag_base) != transport::Status::ok) {
        wrong[static_cast<std::size_t>(rank)] = "transport reported an error";
        hub.lose(rank);
        return;
      }
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (out[i] == expected(problem, rank, i)) continue;
        wrong[static_cast<std::size_t>(rank)] = "rank " + std::to_string(rank) + " element " +
                                                std::to_string(i) + " is " + std::to_string(out[i]) +
                                                ", not " + std::to_string(expected(problem, rank, i));
        break;
      }
    }
  });
  for (const auto& text : wrong) {
    if (!text.empty()) return recipe.text() + ": " + text;
  }
  return "";
}

}  // namespace eco::algo::testing
