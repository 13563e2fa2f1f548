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
//
// Where the buffers of all ranks together would not fit into memory, they are one (timed.h), and nothing is checked.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/simgrid/timed.h"
#include "eco/exec/executor.h"
#include "eco/runtime/combine.h"
#include "eco/runtime/contents.h"
#include "eco/transport/mpi/mpi_transport.h"

namespace {

using eco::bench::Cell;
using eco::bench::Memory;
using eco::bench::Took;

// Buffers of all ranks together from where on they are one.
constexpr std::size_t kMostMemory = std::size_t{1} << 30;

void sum_in_simulated_time(void* context, const void* in, void* inout, std::size_t bytes) {
  eco::runtime::sum_doubles(context, in, inout, bytes);
  sg_actor_execute(static_cast<double>(bytes / sizeof(double)));
}

// Collective.
Took run(const Cell& cell, const eco::net::GroupView& view, eco::exec::Executor& executor, int rank,
         std::size_t check_bytes) {
  if (!cell.why_not.empty()) throw eco::InvalidArgument(cell.why_not);
  const eco::coll::CommonProblem& problem = cell.problem;
  const eco::sched::Schedule schedule =
      eco::algo::find(cell.recipe.algorithm)->build(problem, view, cell.recipe.params, rank);
  if (!executor.reserve(schedule.scratch_bytes)) throw std::bad_alloc();
  const std::size_t in_bytes = eco::coll::input_bytes(problem, rank);
  const std::size_t out_bytes = eco::coll::output_bytes(problem, rank);
  const bool folded = (in_bytes + out_bytes) * static_cast<std::size_t>(problem.n_ranks) > kMostMemory;
  const bool checked = problem.bytes <= check_bytes && !folded;
  const Memory input(in_bytes, folded);
  const Memory output(out_bytes, folded);
  if (checked) {
    const std::vector<std::byte> contents = eco::runtime::input_of(problem, rank);
    const bool has_message = problem.collective == eco::coll::Collective::broadcast && rank == problem.root;
    std::copy_n(contents.begin(), in_bytes, input.data());
    std::fill_n(output.data(), out_bytes, std::byte{0});
    if (has_message) std::copy_n(contents.begin(), out_bytes, output.data());
  }
  eco::exec::Buffers buffers;
  buffers.input = {input.data(), in_bytes};
  buffers.output = {output.data(), out_bytes};
  buffers.combine.function = sum_in_simulated_time;
  const Took took = eco::bench::timed([&] {
    if (executor.run(schedule, buffers, 0) != eco::transport::Status::ok) {
      throw std::runtime_error("the transport failed");
    }
  });
  if (checked && !std::ranges::equal(buffers.output, eco::runtime::expected_of(problem, rank))) {
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
    // Once for all ranks where they are not given globals of their own (smpirun -no-privatize).
    static const eco::net::GroupView view = eco::bench::view_of(argv[1]);
    static const std::vector<Cell> cells = eco::bench::read_cells(argv[2], view);
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
