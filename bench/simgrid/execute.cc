// Executes recipes inside SimGrid: an SMPI program whose ranks run ECO's own Executor over SMPI's MPI.
//
//   smpirun ... bench-simgrid-execute network.json cells.txt records.jsonl check_bytes
//
// Rank 0 writes one JSON object for each cell: simulated seconds from a common instant to the last rank's end, and what
// simulating them cost. Building schedules and checking results lie outside of both. Results of cells of up to
// `check_bytes` are compared with what the collective means.
//
// Simulated time passes in messages, by the platform's links and SMPI's overheads, and in reductions, at one
// floating-point operation for every double. SMPI's other reasons for time are turned off by the platform's file.
#include <mpi.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/cells.h"
#include "eco/exec/executor.h"
#include "eco/runtime/combine.h"
#include "eco/runtime/contents.h"
#include "eco/transport/mpi/mpi_transport.h"

namespace {

using eco::bench::Cell;

// Long enough for every rank to have left the reduction that agrees on the instant.
constexpr double kPause_s = 1;

double latest(double s) {
  double all = 0;
  PMPI_Allreduce(&s, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

void sum_in_simulated_time(void* context, const void* in, void* inout, std::size_t bytes) {
  eco::runtime::sum_doubles(context, in, inout, bytes);
  sg_actor_execute(static_cast<double>(bytes / sizeof(double)));
}

struct Took {
  double simulated_s = 0;
  double cost_s = 0;
};

// Collective.
Took run(const Cell& cell, const eco::net::GroupView& view, eco::exec::Executor& executor, int rank,
         std::size_t check_bytes) {
  if (!cell.why_not.empty()) throw eco::InvalidArgument(cell.why_not);
  const eco::coll::CommonProblem& problem = cell.problem;
  const eco::sched::Schedule schedule =
      eco::algo::find(cell.recipe.algorithm)->build(problem, view, cell.recipe.params, rank);
  if (!executor.reserve(schedule.scratch_bytes)) throw std::bad_alloc();
  std::vector<std::byte> input = eco::runtime::input_of(problem, rank);
  std::vector<std::byte> output(eco::coll::output_bytes(problem, rank));
  const bool has_message = problem.collective == eco::coll::Collective::broadcast && rank == problem.root;
  if (has_message) output = input;
  eco::exec::Buffers buffers;
  buffers.input = std::span<const std::byte>(input).first(eco::coll::input_bytes(problem, rank));
  buffers.output = output;
  buffers.combine.function = sum_in_simulated_time;

  const double begin_s = latest(simgrid_get_clock()) + kPause_s;
  const double before_s = eco::bench::processor_s();
  sg_actor_sleep_for(begin_s - simgrid_get_clock());
  if (executor.run(schedule, buffers, 0) != eco::transport::Status::ok) {
    throw std::runtime_error("the transport failed");
  }
  const double end_s = latest(simgrid_get_clock());
  const Took took{end_s - begin_s, eco::bench::processor_s() - before_s};
  if (problem.bytes <= check_bytes && output != eco::runtime::expected_of(problem, rank)) {
    throw std::runtime_error("the result is wrong");
  }
  return took;
}

}  // namespace

// SMPI looks it up by name.
__attribute__((visibility("default"))) int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::string where = "starting";
  try {
    if (argc != 5) throw std::runtime_error("NETWORK CELLS RECORDS CHECK_BYTES are needed");
    const eco::net::GroupView view = eco::bench::view_of(argv[1]);
    const std::vector<Cell> cells = eco::bench::read_cells(argv[2], view);
    const auto check_bytes = static_cast<std::size_t>(std::strtoull(argv[4], nullptr, 10));
    std::ofstream records;
    if (rank == 0) records.open(argv[3]);
    MPI_Comm comm = MPI_COMM_NULL;
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    {
      eco::transport::mpi::MpiTransport transport(comm);
      eco::exec::Executor executor(transport);
      // Untimed: whatever SMPI does once, for a communicator or a route, it does here.
      if (!cells.empty()) {
        Cell first = cells.front();
        where = first.recipe.text();
        run(first, view, executor, rank, check_bytes);
      }
      for (const Cell& cell : cells) {
        where = cell.recipe.text();
        const Took took = run(cell, view, executor, rank, check_bytes);
        if (rank != 0) continue;
        const nlohmann::ordered_json record = {{"recipe", where},
                                               {"bytes", cell.problem.bytes},
                                               {"simgrid_s", took.simulated_s},
                                               {"simgrid_cost_s", took.cost_s}};
        records << record.dump() << std::endl;
      }
    }
    PMPI_Comm_free(&comm);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench-simgrid-execute: rank %d, %s: %s\n", rank, where.c_str(), error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
