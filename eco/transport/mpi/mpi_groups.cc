#include "eco/transport/mpi/mpi_groups.h"

#include <algorithm>
#include <array>
#include <climits>
#include <set>

namespace eco::transport::mpi {
namespace {

struct Call {
  MPI_Comm comm;
  int root;
  void* source;
  void* target;
  int bytes;  // the whole
  int block_bytes;
  int elements;  // the same, where elements are combined
  int block_elements;
  Operation by;
  MPI_Request* request;
};

// In the order of coll::Collective. Barriers and exscans are no steps (sched::is_group_collective).
constexpr std::array<int (*)(const Call& c), coll::kCollectives> kFunctions = {
    [](const Call& c) {
      void* const message = c.source != nullptr ? c.source : c.target;
      return PMPI_Ibcast(message, c.bytes, MPI_BYTE, c.root, c.comm, c.request);
    },
    nullptr,
    [](const Call& c) {
      return PMPI_Ireduce(c.source, c.target, c.elements, c.by.type, c.by.op, c.root, c.comm, c.request);
    },
    [](const Call& c) {
      return PMPI_Iallreduce(c.source, c.target, c.elements, c.by.type, c.by.op, c.comm, c.request);
    },
    [](const Call& c) {
      return PMPI_Ireduce_scatter_block(c.source, c.target, c.block_elements, c.by.type, c.by.op, c.comm,
                                        c.request);
    },
    [](const Call& c) {
      return PMPI_Ireduce_scatter_block(c.source, c.target, c.block_elements, c.by.type, c.by.op, c.comm,
                                        c.request);
    },
    [](const Call& c) {
      return PMPI_Iscatter(c.source, c.block_bytes, MPI_BYTE, c.target, c.block_bytes, MPI_BYTE, c.root,
                           c.comm, c.request);
    },
    [](const Call& c) {
      return PMPI_Igather(c.source, c.block_bytes, MPI_BYTE, c.target, c.block_bytes, MPI_BYTE, c.root,
                          c.comm, c.request);
    },
    [](const Call& c) {
      return PMPI_Iallgather(c.source, c.block_bytes, MPI_BYTE, c.target, c.block_bytes, MPI_BYTE, c.comm,
                             c.request);
    },
    [](const Call& c) {
      return PMPI_Ialltoall(c.source, c.block_bytes, MPI_BYTE, c.target, c.block_bytes, MPI_BYTE, c.comm,
                            c.request);
    },
    [](const Call& c) {
      return PMPI_Iscan(c.source, c.target, c.elements, c.by.type, c.by.op, c.comm, c.request);
    },
    nullptr,
};

Operation operation_of(const coll::Combine& combine) {
  if (combine.library != nullptr) return *static_cast<const Operation*>(combine.library);
  const bool sums = combine.element_bytes == sizeof(double);
  return sums ? Operation{MPI_DOUBLE, MPI_SUM} : Operation{MPI_BYTE, MPI_BOR};
}

}  // namespace

bool MpiGroups::open(const std::vector<coll::RankGroup>& groups) {
  std::vector<coll::RankGroup> wanted;
  for (const coll::RankGroup& group : groups) {
    if (find(group) < 0 && std::find(wanted.begin(), wanted.end(), group) == wanted.end())
      wanted.push_back(group);
  }
  if (wanted.empty()) return true;
  if (comm_ == MPI_COMM_NULL) return false;
  std::vector<coll::RankGroup> before;
  for (const Group& group : groups_) before.push_back(group.of);
  while (!wanted.empty()) {
    if (open_disjoint(wanted)) continue;
    close_but(before);
    return false;
  }
  return true;
}

bool MpiGroups::open_disjoint(std::vector<coll::RankGroup>& wanted) {
  int me = 0;
  PMPI_Comm_rank(comm_, &me);
  std::set<int> taken;
  std::vector<coll::RankGroup> now, later;
  int color = MPI_UNDEFINED;
  int key = 0;
  for (coll::RankGroup& group : wanted) {
    const std::vector<int>& ranks = group.ranks;
    const bool meets =
        std::any_of(ranks.begin(), ranks.end(), [&](int rank) { return taken.contains(rank); });
    if (meets) {
      later.push_back(std::move(group));
      continue;
    }
    taken.insert(ranks.begin(), ranks.end());
    const auto found = std::find(ranks.begin(), ranks.end(), me);
    if (found != ranks.end()) {
      color = static_cast<int>(now.size());
      key = static_cast<int>(found - ranks.begin());
    }
    now.push_back(std::move(group));
  }
  MPI_Comm made = MPI_COMM_NULL;
  int is_made = PMPI_Comm_split(comm_, color, key, &made) == MPI_SUCCESS ? 1 : 0;
  if (is_made == 0) made = MPI_COMM_NULL;
  // A library that is out of context ids says so on all ranks; one that is out of memory perhaps on this one.
  int all_made = 0;
  if (PMPI_Allreduce(&is_made, &all_made, 1, MPI_INT, MPI_MIN, comm_) != MPI_SUCCESS) all_made = 0;
  if (all_made == 0) {
    if (made != MPI_COMM_NULL) PMPI_Comm_free(&made);
    return false;
  }
  if (made != MPI_COMM_NULL) PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  for (std::size_t g = 0; g < now.size(); ++g) {
    const bool is_mine = color == static_cast<int>(g);
    groups_.push_back({std::move(now[g]), is_mine ? made : MPI_COMM_NULL});
  }
  wanted = std::move(later);
  return true;
}

void MpiGroups::close_but(const std::vector<coll::RankGroup>& groups) {
  if (abandoned_) return;
  for (Group& group : groups_) {
    if (std::find(groups.begin(), groups.end(), group.of) != groups.end()) continue;
    group.of = {};
    if (group.comm != MPI_COMM_NULL) PMPI_Comm_free(&group.comm);
  }
}

int MpiGroups::find(const coll::RankGroup& wanted) const {
  const auto found =
      std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) { return group.of == wanted; });
  return found == groups_.end() ? -1 : static_cast<int>(found - groups_.begin());
}

int MpiGroups::start(int group, const GroupCall& call, MPI_Request* request) const {
  const coll::CommonProblem& problem = call.problem;
  const auto function = kFunctions[static_cast<std::size_t>(problem.collective)];
  if (function == nullptr || problem.bytes > INT_MAX) return MPI_ERR_OTHER;
  const int bytes = static_cast<int>(problem.bytes);
  const int block_bytes = static_cast<int>(problem.block_bytes());
  const int element = static_cast<int>(call.combine.element_bytes);
  return function({groups_[static_cast<std::size_t>(group)].comm, problem.root,
                   const_cast<std::byte*>(call.source.data()), call.target.data(), bytes, block_bytes,
                   bytes / element, block_bytes / element, operation_of(call.combine), request});
}

}  // namespace eco::transport::mpi
