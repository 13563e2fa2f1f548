// MPI's own collectives inside SimGrid, by whatever algorithms smpi/coll-selector chooses.
//
//   smpirun ... bench-simgrid-stock cells.txt records.jsonl
//
// A cell is a line "BYTES OPERATION": bytes of the message (broadcast, allreduce), of one contribution (allgather), for one
// peer (alltoall). Each runs once untimed, since the first call pays for what SMPI sets up, and once timed.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/simgrid/timed.h"

namespace {

using eco::bench::Memory;

// Buffers of all ranks together from where on they are one.
constexpr std::size_t kMostMemory = std::size_t{1} << 30;

struct Cell {
  std::size_t bytes = 0;
  std::string operation;
};

std::vector<Cell> read_cells(const char* path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(std::string("can't read ") + path);
  std::vector<Cell> cells;
  for (Cell cell; file >> cell.bytes >> cell.operation;) cells.push_back(cell);
  return cells;
}

struct Buffers {
  std::size_t in = 0;
  std::size_t out = 0;
};

Buffers buffers_of(const Cell& cell, std::size_t n_ranks) {
  const std::map<std::string, Buffers> all = {{"broadcast", {0, cell.bytes}},
                                              {"allreduce", {cell.bytes, cell.bytes}},
                                              {"allgather", {cell.bytes, cell.bytes * n_ranks}},
                                              {"alltoall", {cell.bytes * n_ranks, cell.bytes * n_ranks}}};
  const auto found = all.find(cell.operation);
  if (found == all.end()) throw std::runtime_error("no operation '" + cell.operation + "'");
  return found->second;
}

// A sum of doubles that takes simulated time, as ECO's does in execute.cc.
void sum(void* in, void* inout, int* n, MPI_Datatype*) {
  const auto* from = static_cast<const double*>(in);
  auto* to = static_cast<double*>(inout);
  for (int i = 0; i < *n; ++i) to[i] += from[i];
  sg_actor_execute(*n);
}

void run(const Cell& cell, const Memory& in, const Memory& out, MPI_Op op) {
  const int n = static_cast<int>(cell.bytes);
  if (cell.operation == "broadcast") {
    PMPI_Bcast(out.data(), n, MPI_BYTE, 0, MPI_COMM_WORLD);
  } else if (cell.operation == "allreduce") {
    const int n_doubles = static_cast<int>(cell.bytes / sizeof(double));
    PMPI_Allreduce(in.data(), out.data(), n_doubles, MPI_DOUBLE, op, MPI_COMM_WORLD);
  } else if (cell.operation == "allgather") {
    PMPI_Allgather(in.data(), n, MPI_BYTE, out.data(), n, MPI_BYTE, MPI_COMM_WORLD);
  } else {
    PMPI_Alltoall(in.data(), n, MPI_BYTE, out.data(), n, MPI_BYTE, MPI_COMM_WORLD);
  }
}

}  // namespace

// SMPI looks it up by name.
__attribute__((visibility("default"))) int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int n_ranks = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
  try {
    if (argc != 3) throw std::runtime_error("CELLS RECORDS are needed");
    std::ofstream records;
    if (rank == 0) records.open(argv[2]);
    MPI_Op op = MPI_OP_NULL;
    PMPI_Op_create(&sum, 1, &op);
    for (const Cell& cell : read_cells(argv[1])) {
      const auto p = static_cast<std::size_t>(n_ranks);
      const Buffers bytes = buffers_of(cell, p);
      const bool folded = (bytes.in + bytes.out) * p > kMostMemory;
      const Memory in(bytes.in, folded);
      const Memory out(bytes.out, folded);
      run(cell, in, out, op);
      const eco::bench::Took took = eco::bench::timed([&] { run(cell, in, out, op); });
      if (rank != 0) continue;
      const nlohmann::ordered_json record = {{"operation", cell.operation},
                                             {"bytes", cell.bytes},
                                             {"simgrid_s", took.simulated_s},
                                             {"simgrid_cost_s", took.cost_s}};
      records << record.dump() << std::endl;
    }
    PMPI_Op_free(&op);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench-simgrid-stock: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
