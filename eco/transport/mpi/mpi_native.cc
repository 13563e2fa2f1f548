#include "eco/transport/mpi/mpi_native.h"

#include <climits>
#include <cstddef>
#include <regex>

#include "eco/base/errors.h"

namespace eco::transport::mpi {
namespace {

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

void MpiNative::barrier() { check(PMPI_Barrier(comm_), "MPI_Barrier"); }

void MpiNative::broadcast(std::span<std::byte> bytes, int root) {
  check(PMPI_Bcast(bytes.data(), count_of(bytes.size(), "MPI_Bcast"), MPI_BYTE, root, comm_), "MPI_Bcast");
}

void MpiNative::allreduce_sum(std::span<const double> values, std::span<double> sums) {
  check(PMPI_Allreduce(values.data(), sums.data(), count_of(values.size(), "MPI_Allreduce"), MPI_DOUBLE,
                       MPI_SUM, comm_),
        "MPI_Allreduce");
}

void MpiNative::allreduce_min(std::span<std::int64_t> values) {
  check(PMPI_Allreduce(MPI_IN_PLACE, values.data(), count_of(values.size(), "MPI_Allreduce"), MPI_INT64_T,
                       MPI_MIN, comm_),
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
