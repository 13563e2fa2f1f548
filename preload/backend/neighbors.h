// The graph of a communicator's topology, put together from what each of its ranks knows.
//
//   LibraryAgreement agreement(comm, rank, n_ranks);
//   const auto graph = gather_neighbors(agreement, comm, {rank, n_ranks}, {sent, received});   // collective
//
// MPI wants blocks of one length on all ranks of a neighbourhood collective, and most programs know a weaker rule: of one
// length along each edge. So what the blocks of this call are is gathered too, and who differs is left to the library.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "eco/coll/neighborhood.h"
#include "preload/backend/sides.h"

namespace eco::preload {

struct LibraryAgreement;

// Of one rank's call, as its arguments say.
struct BlockBytes {
  std::size_t sent = 0;
  std::size_t received = 0;
};

// Local, and the same on all ranks.
bool has_topology(MPI_Comm comm);

// Local. To how many places a rank sends, those of nobody counted; 0 without memory to find out.
int n_targets(MPI_Comm comm, int rank) noexcept;

// Collective. Null, on all ranks alike, where ECO has nothing to do with it: fewer than three ranks, many ranks or edges, a
// rank that is alone, lists that contradict each other, blocks of several lengths, no memory. Throws eco::Error where the
// library fails.
std::shared_ptr<const coll::Neighborhood> gather_neighbors(LibraryAgreement& library, MPI_Comm comm,
                                                           const Member& me, const BlockBytes& mine);

}  // namespace eco::preload
