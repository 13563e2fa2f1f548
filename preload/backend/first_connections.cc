#include "preload/backend/first_connections.h"

#include "eco/algo/patterns/partners.h"

namespace eco::preload {

FirstConnections::FirstConnections([[maybe_unused]] const World& here) {
#if defined(OPEN_MPI)
  counts_.assign(static_cast<std::size_t>(here.n_ranks), 0);
  places_ = counts_;
  int place = 0;
  for (const int partner : algo::partners_in_rounds(here.n_ranks, here.rank)) {
    counts_[static_cast<std::size_t>(partner)] = 1;
    places_[static_cast<std::size_t>(partner)] = place++;
  }
  given_.resize(static_cast<std::size_t>(place));
  got_.resize(static_cast<std::size_t>(place));
  PMPI_Ialltoallv(given_.data(), counts_.data(), places_.data(), MPI_BYTE, got_.data(), counts_.data(),
                  places_.data(), MPI_BYTE, MPI_COMM_WORLD, &request_);
#endif
}

bool FirstConnections::are_open() {
  int is_done = 0;
  return PMPI_Test(&request_, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS || is_done != 0;
}

}  // namespace eco::preload
