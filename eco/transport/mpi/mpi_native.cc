#include "eco/transport/mpi/mpi_native.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstddef>
#include <regex>
#include <thread>
#include <vector>

#include "eco/base/errors.h"

namespace eco::transport::mpi {
namespace {

// Of who waits asleep: so often it asks before it sleeps, since what comes soon should not be late.
constexpr int kAskedAwake = 64;
constexpr std::chrono::microseconds kShortestNap{50};
constexpr std::chrono::microseconds kLongestNap{1000};

void check(int code, const char* function) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  PMPI_Error_string(code, text, &length);
  throw TransportError(std::string(function) + " on ECO's private communicator failed: " + text);
}

int count_of(std::size_t count, const char* function) {
  if (count > INT_MAX) {
    throw TransportError(std::string(function) + ": " + std::to_string(count) +
                         " elements are more than MPI takes in one call");
  }
  return static_cast<int>(count);
}

// What one of the library's collectives is called with.
struct Call {
  MPI_Comm comm;
  int root;
  int n_ranks;
  const void* input;
  void* output;
  int bytes;  // the whole
  int block_bytes;
  int elements;  // the same, where elements are combined: doubles are summed, bytes are or-ed
  int block_elements;
  MPI_Datatype type;
  MPI_Op op;
};

struct Function {
  const char* name;
  int (*call)(const Call& c);
};

// In the order of Collective.
constexpr std::array<Function, coll::kCollectives> kFunctions = {{
    {"MPI_Bcast", [](const Call& c) { return PMPI_Bcast(c.output, c.bytes, MPI_BYTE, c.root, c.comm); }},
    {"MPI_Barrier", [](const Call& c) { return PMPI_Barrier(c.comm); }},
    {"MPI_Reduce",
     [](const Call& c) { return PMPI_Reduce(c.input, c.output, c.elements, c.type, c.op, c.root, c.comm); }},
    {"MPI_Allreduce",
     [](const Call& c) { return PMPI_Allreduce(c.input, c.output, c.elements, c.type, c.op, c.comm); }},
    {"MPI_Reduce_scatter",
     [](const Call& c) {
       const std::vector<int> counts(static_cast<std::size_t>(c.n_ranks), c.block_elements);
       return PMPI_Reduce_scatter(c.input, c.output, counts.data(), c.type, c.op, c.comm);
     }},
    {"MPI_Reduce_scatter_block",
     [](const Call& c) {
       return PMPI_Reduce_scatter_block(c.input, c.output, c.block_elements, c.type, c.op, c.comm);
     }},
    {"MPI_Scatter",
     [](const Call& c) {
       return PMPI_Scatter(c.input, c.block_bytes, MPI_BYTE, c.output, c.block_bytes, MPI_BYTE, c.root,
                           c.comm);
     }},
    {"MPI_Gather",
     [](const Call& c) {
       return PMPI_Gather(c.input, c.block_bytes, MPI_BYTE, c.output, c.block_bytes, MPI_BYTE, c.root,
                          c.comm);
     }},
    {"MPI_Allgather",
     [](const Call& c) {
       return PMPI_Allgather(c.input, c.block_bytes, MPI_BYTE, c.output, c.block_bytes, MPI_BYTE, c.comm);
     }},
    {"MPI_Alltoall",
     [](const Call& c) {
       return PMPI_Alltoall(c.input, c.block_bytes, MPI_BYTE, c.output, c.block_bytes, MPI_BYTE, c.comm);
     }},
    {"MPI_Scan",
     [](const Call& c) { return PMPI_Scan(c.input, c.output, c.elements, c.type, c.op, c.comm); }},
    {"MPI_Exscan",
     [](const Call& c) { return PMPI_Exscan(c.input, c.output, c.elements, c.type, c.op, c.comm); }},
    // On a communicator with the topology that the problem has. Who tells nobody, or hears from nobody, passes the same
    // count as all others, and a place that nothing is read from or written to: Open MPI skips a call that sends no
    // bytes, and leaves what comes to the next one; MPICH refuses a null pointer.
    {"MPI_Neighbor_allgather",
     [](const Call& c) {
       return PMPI_Neighbor_allgather(c.input, c.bytes, MPI_BYTE, c.output, c.bytes, MPI_BYTE, c.comm);
     }},
    {"MPI_Neighbor_alltoall",
     [](const Call& c) {
       return PMPI_Neighbor_alltoall(c.input, c.bytes, MPI_BYTE, c.output, c.bytes, MPI_BYTE, c.comm);
     }},
}};

}  // namespace

