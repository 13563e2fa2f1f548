#include "preload/backend/reordering.h"

#include <cstring>
#include <exception>
#include <numeric>
#include <string>

#include "eco/base/errors.h"
#include "eco/map/map.h"
#include "eco/runtime/steps.h"
#include "eco/transport/mpi/mpi_native.h"
#include "preload/backend/errors_return.h"

namespace eco::preload {
namespace {

// Numbers of a graph that rank 0 gathers: some 350,000 messages, as of an all-to-all of 590 ranks, which take a second to map.
constexpr long long kMostNumbers = 1LL << 20;

void check(int code, const char* what) {
  if (code != MPI_SUCCESS) throw TransportError(std::string("the MPI library failed in ") + what);
}

// Collective. By rank, on rank 0.
std::vector<std::vector<int>> gather(runtime::Steps& steps, MPI_Comm comm, const std::vector<int>& mine) {
  const int n_mine = static_cast<int>(mine.size());
  const auto n_ranks = static_cast<std::size_t>(steps.rank() == 0 ? steps.n_ranks() : 0);
  std::vector<int> counts;
  std::vector<int> places;
  std::vector<int> all;
  steps.together("", [&] {
    if (mine.size() > kMostNumbers) throw Unsupported("a graph too large to be gathered");
    counts.resize(n_ranks);
    places.resize(n_ranks);
  });
  check(PMPI_Gather(&n_mine, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm), "MPI_Gather");
  steps.together("", [&] {
    const long long total = std::accumulate(counts.begin(), counts.end(), 0LL);
    if (total > kMostNumbers) throw Unsupported("a graph too large to be gathered");
    all.resize(static_cast<std::size_t>(total));
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  });
  check(
      PMPI_Gatherv(mine.data(), n_mine, MPI_INT, all.data(), counts.data(), places.data(), MPI_INT, 0, comm),
      "MPI_Gatherv");
  std::vector<std::vector<int>> of_rank;
  steps.together("", [&] {
    for (std::size_t r = 0; r < n_ranks; ++r) {
      const auto from = all.begin() + places[r];
      of_rank.emplace_back(from, from + counts[r]);
    }
  });
  return of_rank;
}

// The error handler as a program has it; a new communicator takes over its parent's, which may be set aside.
void copy_error_handler(MPI_Comm from, MPI_Comm to) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(from, &handler);
  PMPI_Comm_set_errhandler(to, handler);
  PMPI_Errhandler_free(&handler);
}

}  // namespace

Reordering::~Reordering() { give_up(); }

void Reordering::give_up() {
  if (parent_ != MPI_COMM_NULL) PMPI_Comm_free(&parent_);
  rank_of_node_.clear();
}

bool Reordering::is_known() {
  // Two ranks have one message each way, whoever they are.
  if (group_.n_ranks() > 2) view_ = group_.find_view();
  return view_ && view_->n_subnets() > 0;
}

void Reordering::find(const std::function<map::Graph()>& graph_on_rank_0) noexcept {
  try {
    if (is_known()) find_order(graph_on_rank_0);
  } catch (const std::exception&) {
    // On all ranks alike: they go to the library as they came.
  }
}

void Reordering::find(
    bool valid, const std::function<std::vector<int>()>& numbers,
    const std::function<map::Graph(const std::vector<std::vector<int>>& of_rank)>& graph_on_rank_0) noexcept {
  try {
    if (!is_known()) return;
    std::vector<std::vector<int>> of_rank;
    {
      const ErrorsReturn errors_return(group_.comm());
      transport::mpi::MpiNative native(group_.comm());
      runtime::Steps steps(native, group_.rank(), group_.n_ranks());
      std::vector<int> mine;
      steps.together("", [&] {
        if (!valid) throw InvalidArgument("the library is to say so");
        mine = numbers();
      });
      of_rank = gather(steps, group_.comm(), mine);
    }
    find_order([&] { return graph_on_rank_0(of_rank); });
  } catch (const runtime::StaysNative&) {
  } catch (const std::exception&) {
  }
}

void Reordering::find_order(const std::function<map::Graph()>& graph_on_rank_0) {
  try {
    const ErrorsReturn errors_return(group_.comm());
    transport::mpi::MpiNative native(group_.comm());
    runtime::Steps steps(native, group_.rank(), group_.n_ranks());
    std::string order;
    steps.together("", [&] {
      if (group_.rank() != 0) return;
      const map::Choice choice = map::choose_mapping(graph_on_rank_0(), *view_);
      if (choice.keeps_order()) return;
      const map::Mapping& mapping = choice.best().rank_of_node;
      order.assign(reinterpret_cast<const char*>(mapping.data()), mapping.size() * sizeof(int));
    });
    order = steps.agreement().share(std::move(order));
    if (order.empty()) return;
    steps.together("", [&] {
      rank_of_node_.resize(order.size() / sizeof(int));
      std::memcpy(rank_of_node_.data(), order.data(), order.size());
    });
  } catch (const runtime::StaysNative&) {
    return;
  }
  split();
}

void Reordering::split() {
  int code = MPI_SUCCESS;
  const std::vector<int> node_of_rank = map::inverse(rank_of_node_);
  {
    const ErrorsReturn errors_return(group_.comm());
    code = PMPI_Comm_split(group_.comm(), 0, node_of_rank[static_cast<std::size_t>(group_.rank())], &parent_);
  }
  // Without a context id on any rank the library gives none to any; MPICH leaves the handle alone then.
  if (code != MPI_SUCCESS) {
    parent_ = MPI_COMM_NULL;
    rank_of_node_.clear();
    return;
  }
  copy_error_handler(group_.comm(), parent_);
}

bool Reordering::hand_over(const std::vector<int>& mine, std::vector<int>& of_my_node) noexcept {
  constexpr int kTag = 0;  // nobody else sends anything on this communicator
  try {
    const ErrorsReturn errors_return(parent_);
    // Node n was described by rank n of the old order and is played by rank n of the new one.
    const int to = group_.rank();
    int my_node = 0;
    PMPI_Comm_rank(parent_, &my_node);
    const std::vector<int> node_of_rank = map::inverse(rank_of_node_);
    const int from = node_of_rank[static_cast<std::size_t>(my_node)];
    const int n_mine = static_cast<int>(mine.size());
    int n_new = 0;
    check(PMPI_Sendrecv(&n_mine, 1, MPI_INT, to, kTag, &n_new, 1, MPI_INT, from, kTag, parent_,
                        MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
    transport::mpi::MpiNative native(parent_);
    runtime::Steps steps(native, my_node, group_.n_ranks());
    steps.together("", [&] { of_my_node.resize(static_cast<std::size_t>(n_new)); });
    check(PMPI_Sendrecv(mine.data(), n_mine, MPI_INT, to, kTag, of_my_node.data(), n_new, MPI_INT, from, kTag,
                        parent_, MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
    return true;
  } catch (const runtime::StaysNative&) {
    return false;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace eco::preload
