// This process's place among those of MPI_COMM_WORLD. Local.
#pragma once

#include <mpi.h>

namespace eco::preload {

struct World {
  int rank = 0;
  int n_ranks = 1;
};

inline World world() {
  World world;
  PMPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &world.n_ranks);
  return world;
}

}  // namespace eco::preload
