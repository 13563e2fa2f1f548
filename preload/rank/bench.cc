// eco-rank bench: times collectives one call at a time.
//
// Not barrier, then clock: a barrier lets ranks go at different times, and which one first depends on the library. On
// one machine (one boot id, so one CLOCK_MONOTONIC; the lab is one) rank 0 names an instant a little ahead, all ranks
// sleep to it, and the call's time is the latest rank's end less that instant. Between machines a barrier must do, and
// the file says so. What is not the measured call goes through PMPI_, where ECO does not see it.
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/runtime/common_start.h"
#include "eco/runtime/options.h"
#include "eco/runtime/this_host.h"
#include "eco/transport/meeting.h"
#include "eco/transport/mpi/mpi_native.h"
#include "preload/rank/arguments.h"
#include "preload/rank/cases.h"

namespace eco::rank {
namespace {

using transport::mpi::MpiNative;

using runtime::now_ns;
using runtime::sleep_until;

constexpr std::int64_t kLateness_ns = 20'000'000;  // far beyond what a barrier takes: leaving early shows

// The algorithm that served this rank's last collective since this was asked last, as the preload says; "native"
// without it.
std::string last_algorithm() {
  using Function = const char* (*)();
  static const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "eco_last_algorithm"));
  return function != nullptr ? function() : "native";
}

struct Limits {
  int min_reps = 3;
  int max_reps = 200;
  double max_seconds = 1;  // for one operation at one size, once min_reps are done
};

struct Sample {
  double seconds = 0;
  bool right = false;
};

struct Cell {
  std::string collective;
  std::size_t bytes = 0;
  std::vector<double> seconds;
  std::string algorithm;
  bool correct = true;
  int late = 0;  // repetitions taken again because a rank heard of the instant too late
};

class Stopwatch {
 public:
  Stopwatch(MpiNative& native, MPI_Comm comm, bool one_clock)
      : native_(native), start_(native, one_clock), one_clock_(one_clock) {
    PMPI_Comm_rank(comm, &rank_);
  }

  // Collective. The same sample on all ranks.
  Sample time(Case& work, Cell& cell) {
    for (;;) {
      work.reset();
      const runtime::Begin begin = start_.wait();
      work.call();
      const double seconds = static_cast<double>(now_ns() - begin.at_ns) * 1e-9;
      const bool right = work.is_right();
      std::array<double, 4> worst = {seconds, begin.late ? 1.0 : 0.0, right ? 0.0 : 1.0, -begin.overslept_s};
      native_.allreduce_max(worst);
      const double all_overslept_s = -worst[3];
      if (worst[1] == 0 || !start_.widen()) return {worst[0] - all_overslept_s, worst[2] == 0};
      ++cell.late;
      if (worst[2] != 0) return {worst[0], false};
    }
  }

  // Collective, the same answer on all ranks: does nobody leave this barrier before `late` has entered it? Between
  // machines there is no clock to tell by, and only that it ends is seen.
  bool holds_for(Case& barrier, int late) {
    native_.barrier();
    if (rank_ == late) sleep_until(now_ns() + kLateness_ns);
    std::int64_t entered = now_ns();
    barrier.call();
    const std::int64_t left = now_ns();
    native_.broadcast(std::as_writable_bytes(std::span(&entered, 1)), late);
    std::array<double, 1> early = {one_clock_ && left < entered ? 1.0 : 0.0};
    native_.allreduce_max(early);
    return early[0] == 0;
  }

 private:
  MpiNative& native_;
  runtime::CommonStart start_;
  bool one_clock_;
  int rank_ = 0;
};

// Collective. The first call is not kept: it connects, allocates, and with ECO may arm.
Cell measure(MpiNative& native, Stopwatch& stopwatch, Cell cell, int rank, int n_ranks,
             const Limits& limits) {
  const std::unique_ptr<Case> work = make_case(cell.collective, cell.bytes, rank, n_ranks);
  cell.correct =
      work->is_barrier() ? stopwatch.holds_for(*work, n_ranks - 1) : stopwatch.time(*work, cell).right;
  cell.algorithm = last_algorithm();
  const std::int64_t began = now_ns();
  for (int i = 0; cell.correct; ++i) {
    // Rank 0's clock decides for all.
    const double spent_s = static_cast<double>(now_ns() - began) * 1e-9;
    std::int64_t go_on = i < limits.min_reps || (i < limits.max_reps && spent_s < limits.max_seconds) ? 1 : 0;
    native.broadcast(std::as_writable_bytes(std::span(&go_on, 1)), 0);
    if (go_on == 0) break;
    const Sample sample = stopwatch.time(*work, cell);
    cell.correct = sample.right;
    cell.seconds.push_back(sample.seconds);
    cell.algorithm = last_algorithm();
  }
  return cell;
}

