#include "preload/backend/reordering.h"

#include <cstring>
#include <exception>
#include <numeric>
#include <string>

#include "eco/base/errors.h"
#include "eco/map/map.h"
#include "eco/runtime/finding.h"

namespace eco::preload {
namespace {

// Numbers of a graph that rank 0 gathers: some 350,000 messages, as of an all-to-all of 590 ranks, which take a second to map.
constexpr long long kMostNumbers = 1LL << 20;

void check(int code, const char* what) {
  if (code != MPI_SUCCESS) throw TransportError(std::string("the MPI library failed in ") + what);
}

// Collective. By rank, on rank 0.
std::vector<std::vector<int>> gather_lists(runtime::Steps& steps, MPI_Comm comm,
                                           const std::vector<int>& mine) {
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

}  // namespace

Reordering::~Reordering() { give_up(); }

void Reordering::give_up() {
  if (parent_ != MPI_COMM_NULL) PMPI_Comm_free(&parent_);
}

bool Reordering::is_known(runtime::SaidBeside& beside) {
  // Two ranks have one message each way, whoever they are.
  if (group_.n_ranks() > 2) view_ = group_.find_view(beside);
  return view_ && view_->n_subnets() > 0;
}

// What is thrown is thrown on all ranks alike: they go to the library as they came.
void Reordering::find(const Graph& graph_on_rank_0) noexcept {
  // An order that stays has no numbers, but it is one.
  static constexpr char kOrder = ':';
  try {
    runtime::SaidBeside beside{
        .on_rank_0 =
            [&](const runtime::FoundView& seen) { return kOrder + order_text(graph_on_rank_0, seen.view); },
        .take = [this](const std::string& text) { take_order(text.substr(1)); }};
    if (!is_known(beside)) return;
    if (beside.holds) return split();
    LibraryAgreement agreement(group_.comm(), group_.rank(), group_.n_ranks());
    find_order(agreement, graph_on_rank_0);
  } catch (const runtime::StaysNative&) {
  } catch (const std::exception&) {
  }
}

void Reordering::find(
    bool valid, const std::function<std::vector<int>()>& numbers,
    const std::function<map::Graph(const std::vector<std::vector<int>>& of_rank)>& graph_on_rank_0) noexcept {
  try {
    // The graph is gathered for a network that is known.
    runtime::SaidBeside nothing;
    if (!is_known(nothing)) return;
    LibraryAgreement agreement(group_.comm(), group_.rank(), group_.n_ranks());
    std::vector<int> mine;
    agreement.steps.together("", [&] {
      if (!valid) throw InvalidArgument("the library is to say so");
      mine = numbers();
    });
    const std::vector<std::vector<int>> of_rank = gather_lists(agreement.steps, group_.comm(), mine);
    find_order(agreement, [&] { return graph_on_rank_0(of_rank); });
  } catch (const runtime::StaysNative&) {
  } catch (const std::exception&) {
  }
}

std::string Reordering::order_text(const Graph& graph_on_rank_0, const net::GroupView& view) {
  const map::Choice choice = map::choose_mapping(graph_on_rank_0(), view);
  if (choice.keeps_order()) return {};
  const map::Mapping& mapping = choice.best().rank_of_node;
  return {reinterpret_cast<const char*>(mapping.data()), mapping.size() * sizeof(int)};
}

void Reordering::take_order(const std::string& text) {
  map::Mapping rank_of_node(text.size() / sizeof(int));
  std::memcpy(rank_of_node.data(), text.data(), text.size());
  node_of_rank_ = map::inverse(rank_of_node);
}

void Reordering::find_order(LibraryAgreement& agreement, const Graph& graph_on_rank_0) {
  agreement.steps.look(
      "", [&] { return std::pair(runtime::Found::text, order_text(graph_on_rank_0, *view_)); },
      [this](runtime::Found, const std::string& text) { take_order(text); });
  split();
}

void Reordering::split() {
  if (node_of_rank_.empty()) return;
  const int my_node = node_of_rank_[static_cast<std::size_t>(group_.rank())];
  // Without a context id on any rank the library gives none to any; MPICH leaves the handle alone then.
  if (PMPI_Comm_split(group_.comm(), 0, my_node, &parent_) != MPI_SUCCESS) parent_ = MPI_COMM_NULL;
}

bool Reordering::hand_over(const std::vector<int>& mine, std::vector<int>& of_my_node) noexcept {
  constexpr int kTag = 0;  // nobody else sends anything on this communicator
  try {
    // Node n was described by rank n of the old order and is played by rank n of the new one.
    const int to = group_.rank();
    const int my_node = node_of_rank_[static_cast<std::size_t>(to)];
    const int from = node_of_rank_[static_cast<std::size_t>(my_node)];
    LibraryAgreement agreement(parent_, my_node, group_.n_ranks());
    const int n_mine = static_cast<int>(mine.size());
    int n_new = 0;
    check(PMPI_Sendrecv(&n_mine, 1, MPI_INT, to, kTag, &n_new, 1, MPI_INT, from, kTag, parent_,
                        MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
    agreement.steps.together("", [&] { of_my_node.resize(static_cast<std::size_t>(n_new)); });
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
