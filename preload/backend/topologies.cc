// MPI_Cart_create, MPI_Graph_create, MPI_Dist_graph_create and MPI_Dist_graph_create_adjacent: where the program leaves the
// order of the ranks to the library (reorder), ECO chooses it by the network; the topology itself is always the library's,
// on a communicator of the ranks in that order.
//
// What is wrong in the arguments, and all that ECO does not reorder, is the library's call as the program made it.
#include <cstdint>

#include "preload/backend/call.h"
#include "preload/backend/reordering.h"

namespace eco::preload {
namespace {

bool is_node(int node, int n_nodes) { return node >= 0 && node < n_nodes; }

bool is_grid(int n_dims, const int* dims, const int* periodic, int n_ranks) {
  if (n_dims < 1 || dims == nullptr || periodic == nullptr) return false;
  long long n_nodes = 1;
  for (int d = 0; d < n_dims; ++d) {
    if (dims[d] < 1) return false;
    n_nodes *= dims[d];
    if (n_nodes > n_ranks) return false;
  }
  return true;
}

bool is_graph(int n_nodes, const int* index, const int* edges, int n_ranks) {
  if (n_nodes < 1 || n_nodes > n_ranks || index == nullptr) return false;
  int before = 0;
  for (int node = 0; node < n_nodes; ++node) {
    if (index[node] < before) return false;
    before = index[node];
  }
  if (before > 0 && edges == nullptr) return false;
  for (int e = 0; e < before; ++e) {
    if (!is_node(edges[e], n_nodes)) return false;
  }
  return true;
}

// A list of nodes with their weights, as a distributed graph has them. Weights may be MPI_UNWEIGHTED and, of none,
// anything.
bool are_arcs(int n, const int* nodes, const int* weights, int n_ranks) {
  if (n < 0 || (n > 0 && (nodes == nullptr || weights == nullptr || weights == MPI_WEIGHTS_EMPTY)))
    return false;
  for (int i = 0; i < n; ++i) {
    if (!is_node(nodes[i], n_ranks) || (weights != MPI_UNWEIGHTED && weights[i] < 0)) return false;
  }
  return true;
}

double weight_of(const int* weights, int i) { return weights == MPI_UNWEIGHTED ? 1 : weights[i]; }

// The call's name as ranks compare it: the flag must be the same on all.
struct Name {
  const char* plain;
  const char* reordering;
};

// The program's call: `native` takes the communicator and the flag. `describe` sets about a reordering.
template <class Native, class Describe>
int create(const Name& name, MPI_Comm comm, int reorder, MPI_Comm* made, const Native& native,
           const Describe& describe) {
  Session& session = Session::instance();
  const bool may_reorder = reorder != 0 && !session.options().is_disabled(runtime::kTopology);
  if (!session.running() || !(may_reorder || session.checks().is_open())) return native(comm, reorder);
  const Session::Found found = session.group(comm);
  if (found.refused) return found.code;
  if (found.group == nullptr || found.group->is_inter()) return native(comm, reorder);
  const char* const called = reorder != 0 ? name.reordering : name.plain;
  if (const std::optional<int> code = disagreement(session, found.group, called)) return *code;
  if (!may_reorder) return native(comm, reorder);
  Reordering reordering(*found.group);
  describe(reordering, Member{.rank = found.group->rank(), .n_ranks = found.group->n_ranks()});
  if (found.group->poisoned()) return refuse(comm);  // on the way here, or before
  const bool reorders = reordering.parent() != MPI_COMM_NULL;
  session.counters().topology(reorders);
  if (!reorders) return native(comm, reorder);
  const int code = native(reordering.parent(), 0);
  // The program's handler knows its own communicator, not the one in the new order.
  if (code != MPI_SUCCESS)
    PMPI_Comm_call_errhandler(comm, code);
  else if (*made != MPI_COMM_NULL)
    ErrorsReturn(comm).give_handler_to(*made);
  return code;
}

int cart_create(MPI_Comm comm, int n_dims, const int* dims, const int* periodic, int reorder,
                MPI_Comm* made) {
  return create(
      {"MPI_Cart_create", "MPI_Cart_create with reorder"}, comm, reorder, made,
      [&](MPI_Comm parent, int reorders) {
        return PMPI_Cart_create(parent, n_dims, dims, periodic, reorders, made);
      },
      [&](Reordering& reordering, const Member& me) {
        if (!is_grid(n_dims, dims, periodic, me.n_ranks)) return;
        reordering.find([&] {
          const auto n = static_cast<std::size_t>(n_dims);
          std::vector<bool> closed(n);
          for (std::size_t d = 0; d < n; ++d) closed[d] = periodic[d] != 0;
          return map::grid({dims, dims + n}, closed);
        });
      });
}

int graph_create(MPI_Comm comm, int n_nodes, const int* index, const int* edges, int reorder,
                 MPI_Comm* made) {
  return create(
      {"MPI_Graph_create", "MPI_Graph_create with reorder"}, comm, reorder, made,
      [&](MPI_Comm parent, int reorders) {
        return PMPI_Graph_create(parent, n_nodes, index, edges, reorders, made);
      },
      [&](Reordering& reordering, const Member& me) {
        if (!is_graph(n_nodes, index, edges, me.n_ranks)) return;
        reordering.find([&] {
          std::vector<map::Message> messages;
          for (int node = 0, e = 0; node < n_nodes; ++node) {
            for (; e < index[node]; ++e) messages.push_back({node, edges[e]});
          }
          return map::graph(n_nodes, std::move(messages));
        });
      });
}

// Messages as rank 0 gathers them: from, to, weight.
constexpr std::size_t kNumbersPerMessage = 3;

map::Graph graph_of(int n_ranks, const std::vector<std::vector<int>>& of_rank) {
  std::vector<map::Message> messages;
  for (const std::vector<int>& numbers : of_rank) {
    for (std::size_t i = 0; i + kNumbersPerMessage <= numbers.size(); i += kNumbersPerMessage) {
      messages.push_back({numbers[i], numbers[i + 1], static_cast<double>(numbers[i + 2])});
    }
  }
  return map::graph(n_ranks, std::move(messages));
}

int dist_graph_create(MPI_Comm comm, int n, const int* sources, const int* degrees, const int* destinations,
                      const int* weights, MPI_Info info, int reorder, MPI_Comm* made) {
  return create(
      {"MPI_Dist_graph_create", "MPI_Dist_graph_create with reorder"}, comm, reorder, made,
      [&](MPI_Comm parent, int reorders) {
        return PMPI_Dist_graph_create(parent, n, sources, degrees, destinations, weights, info, reorders,
                                      made);
      },
      [&](Reordering& reordering, const Member& me) {
        bool valid = n >= 0 && (n == 0 || (sources != nullptr && degrees != nullptr));
        long long total = 0;
        for (int i = 0; valid && i < n; ++i) {
          valid = is_node(sources[i], me.n_ranks) && degrees[i] >= 0;
          total += degrees[i];
        }
        valid = valid && total <= INT32_MAX &&
                are_arcs(static_cast<int>(total), destinations, weights, me.n_ranks);
        const auto numbers = [&] {
          std::vector<int> numbers;
          for (int i = 0, at = 0; i < n; ++i) {
            for (const int end = at + degrees[i]; at < end; ++at) {
              const int weight = static_cast<int>(weight_of(weights, at));
              numbers.insert(numbers.end(), {sources[i], destinations[at], weight});
            }
          }
          return numbers;
        };
        reordering.find(valid, numbers, [&](const auto& of_rank) { return graph_of(me.n_ranks, of_rank); });
      });
}

// One side of a node's neighbourhood, and how it travels: degree, whether it has weights, nodes, weights.
struct Side {
  int n = 0;
  const int* nodes = nullptr;
  const int* weights = nullptr;