// The MPI library's file, "" where that cannot be told.
std::string library_file() {
  Dl_info info{};
  const void* inside = dlsym(RTLD_DEFAULT, "PMPI_Init");
  const bool found = inside != nullptr && dladdr(inside, &info) != 0 && info.dli_fname != nullptr;
  return found ? info.dli_fname : "";
}

// --cells broadcast:8,barrier:0 names them one by one, --ops and --sizes every combination.
std::vector<Cell> cells_of(const Arguments& arguments) {
  std::vector<Cell> cells;
  for (const std::string& word : arguments.list("--cells")) {
    const std::size_t colon = std::min(word.find(':'), word.size());
    const std::string name = word.substr(0, colon);
    make_case(name, 8, 0, 1);  // as below
    const std::size_t bytes = parse_bytes(word.substr(std::min(colon + 1, word.size())));
    cells.push_back({.collective = name, .bytes = bytes, .seconds = {}, .algorithm = {}});
  }
  const std::vector<std::size_t> sizes = arguments.sizes("--sizes");
  for (const std::string& name : arguments.list("--ops")) {
    make_case(name, 8, 0, 1);  // throws for a name that does not exist, before anything is measured
    if (name == "barrier") {
      cells.push_back({.collective = name, .bytes = 0, .seconds = {}, .algorithm = {}});
      continue;
    }
    for (const std::size_t bytes : sizes) {
      cells.push_back({.collective = name, .bytes = bytes, .seconds = {}, .algorithm = {}});
    }
  }
  if (cells.empty())
    throw InvalidArgument("eco-rank bench: --cells, or --ops and --sizes, name nothing to measure");
  return cells;
}

nlohmann::json json_of_cells(const std::vector<Cell>& cells) {
  nlohmann::json json = nlohmann::json::array();
  for (const Cell& cell : cells) {
    json.push_back({{"collective", cell.collective},
                    {"bytes", cell.bytes},
                    {"seconds", cell.seconds},
                    {"algorithm", cell.algorithm},
                    {"correct", cell.correct},
                    {"late", cell.late}});
  }
  return json;
}

}  // namespace

int bench(int argc, char** argv) {
  const Arguments arguments(
      argc, argv, {"--ops", "--sizes", "--cells", "--reps", "--min-reps", "--max-seconds", "--out"}, {});
  const std::string out = arguments.text("--out");
  Limits limits;
  limits.max_reps = static_cast<int>(arguments.number("--reps", limits.max_reps, 1, 1e6));
  limits.min_reps = static_cast<int>(arguments.number("--min-reps", limits.min_reps, 1, 1e6));
  limits.max_seconds = arguments.number("--max-seconds", limits.max_seconds, 0, 86400);
  std::vector<Cell> cells = cells_of(arguments);

  int rank = 0;
  int n_ranks = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
  MPI_Comm comm = MPI_COMM_NULL;
  PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MpiNative native(comm);
  const bool one_clock = runtime::reads_one_clock(native, rank, n_ranks);
  const std::vector<std::string> hosts =
      transport::gather_lines(native, n_ranks, runtime::this_host({}).name);
  Stopwatch stopwatch(native, comm, one_clock);

  // Under ECO_ARM_AFTER=0 ECO arms in the first broadcast or allreduce of a communicator; barriers alone would never let it.
  std::uint64_t token = 0;
  MPI_Bcast(&token, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  last_algorithm();

  bool correct = true;
  for (Cell& cell : cells) {
    cell = measure(native, stopwatch, cell, rank, n_ranks, limits);
    if (!cell.correct && rank == 0) {
      std::fprintf(stderr, "eco-rank: %s of %zu bytes on %d ranks, served by %s, gave a wrong result\n",
                   cell.collective.c_str(), cell.bytes, n_ranks, cell.algorithm.c_str());
    }
    correct = correct && cell.correct;
  }
  PMPI_Comm_free(&comm);
  if (rank == 0) {
    const nlohmann::json file = {
        {"schema", "eco.rank.bench"},
        {"version", 1},
        {"ranks", n_ranks},
        {"hosts", hosts},
        {"library", transport::mpi::library_name()},
        {"library_file", library_file()},
        {"clock", one_clock ? "one CLOCK_MONOTONIC: the latest end after a common instant"
                            : "clocks of several machines: the longest call after a barrier"},
        {"preloaded", dlsym(RTLD_DEFAULT, "eco_last_algorithm") != nullptr},
        {"cells", json_of_cells(cells)}};
    if (const auto reason = base::write_text_atomically(out, base::to_text(file))) throw Error(*reason);
  }
  return correct ? 0 : kWrongResult;
}

}  // namespace eco::rank
