// Executes recipes over the TCP transport, outside MPI: one rank of them, on its host.
//
//   bench-rails NETWORK CELLS RECORDS STORE RANK REPETITIONS CHECK_BYTES ADDRESS...      one address for each rail
//
// Rank 0 writes one JSON object a cell: predicted seconds, and those of each repetition, from an instant that all ranks slept to until the last
// rank's end. They read one clock (CLOCK_MONOTONIC), so they have to be on one machine, as the hosts of a lab are. Results
// of cells of up to CHECK_BYTES are held against what the collective means.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "bench/cells.h"
#include "eco/exec/executor.h"
#include "eco/runtime/combine.h"
#include "eco/runtime/contents.h"
#include "eco/sim/predict.h"
#include "eco/transport/tcp/bootstrap.h"

namespace {

using eco::bench::Cell;
using eco::transport::SendMode;
using eco::transport::Status;
using eco::transport::tcp::TcpTransport;
using Clock = std::chrono::steady_clock;

// Long enough for rank 0's word to have come everywhere.
constexpr std::chrono::milliseconds kPause(60);
// Beyond those of any schedule here.
constexpr int kTag = 60000;

void expect(Status status) {
  if (status != Status::ok) throw std::runtime_error("the transport failed, or a rank was lost");
}

// Rank 0 hears one number of everybody and tells all the largest, plus `more`.
std::int64_t agree(TcpTransport& transport, std::int64_t mine, std::int64_t more = 0) {
  std::vector<std::int64_t> heard(static_cast<std::size_t>(transport.n_ranks()), mine);
  std::size_t n_posted = 0;
  const auto bytes_of = [](std::int64_t& number) { return std::as_writable_bytes(std::span(&number, 1)); };
  const auto finish = [&] {
    std::array<eco::transport::Ticket, 16> room{};
    for (std::size_t n = 0; n_posted > 0; n_posted -= n) expect(transport.wait_some(room, n));
  };
  const auto send = [&](int peer, std::int64_t& number) {
    expect(transport.post_send(peer, kTag, bytes_of(number), SendMode::eager, 0));
    ++n_posted;
  };
  const auto receive = [&](int peer, std::int64_t& number) {
    expect(transport.post_recv(peer, kTag, bytes_of(number), 0));
    ++n_posted;
  };
  std::int64_t largest = mine;
  if (transport.rank() != 0) {
    send(0, mine);
    receive(0, largest);
    finish();
    return largest;
  }
  for (int peer = 1; peer < transport.n_ranks(); ++peer) receive(peer, heard[static_cast<std::size_t>(peer)]);
  finish();
  largest = *std::max_element(heard.begin(), heard.end()) + more;
  for (int peer = 1; peer < transport.n_ranks(); ++peer) send(peer, largest);
  finish();
  return largest;
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

// Seconds of each repetition; the same on all ranks.
std::vector<double> run(const Cell& cell, const eco::net::GroupView& view, TcpTransport& transport,
                        eco::exec::Executor& executor, int repetitions, std::size_t check_bytes) {
  if (!cell.why_not.empty()) throw eco::InvalidArgument(cell.why_not);
  const int rank = transport.rank();
  const eco::coll::CommonProblem& problem = cell.problem;
  const eco::sched::Schedule schedule =
      eco::algo::find(cell.recipe.algorithm)->build(problem, view, cell.recipe.params, rank);
  if (!executor.reserve(schedule.scratch_bytes)) throw std::bad_alloc();
  const std::vector<std::byte> input = eco::runtime::input_of(problem, rank);
  std::vector<std::byte> output(eco::coll::output_bytes(problem, rank));
  if (problem.collective == eco::coll::Collective::broadcast && rank == problem.root) output = input;
  const eco::exec::Buffers buffers{
      .input = std::span<const std::byte>(input).first(eco::coll::input_bytes(problem, rank)),
      .output = output,
      .combine = {eco::runtime::sum_doubles, nullptr}};
  std::vector<double> seconds;
  // The first is not counted: connections open in it, and their windows.
  for (int i = 0; i <= repetitions; ++i) {
    const std::int64_t begin_ns = agree(transport, now_ns(), std::chrono::nanoseconds(kPause).count());
    std::this_thread::sleep_until(Clock::time_point(std::chrono::nanoseconds(begin_ns)));
    expect(executor.run(schedule, buffers, 0));
    const std::int64_t end_ns = agree(transport, now_ns());
    if (i > 0) seconds.push_back(static_cast<double>(end_ns - begin_ns) * 1e-9);
  }
  if (problem.bytes <= check_bytes && output != eco::runtime::expected_of(problem, rank))
    throw std::runtime_error("the result is wrong");
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  std::string where = "starting";
  try {
    if (argc < 9)
      throw std::runtime_error(
          "NETWORK CELLS RECORDS STORE RANK REPETITIONS CHECK_BYTES ADDRESS... are needed");
    const eco::net::GroupView view = eco::bench::view_of(argv[1]);
    const std::vector<Cell> cells = eco::bench::read_cells(argv[2], view);
    const int rank = std::atoi(argv[5]);
    const auto check_bytes = static_cast<std::size_t>(std::strtoull(argv[7], nullptr, 10));
    std::ofstream records;
    if (rank == 0) records.open(argv[3]);
    eco::transport::tcp::FileStore store(argv[4]);
    const auto transport = eco::transport::tcp::meet(store, rank, view.n_ranks(),
                                                     std::vector<std::string>(argv + 8, argv + argc));
    eco::exec::Executor executor(*transport);
    for (const Cell& cell : cells) {
      where = cell.recipe.text();
      const std::vector<double> seconds =
          run(cell, view, *transport, executor, std::atoi(argv[6]), check_bytes);
      if (rank != 0) continue;
      const double predicted_s =
          eco::sim::predict(view, eco::algo::build_all(cell.recipe, cell.problem, view)).seconds;
      const nlohmann::ordered_json record = {{"recipe", where},
                                             {"bytes", cell.problem.bytes},
                                             {"predicted_s", predicted_s},
                                             {"seconds", seconds}};
      records << record.dump() << std::endl;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench-rails: rank %s, %s: %s\n", argc > 5 ? argv[5] : "?", where.c_str(),
                 error.what());
    return 1;
  }
  return 0;
}
