// Communicators of the groups of ranks that do collectives as steps of schedules, and these collectives: the library's own,
// nonblocking.
//
//   MpiGroups groups(comm);                        // local; `comm` is of all the ranks, and must outlive open()
//   groups.open({{0, 1}, {2, 3}});                 // collective
//   groups.start(groups.find({0, 1}), call, &request);
//
// Groups that have no rank in common are made by one MPI_Comm_split, so a partition of the ranks costs the library one
// context id (MPICH has some 2,000).
#pragma once

#include <mpi.h>

#include <vector>

#include "eco/transport/transport.h"

namespace eco::transport::mpi {

// What coll::Combine::library points to.
struct Operation {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
};

class MpiGroups {
 public:
  // Local. With MPI_COMM_NULL no group can be opened.
  explicit MpiGroups(MPI_Comm comm) : comm_(comm) {}
  ~MpiGroups() { close_but({}); }
  MpiGroups(const MpiGroups&) = delete;
  MpiGroups& operator=(const MpiGroups&) = delete;

  // Collective over `comm`, whose error handler must be MPI_ERRORS_RETURN. The same answer on all ranks; if it is false
  // nothing was opened.
  [[nodiscard]] bool open(const std::vector<coll::RankGroup>& groups);
  // All ranks close the same ones.
  void close_but(const std::vector<coll::RankGroup>& groups);
  int find(const coll::RankGroup& group) const;
  // Local; what MPI says.
  [[nodiscard]] int start(int group, const GroupCall& call, MPI_Request* request) const;
  // Operations are under way that nobody will wait for: no communicator is freed from now on. Local.
  void abandon() { abandoned_ = true; }

 private:
  struct Group {
    coll::RankGroup of;  // ranks of `comm`
    MPI_Comm comm;       // MPI_COMM_NULL where this rank is not in it
  };

  // Collective: one split for those of `wanted` that have no rank in common with one before; takes them out.
  bool open_disjoint(std::vector<coll::RankGroup>& wanted);

  MPI_Comm comm_;
  std::vector<Group> groups_;  // closed ones have no ranks
  bool abandoned_ = false;
};

}  // namespace eco::transport::mpi
