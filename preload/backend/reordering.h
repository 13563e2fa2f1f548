// The order of a communicator's ranks in which a program's topology fits the network (eco/map), and the communicator that
// has it.
//
//   Reordering reordering(group);
//   reordering.find([&] { return map::grid(dims, periodic); });        // the graph is asked for on rank 0 alone
//   if (reordering.parent() != MPI_COMM_NULL) code = PMPI_Cart_create(reordering.parent(), ..., 0, ...);
//
// Everything is collective and decided alike: rank 0 maps, the others learn its integers. No exception leaves it; whatever
// goes wrong, or is not known, leaves the ranks as they are.
#pragma once

#include <mpi.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eco/map/graph.h"
#include "eco/net/group_view.h"
#include "preload/backend/group.h"
#include "preload/backend/library_agreement.h"

namespace eco::preload {

class Reordering {
 public:
  explicit Reordering(Group& group) : group_(group) {}
  ~Reordering();
  Reordering(const Reordering&) = delete;
  Reordering& operator=(const Reordering&) = delete;

  // The graph's nodes are the topology's, at most as many as the group has ranks.
  void find(const std::function<map::Graph()>& graph_on_rank_0) noexcept;
  // The same where each rank knows a part: its numbers are gathered on rank 0, rank by rank. `valid`: this rank's
  // arguments are; where some rank's are not, the library shall say so.
  void find(bool valid, const std::function<std::vector<int>()>& numbers,
            const std::function<map::Graph(const std::vector<std::vector<int>>& of_rank)>&
                graph_on_rank_0) noexcept;

  // The program's communicator in the new order, its errors returned: rank n is to play node n. MPI_COMM_NULL: the order
  // stays. Of this object, until it goes.
  MPI_Comm parent() const { return parent_; }
  // What this rank is to say of its new node, told by the rank that had the node's number: each says of itself what the
  // other is to say. False: some rank has no memory for it; the same on all.
  [[nodiscard]] bool hand_over(const std::vector<int>& mine, std::vector<int>& of_my_node) noexcept;

  // Local: the order stays after all. On all ranks or none.
  void give_up();

 private:
  using Graph = std::function<map::Graph()>;
  void find_order(LibraryAgreement& agreement, const Graph& graph_on_rank_0);
  bool is_known(runtime::SaidBeside& beside);
  // Local. Rank 0: the order's numbers, nothing of an order that stays; and what the others make of them.
  static std::string order_text(const Graph& graph_on_rank_0, const net::GroupView& view);
  void take_order(const std::string& text);
  void split();

  Group& group_;
  std::optional<net::GroupView> view_;
  std::vector<int> node_of_rank_;  // empty: they stay
  MPI_Comm parent_ = MPI_COMM_NULL;
};

}  // namespace eco::preload