std::string library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  PMPI_Get_library_version(text, &length);
  const std::string all(text, static_cast<std::size_t>(length));
  // "Open MPI v5.0.11, package: ...", "MPICH Version:      5.0.2\nMPICH Release date: ...".
  static const std::regex kName(
      "^\\s*([A-Za-z][A-Za-z() -]*?)(?: Library)?(?: Version:)?\\s+v?([0-9][^\\s,]*)");
  std::smatch match;
  if (std::regex_search(all, match, kName)) return match[1].str() + " " + match[2].str();
  return all.substr(0, all.find('\n'));
}

void MpiNative::run(const coll::CommonProblem& problem, std::span<const std::byte> input,
                    std::span<std::byte> output) {
  const Function& function = kFunctions[static_cast<std::size_t>(problem.collective)];
  const int bytes = count_of(problem.bytes, function.name);
  const int block_bytes = count_of(problem.block_bytes(), function.name);
  const bool sums = problem.element_bytes == sizeof(double);
  const int element = sums ? static_cast<int>(sizeof(double)) : 1;
  // Rank 0's result of an exscan is undefined, but a library may write it.
  std::byte* result = output.data();
  if (problem.collective == coll::Collective::exscan && output.empty()) {
    unused_.resize(problem.bytes);
    result = unused_.data();
  }
  std::byte nowhere{};
  const std::byte* source = input.data();
  if (coll::follows_graph(problem.collective)) {
    if (source == nullptr) source = &nowhere;
    if (result == nullptr) result = &nowhere;
  }
  check(function.call({comm_, problem.root, problem.n_ranks, source, result, bytes, block_bytes,
                       bytes / element, block_bytes / element, sums ? MPI_DOUBLE : MPI_BYTE,
                       sums ? MPI_SUM : MPI_BOR}),
        function.name);
}

void MpiNative::barrier() { check(PMPI_Barrier(comm_), "MPI_Barrier"); }

void MpiNative::barrier_asleep() {
  MPI_Request request = MPI_REQUEST_NULL;
  check(PMPI_Ibarrier(comm_, &request), "MPI_Ibarrier");
  std::chrono::microseconds nap = kShortestNap;
  for (int done = 0, asked = 0;; ++asked) {
    check(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) return;
    if (asked < kAskedAwake) continue;
    std::this_thread::sleep_for(nap);
    nap = std::min(2 * nap, kLongestNap);
  }
}

void MpiNative::broadcast(std::span<std::byte> bytes, int root) {
  check(PMPI_Bcast(bytes.data(), count_of(bytes.size(), "MPI_Bcast"), MPI_BYTE, root, comm_), "MPI_Bcast");
}

void MpiNative::allreduce_min(std::span<std::int64_t> values) {
  check(PMPI_Allreduce(MPI_IN_PLACE, values.data(), count_of(values.size(), "MPI_Allreduce"), MPI_INT64_T,
                       MPI_MIN, comm_),
        "MPI_Allreduce");
}

void MpiNative::allreduce_sum(std::span<std::int64_t> values) {
  check(PMPI_Allreduce(MPI_IN_PLACE, values.data(), count_of(values.size(), "MPI_Allreduce"), MPI_INT64_T,
                       MPI_SUM, comm_),
        "MPI_Allreduce");
}

void MpiNative::allreduce_max(std::span<double> values) {
  check(PMPI_Allreduce(MPI_IN_PLACE, values.data(), count_of(values.size(), "MPI_Allreduce"), MPI_DOUBLE,
                       MPI_MAX, comm_),
        "MPI_Allreduce");
}

void MpiNative::allgather(std::span<const std::byte> mine, std::span<std::byte> all) {
  const int count = count_of(mine.size(), "MPI_Allgather");
  check(PMPI_Allgather(mine.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, comm_), "MPI_Allgather");
}

}  // namespace eco::transport::mpi