  void append_to(std::vector<int>& numbers) const {
    const bool weighted = weights != MPI_UNWEIGHTED;
    numbers.insert(numbers.end(), {n, weighted ? 1 : 0});
    if (n > 0) numbers.insert(numbers.end(), nodes, nodes + n);
    if (n > 0 && weighted) numbers.insert(numbers.end(), weights, weights + n);
  }
  // Points into the numbers.
  static Side read(const std::vector<int>& numbers, std::size_t& at) {
    Side side;
    side.n = numbers[at++];
    const bool weighted = numbers[at++] != 0;
    const auto n = static_cast<std::size_t>(side.n);
    side.nodes = numbers.data() + at;
    at += n;
    side.weights = !weighted ? MPI_UNWEIGHTED : n == 0 ? MPI_WEIGHTS_EMPTY : numbers.data() + at;
    if (weighted) at += n;
    return side;
  }
};

int dist_graph_create_adjacent(MPI_Comm comm, Side in, Side out, MPI_Info info, int reorder, MPI_Comm* made) {
  std::vector<int> of_my_node;
  const auto native = [&](MPI_Comm parent, int reorders) {
    return PMPI_Dist_graph_create_adjacent(parent, in.n, in.nodes, in.weights, out.n, out.nodes, out.weights,
                                           info, reorders, made);
  };
  return create({"MPI_Dist_graph_create_adjacent", "MPI_Dist_graph_create_adjacent with reorder"}, comm,
                reorder, made, native, [&](Reordering& reordering, const Member& me) {
                  const bool valid = are_arcs(in.n, in.nodes, in.weights, me.n_ranks) &&
                                     are_arcs(out.n, out.nodes, out.weights, me.n_ranks);
                  std::vector<int> mine;
                  const auto numbers = [&] {
                    in.append_to(mine);
                    out.append_to(mine);
                    std::vector<int> numbers;
                    for (int i = 0; i < out.n; ++i) {
                      numbers.insert(numbers.end(),
                                     {me.rank, out.nodes[i], static_cast<int>(weight_of(out.weights, i))});
                    }
                    return numbers;
                  };
                  reordering.find(valid, numbers,
                                  [&](const auto& of_rank) { return graph_of(me.n_ranks, of_rank); });
                  // This rank's arguments are those of the node with its old number, and another rank plays it now.
                  if (reordering.parent() == MPI_COMM_NULL) return;
                  if (!reordering.hand_over(mine, of_my_node)) return reordering.give_up();
                  std::size_t at = 0;
                  in = Side::read(of_my_node, at);
                  out = Side::read(of_my_node, at);
                });
}

}  // namespace
}  // namespace eco::preload

