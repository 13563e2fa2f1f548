#include "eco/map/map.h"

#include <iterator>
#include <optional>
#include <utility>

#include "eco/map/exchange.h"
#include "eco/map/refine.h"
#include "eco/map/strategies.h"

namespace eco::map {
namespace {

// Of the identity's predicted time. Two measurements of one rate differ by about five percent (eco/net/network.cc), so
// less may be nothing.
constexpr double kWorthReordering = 0.95;

Candidate candidate(std::string strategy, Mapping mapping, const Exchange& exchange) {
  std::vector<double> seconds = exchange.seconds(mapping);
  return {std::move(strategy), std::move(mapping), std::move(seconds)};
}

std::optional<Mapping> best_of(const std::vector<Mapping>& proposals, const Exchange& exchange) {
  std::optional<Mapping> best;
  Cost least;
  for (const Mapping& mapping : proposals) {
    const Cost cost = exchange.cost(mapping);
    if (best && !(cost < least)) continue;
    best = mapping;
    least = cost;
  }
  return best;
}

bool is_never_slower(const Candidate& one, const Candidate& other) {
  for (std::size_t s = 0; s < one.seconds.size(); ++s) {
    if (one.seconds[s] > other.seconds[s]) return false;
  }
  return true;
}

}  // namespace

Choice choose_mapping(const Graph& graph, const net::GroupView& view, const MapOptions& options) {
  const Exchange exchange(graph, view, options.sizes);
  Choice choice{.sizes = options.sizes, .candidates = {}, .chosen = 0};
  const Mapping unordered = identity(view.n_ranks());
  choice.candidates.push_back(candidate("identity", unordered, exchange));
  const std::size_t work = options.most_work / (std::size(kStrategies) + 1);
  const auto consider = [&](const std::string& name, const Mapping& mapping) {
    choice.candidates.push_back(candidate(name, mapping, exchange));
    Mapping refined = refine(exchange, mapping, work);
    if (exchange.cost(refined) < exchange.cost(mapping)) {
      choice.candidates.push_back(candidate(name + ", refined", std::move(refined), exchange));
    }
  };
  for (const Strategy& strategy : kStrategies) {
    if (const auto best = best_of(strategy.propose(graph, view), exchange)) {
      consider(std::string(strategy.name), *best);
    }
  }
  Mapping refined = refine(exchange, unordered, work);
  choice.candidates.push_back(candidate("identity, refined", std::move(refined), exchange));
  for (std::size_t i = 1; i < choice.candidates.size(); ++i) {
    const Candidate& each = choice.candidates[i];
    if (!is_never_slower(each, choice.unordered())) continue;
    const Cost cost = exchange.cost(each.rank_of_node);
    // The identity's time is 1.
    if (choice.chosen == 0 ? cost.time < kWorthReordering
                           : cost < exchange.cost(choice.best().rank_of_node)) {
      choice.chosen = i;
    }
  }
  return choice;
}

}  // namespace eco::map
