// Executes recipes over the TCP or the UCX transport, outside MPI: one rank of them, on its host. bench/rails.py starts all.
//
//   bench-rails NETWORK CELLS RECORDS STORE RANK REPETITIONS SECONDS CHECK_BYTES tcp|ucx ADDRESS...   one for each rail
//
// Rank 0 writes one JSON object a cell: predicted seconds, and those of each repetition, from an instant that all ranks
// slept to until the last rank's end; no further repetition begins after SECONDS of them. Ranks read one clock
// (CLOCK_MONOTONIC), so they have to be on one machine, as the hosts of a lab are. Results of cells of up to CHECK_BYTES
// are held against what the collective means.
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
#include "eco/transport/tcp/rails.h"
#include "eco/transport/ucx/ucx.h"

namespace {

using eco::bench::Cell;
using eco::transport::RailTransport;
using eco::transport::SendMode;
using eco::transport::Status;
using Clock = std::chrono::steady_clock;

// Long enough for rank 0's word to have come everywhere.
constexpr std::chrono::milliseconds kPause(60);
// Beyond those of any schedule here.
constexpr int kTag = 60000;
// Of what is sent before anything counts: a window's worth on every connection, and not seconds of it.
constexpr std::size_t kWarmUpBytes = std::size_t{1} << 20;

void expect(Status status) {
  if (status != Status::ok) throw std::runtime_error("the transport failed, or a rank was lost");
}

// Rank r of so many, on these addresses.
std::unique_ptr<RailTransport> meet(const std::string& carrier, eco::transport::KeyValue& store, int rank,
                                    int n_ranks, const std::vector<std::string>& addresses) {
  if (carrier == "tcp") return eco::transport::tcp::meet(store, rank, n_ranks, addresses);
  if (carrier != "ucx") throw std::runtime_error("'" + carrier + "' instead of tcp or ucx");
  std::vector<std::string> devices;
  for (const eco::transport::tcp::Nic& nic : eco::transport::tcp::nics(addresses))
    devices.push_back(nic.device);
  return eco::transport::ucx::meet(store, rank, n_ranks, devices);
}

// Rank 0 hears one number of everybody and tells all the largest, plus `more`.
std::int64_t agree(RailTransport& transport, std::int64_t mine, std::int64_t more = 0) {
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

// One problem by one recipe, as this rank has it.
class Task {
 public:
  Task(const eco::algo::Recipe& recipe, const eco::coll::CommonProblem& problem,
       const eco::net::GroupView& view, int rank)
      : problem_(problem),
        rank_(rank),
        schedule_(eco::algo::find(recipe.algorithm)->build(problem, view, recipe.params, rank)),
        input_(eco::runtime::input_of(problem, rank)),
        output_(eco::coll::output_bytes(problem, rank)) {
    if (problem.collective == eco::coll::Collective::broadcast && rank == problem.root) output_ = input_;
  }

  // Collective. Seconds until the last rank's end, the same on all ranks.
  double time(RailTransport& transport, eco::exec::Executor& executor) {
    if (!executor.reserve(schedule_.scratch_bytes)) throw std::bad_alloc();
    const eco::exec::Buffers buffers{
        .input = std::span<const std::byte>(input_).first(eco::coll::input_bytes(problem_, rank_)),
        .output = output_,
        .combine = {eco::runtime::sum_doubles, nullptr}};
    const std::int64_t begin_ns = agree(transport, now_ns(), std::chrono::nanoseconds(kPause).count());
    std::this_thread::sleep_until(Clock::time_point(std::chrono::nanoseconds(begin_ns)));
    expect(executor.run(schedule_, buffers, 0));
    return static_cast<double>(agree(transport, now_ns()) - begin_ns) * 1e-9;
  }

  bool is_right() const { return output_ == eco::runtime::expected_of(problem_, rank_); }

 private:
  eco::coll::CommonProblem problem_;
  int rank_;
  eco::sched::Schedule schedule_;
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
};

struct Limits {
  int repetitions;
  double seconds;
  std::size_t check_bytes;
};

// Collective. Seconds of each repetition; the same on all ranks.
std::vector<double> run(const Cell& cell, const eco::net::GroupView& view, RailTransport& transport,
                        eco::exec::Executor& executor, const Limits& limits) {
  if (!cell.why_not.empty()) throw eco::InvalidArgument(cell.why_not);
  eco::coll::CommonProblem shorter = cell.problem;
  shorter.bytes = eco::coll::whole_bytes(shorter, std::min(cell.problem.bytes, kWarmUpBytes));
  // Not counted: connections open in it, and their windows.
  Task(cell.recipe, shorter, view, transport.rank()).time(transport, executor);
  Task task(cell.recipe, cell.problem, view, transport.rank());
  std::vector<double> seconds;
  double sum_s = 0;
  while (static_cast<int>(seconds.size()) < limits.repetitions &&
         (seconds.empty() || sum_s < limits.seconds)) {
    seconds.push_back(task.time(transport, executor));
    sum_s += seconds.back();
  }
  if (cell.problem.bytes <= limits.check_bytes && !task.is_right())
    throw std::runtime_error("the result is wrong");
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  std::string where = "starting";
  try {
    if (argc < 11)
      throw std::runtime_error(
          "NETWORK CELLS RECORDS STORE RANK REPETITIONS SECONDS CHECK_BYTES CARRIER ADDRESS... are needed");
    const eco::net::GroupView view = eco::bench::view_of(argv[1]);
    const std::vector<Cell> cells = eco::bench::read_cells(argv[2], view);
    const int rank = std::atoi(argv[5]);
    const Limits limits{.repetitions = std::atoi(argv[6]),
                        .seconds = std::atof(argv[7]),
                        .check_bytes = static_cast<std::size_t>(std::strtoull(argv[8], nullptr, 10))};
    std::ofstream records;
    if (rank == 0) records.open(argv[3]);
    eco::transport::FileStore store(argv[4]);
    const auto transport =
        meet(argv[9], store, rank, view.n_ranks(), std::vector<std::string>(argv + 10, argv + argc));
    eco::exec::Executor executor(*transport);
    for (const Cell& cell : cells) {
      where = cell.recipe.text();
      const std::vector<double> seconds = run(cell, view, *transport, executor, limits);
      // Of the rank that has lost the most: to so many peers it has one less.
      const auto n_lost = agree(*transport, static_cast<std::int64_t>(transport->lost_rails().size()));
      if (rank != 0) continue;
      const double predicted_s =
          eco::sim::predict(view, eco::algo::build_all(cell.recipe, cell.problem, view)).seconds;
      const nlohmann::ordered_json record = {{"recipe", where},
                                             {"bytes", cell.problem.bytes},
                                             {"predicted_s", predicted_s},
                                             {"seconds", seconds},
                                             {"lost_rails", n_lost}};
      records << record.dump() << std::endl;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench-rails: rank %s, %s: %s\n", argc > 5 ? argv[5] : "?", where.c_str(),
                 error.what());
    return 1;
  }
  return 0;
}