ECO_ENTRY int eco_wrap_MPI_Cart_create(MPI_Comm comm, int n_dims, const int* dims, const int* periodic,
                                       int reorder, MPI_Comm* made) noexcept {
  return eco::preload::cart_create(comm, n_dims, dims, periodic, reorder, made);
}

ECO_ENTRY int eco_wrap_MPI_Graph_create(MPI_Comm comm, int n_nodes, const int* index, const int* edges,
                                        int reorder, MPI_Comm* made) noexcept {
  return eco::preload::graph_create(comm, n_nodes, index, edges, reorder, made);
}

ECO_ENTRY int eco_wrap_MPI_Dist_graph_create(MPI_Comm comm, int n, const int* sources, const int* degrees,
                                             const int* destinations, const int* weights, MPI_Info info,
                                             int reorder, MPI_Comm* made) noexcept {
  return eco::preload::dist_graph_create(comm, n, sources, degrees, destinations, weights, info, reorder,
                                         made);
}

ECO_ENTRY int eco_wrap_MPI_Dist_graph_create_adjacent(MPI_Comm comm, int n_in, const int* sources,
                                                      const int* source_weights, int n_out,
                                                      const int* destinations, const int* destination_weights,
                                                      MPI_Info info, int reorder, MPI_Comm* made) noexcept {
  return eco::preload::dist_graph_create_adjacent(
      comm, {n_in, sources, source_weights}, {n_out, destinations, destination_weights}, info, reorder, made);
}
