#include "preload/backend/neighbors.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "eco/plan/large_group.h"
#include "preload/backend/library_agreement.h"

namespace eco::preload {
namespace {

using coll::Neighborhood;

// Two ranks may differ in the length of what they exchange, and have nothing to combine.
constexpr int kFewestRanks = 3;
// Beyond this many ranks recipes are chosen by what they take in smaller groups, and a graph has no smaller one.
constexpr int kMostRanks = plan::kMostRanksSimulated;
// Ranks times the longest list: what is gathered, and walked by every proof while all ranks wait.
constexpr std::int64_t kMostPlaces = 4096;

struct Lists {
  std::vector<int> sources;
  std::vector<int> targets;
  coll::Pairing pairing = coll::Pairing::in_order;
};

// What one rank says first. -1 where it has no such block.
struct Record {
  std::int64_t n_sources;
  std::int64_t n_targets;
  std::int64_t sent;
  std::int64_t received;
};

Lists lists_of_grid(MPI_Comm comm) {
  Lists lists{{}, {}, coll::Pairing::opposite};
  int n_dims = 0;
  PMPI_Cartdim_get(comm, &n_dims);
  for (int d = 0; d < n_dims; ++d) {
    int before = MPI_PROC_NULL;
    int behind = MPI_PROC_NULL;
    PMPI_Cart_shift(comm, d, 1, &before, &behind);
    lists.sources.insert(lists.sources.end(), {before, behind});
  }
  lists.targets = lists.sources;
  return lists;
}

Lists lists_of_graph(MPI_Comm comm, int rank) {
  Lists lists;
  int n = 0;
  PMPI_Graph_neighbors_count(comm, rank, &n);
  lists.sources.resize(static_cast<std::size_t>(n));
  PMPI_Graph_neighbors(comm, rank, n, lists.sources.data());
  lists.targets = lists.sources;
  return lists;
}

Lists lists_of_distributed(MPI_Comm comm) {
  Lists lists;
  int n_in = 0;
  int n_out = 0;
  int weighted = 0;
  PMPI_Dist_graph_neighbors_count(comm, &n_in, &n_out, &weighted);
  lists.sources.resize(static_cast<std::size_t>(n_in));
  lists.targets.resize(static_cast<std::size_t>(n_out));
  std::vector<int> in_weights(lists.sources.size());
  std::vector<int> out_weights(lists.targets.size());
  PMPI_Dist_graph_neighbors(comm, n_in, lists.sources.data(), in_weights.data(), n_out, lists.targets.data(),
                            out_weights.data());
  return lists;
}

// Local. Of a topology.
Lists lists_of(MPI_Comm comm, int rank) {
  int kind = MPI_UNDEFINED;
  PMPI_Topo_test(comm, &kind);
  Lists lists = kind == MPI_CART    ? lists_of_grid(comm)
                : kind == MPI_GRAPH ? lists_of_graph(comm, rank)
                                    : lists_of_distributed(comm);
  for (std::vector<int>* list : {&lists.sources, &lists.targets})
    std::replace(list->begin(), list->end(), int{MPI_PROC_NULL}, Neighborhood::kNobody);
  return lists;
}

std::int64_t length(const std::vector<int>& list, std::size_t bytes) {
  const bool has_some =
      std::any_of(list.begin(), list.end(), [](int rank) { return rank != Neighborhood::kNobody; });
  return has_some ? static_cast<std::int64_t>(bytes) : -1;
}

bool have_one_length(const std::vector<Record>& records) {
  std::int64_t known = -1;
  for (const Record& record : records) {
    for (const std::int64_t bytes : {record.sent, record.received}) {
      if (bytes >= 0 && known >= 0 && bytes != known) return false;
      if (bytes >= 0) known = bytes;
    }
  }
  return true;
}

}  // namespace

bool has_topology(MPI_Comm comm) {
  int kind = MPI_UNDEFINED;
  return PMPI_Topo_test(comm, &kind) == MPI_SUCCESS && kind != MPI_UNDEFINED;
}

int n_targets(MPI_Comm comm, int rank) noexcept {
  try {
    return static_cast<int>(lists_of(comm, rank).targets.size());
  } catch (const std::exception&) {
    return 0;
  }
}

std::shared_ptr<const Neighborhood> gather_neighbors(LibraryAgreement& library, MPI_Comm comm,
                                                     const Member& me, const BlockBytes& mine) {
  if (me.n_ranks < kFewestRanks || me.n_ranks > kMostRanks) return nullptr;
  const auto n = static_cast<std::size_t>(me.n_ranks);
  runtime::Agreement& agreement = library.steps.agreement();
  Lists lists;
  std::vector<Record> records;
  if (agreement.failed([&] {
        lists = lists_of(comm, me.rank);
        records.resize(n);
      }))
    return nullptr;
  const Record record{static_cast<std::int64_t>(lists.sources.size()),
                      static_cast<std::int64_t>(lists.targets.size()), length(lists.sources, mine.received),
                      length(lists.targets, mine.sent)};
  library.native.allgather(std::as_bytes(std::span(&record, 1)), std::as_writable_bytes(std::span(records)));
  std::int64_t longest = 0;
  for (const Record& each : records) longest = std::max({longest, each.n_sources, each.n_targets});
  if (longest == 0 || longest * me.n_ranks > kMostPlaces || !have_one_length(records)) return nullptr;

  const std::size_t room = 2 * static_cast<std::size_t>(longest);
  std::vector<int> own;
  std::vector<int> all;
  if (agreement.failed([&] {
        own.resize(room);
        all.resize(room * n);
      }))
    return nullptr;
  std::copy(lists.sources.begin(), lists.sources.end(), own.begin());
  std::copy(lists.targets.begin(), lists.targets.end(), own.begin() + longest);
  library.native.allgather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));

  std::shared_ptr<const Neighborhood> graph;
  const bool no_memory =
      agreement
          .failed([&] {
            std::vector<std::vector<int>> sources(n);
            std::vector<std::vector<int>> targets(n);
            for (std::size_t rank = 0; rank < n; ++rank) {
              const int* const first = all.data() + rank * room;
              sources[rank].assign(first, first + records[rank].n_sources);
              targets[rank].assign(first + longest, first + longest + records[rank].n_targets);
            }
            graph = coll::paired(sources, std::move(targets), lists.pairing);
            for (int rank = 0; rank < me.n_ranks && graph != nullptr; ++rank) {
              if (graph->is_alone(rank)) graph = nullptr;
            }
          })
          .has_value();
  return no_memory ? nullptr : graph;
}

}  // namespace eco::preload
