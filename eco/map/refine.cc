#include "eco/map/refine.h"

#include <algorithm>
#include <utility>

namespace eco::map {
namespace {

class Refinement {
 public:
  Refinement(const Exchange& exchange, const Mapping& mapping, std::size_t most_work)
      : exchange_(exchange), loads_(exchange, mapping), work_left_(most_work), cost_(loads_.cost()) {}

  Mapping run() {
    // First those that the step waits for, until none of them finds a better place; then all, which lowers the load of
    // other resources and may open another way.
    while (improve(loads_.busiest_nodes()) || improve(identity(exchange_.graph().n_nodes))) {
    }
    return settled(loads_.mapping(), exchange_.view());
  }

 private:
  int host(int node) const {
    const int rank = loads_.mapping()[static_cast<std::size_t>(node)];
    return exchange_.view().host_of(rank);
  }

  // Each of these nodes with every other place, ranks without a node included.
  bool improve(const std::vector<int>& nodes) {
    bool improved = false;
    for (const int node : nodes) {
      for (int other = 0; other < exchange_.view().n_ranks(); ++other) {
        if (host(node) == host(other)) continue;
        const std::size_t work = loads_.work(node, other);
        if (work > work_left_) return false;
        work_left_ -= work;
        improved = try_swap(node, other) || improved;
      }
    }
    return improved;
  }

  bool try_swap(int node, int other) {
    loads_.swap(node, other);
    const Cost cost = loads_.cost();
    if (cost < cost_) {
      cost_ = cost;
      return true;
    }
    loads_.swap(node, other);
    return false;
  }

  const Exchange& exchange_;
  Loads loads_;
  std::size_t work_left_;
  Cost cost_;
};

}  // namespace

Mapping refine(const Exchange& exchange, const Mapping& mapping, std::size_t most_work) {
  return Refinement(exchange, mapping, most_work).run();
}

}  // namespace eco::map
