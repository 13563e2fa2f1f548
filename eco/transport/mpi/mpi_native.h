// The MPI library's own collectives, on the communicator of an MpiTransport.
//
//   MpiNative native(private_comm);             // local; the communicator must outlive it
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "eco/transport/native.h"

namespace eco::transport::mpi {

// "Open MPI 5.0.11", "MPICH 5.0.2": the first words of what the library says of itself. Local.
std::string library_name();

class MpiNative final : public Native {
 public:
  explicit MpiNative(MPI_Comm comm) : comm_(comm) {}

  void run(const coll::CommonProblem& problem, std::span<const std::byte> input,
           std::span<std::byte> output) override;
  void barrier() override;
  void barrier_asleep() override;
  void broadcast(std::span<std::byte> bytes, int root) override;
  void allreduce_min(std::span<std::int64_t> values) override;
  void allreduce_sum(std::span<std::int64_t> values) override;
  void allreduce_max(std::span<double> values) override;
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  std::string library() const override { return library_name(); }

 private:
  MPI_Comm comm_;
  std::vector<std::byte> unused_;
};

}  // namespace eco::transport::mpi
