#include "eco/algo/patterns/leaders.h"

#include <algorithm>

namespace eco::algo {

Leaders::Leaders(const net::GroupView& view, const Params& params, int rank)
    : subnet(static_cast<std::size_t>(view.subnet_of_rank[static_cast<std::size_t>(rank)])) {
  for (std::size_t s = 0; s < view.subnets.size(); ++s) {
    const auto& ranks = view.subnets[s].ranks;
    const Tree tree = shape_tree(params.inside, ranks, view.n_ranks(), params.degree);
    first_.push_back(packed.size());
    const Stream all = stream_of(tree, ranks.front(), Own::first);
    packed.insert(packed.end(), all.ranks.begin(), all.ranks.end());
    if (s != subnet) {
      others.push_back(ranks.front());
      continue;
    }
    inside = place_in(tree, rank);
    stream = stream_of(tree, rank, Own::first);
  }
  first_.push_back(packed.size());
  position = static_cast<std::size_t>(std::find(packed.begin(), packed.end(), rank) - packed.begin());
}

}  // namespace eco::algo
