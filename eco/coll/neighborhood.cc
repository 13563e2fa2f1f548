#include "eco/coll/neighborhood.h"

#include <algorithm>
#include <map>
#include <utility>

#include "eco/base/json_file.h"

namespace eco::coll {
namespace {

std::vector<int> each_once(std::vector<int> ranks, int but) {
  std::erase_if(ranks, [&](int rank) { return rank == but || rank == Neighborhood::kNobody; });
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

bool are_ranks(const std::vector<std::vector<int>>& lists, int n_ranks) {
  return std::all_of(lists.begin(), lists.end(), [&](const std::vector<int>& list) {
    return std::all_of(list.begin(), list.end(),
                       [&](int rank) { return rank >= Neighborhood::kNobody && rank < n_ranks; });
  });
}

}  // namespace

std::vector<int> Neighborhood::others_told_by(int rank) const { return each_once(targets_of(rank), rank); }

std::vector<int> Neighborhood::others_heard_by(int rank) const {
  std::vector<int> ranks;
  for (const Incoming& from : sources_of(rank)) ranks.push_back(from.rank);
  return each_once(std::move(ranks), rank);
}

bool Neighborhood::is_alone(int rank) const {
  return others_told_by(rank).empty() && others_heard_by(rank).empty();
}

bool Neighborhood::tells_somebody(int rank) const {
  const std::vector<int>& list = targets_of(rank);
  return std::any_of(list.begin(), list.end(), [](int target) { return target != kNobody; });
}

std::size_t Neighborhood::largest_degree() const {
  std::size_t most = 0;
  for (const auto& list : sources) most = std::max(most, list.size());
  for (const auto& list : targets) most = std::max(most, list.size());
  return most;
}

std::string Neighborhood::digest() const {
  std::string text;
  for (std::size_t rank = 0; rank < sources.size(); ++rank) {
    for (const Incoming& from : sources[rank])
      text += std::to_string(from.rank) + "." + std::to_string(from.slot) + " ";
    text += "<";
    for (const int target : targets[rank]) text += std::to_string(target) + " ";
    text += ">";
  }
  return base::digest(text);
}

std::shared_ptr<const Neighborhood> paired(const std::vector<std::vector<int>>& sources,
                                           std::vector<std::vector<int>> targets, Pairing pairing) {
  const int n_ranks = static_cast<int>(sources.size());
  if (targets.size() != sources.size() || !are_ranks(sources, n_ranks) || !are_ranks(targets, n_ranks))
    return nullptr;
  // Of each edge the places at its source, first to last.
  std::map<std::pair<int, int>, std::vector<int>> slots;
  for (int rank = 0; rank < n_ranks; ++rank) {
    const std::vector<int>& list = targets[static_cast<std::size_t>(rank)];
    for (std::size_t slot = 0; slot < list.size(); ++slot) {
      if (list[slot] != Neighborhood::kNobody) slots[{rank, list[slot]}].push_back(static_cast<int>(slot));
    }
  }
  auto graph = std::make_shared<Neighborhood>();
  graph->sources.resize(sources.size());
  for (int rank = 0; rank < n_ranks; ++rank) {
    for (std::size_t place = 0; place < sources[static_cast<std::size_t>(rank)].size(); ++place) {
      const int from = sources[static_cast<std::size_t>(rank)][place];
      Neighborhood::Incoming incoming{from, 0};
      if (from != Neighborhood::kNobody) {
        const auto left = slots.find({from, rank});
        if (left == slots.end()) return nullptr;
        std::vector<int>& of_edge = left->second;
        const auto taken = pairing == Pairing::in_order
                               ? of_edge.begin()
                               : std::find(of_edge.begin(), of_edge.end(), static_cast<int>(place ^ 1U));
        if (taken == of_edge.end()) return nullptr;
        incoming.slot = *taken;
        of_edge.erase(taken);
        if (of_edge.empty()) slots.erase(left);
      }
      graph->sources[static_cast<std::size_t>(rank)].push_back(incoming);
    }
  }
  if (!slots.empty()) return nullptr;
  graph->targets = std::move(targets);
  return graph;
}

}  // namespace eco::coll
