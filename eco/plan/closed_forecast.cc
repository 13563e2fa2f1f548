#include "eco/plan/closed_forecast.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace eco::plan {
namespace {

struct HostPair {
  int from;
  int to;
};

// One pair of hosts for each class that the group has.
std::vector<HostPair> classes(const net::GroupView& view) {
  std::vector<HostPair> pairs;
  std::vector<int> first_hosts;
  for (const net::SubnetView& subnet : view.subnets) {
    const auto host = [&](int rank) { return view.host_of_rank[static_cast<std::size_t>(rank)]; };
    const int first = host(subnet.ranks.front());
    bool shares_host = false;
    int second = first;
    for (std::size_t i = 1; i < subnet.ranks.size(); ++i) {
      const int here = host(subnet.ranks[i]);
      shares_host |= here == host(subnet.ranks[i - 1]);
      if (second == first) second = here;
    }
    if (shares_host) pairs.push_back({first, first});
    if (second != first) pairs.push_back({first, second});
    for (const int other : first_hosts) {
      pairs.push_back({other, first});
      pairs.push_back({first, other});
    }
    first_hosts.push_back(first);
  }
  return pairs;
}

}  // namespace

std::optional<ClosedForecast> closed_forecast(const algo::Recipe& recipe, const coll::CommonProblem& problem,
                                              const net::GroupView& view) {
  model::Call call = model::call_of(problem, recipe.params.segment_bytes);
  ClosedForecast closed;
  const std::size_t message = model::n_segments(call) > 1 ? call.segment_bytes : call.bytes;
  const auto alone_s = [&](const net::ClassPLogP& pairs) {
    return pairs.parameters.gap(message) + pairs.parameters.latency_s;
  };
  for (const HostPair& pair : classes(view)) {
    const net::ClassPLogP* measured = view.network->plogp_between(pair.from, pair.to);
    if (measured == nullptr) return std::nullopt;
    if (closed.pairs == nullptr || alone_s(*measured) > alone_s(*closed.pairs)) closed.pairs = measured;
  }
  if (closed.pairs == nullptr) return std::nullopt;  // one rank

  closed.form = model::form_of(recipe.algorithm, call, closed.pairs->eager_limit);
  if (closed.form == nullptr) return std::nullopt;
  const bool is_binary = recipe.params.degree == 2;
  if (recipe.algorithm.ends_with("/kary") && !is_binary) return std::nullopt;
  if (problem.collective == coll::Collective::alltoall) {
    if (!closed.pairs->gamma) return std::nullopt;
    call.gamma = *closed.pairs->gamma;
  }
  if (coll::is_reduction(problem.collective)) call.combine_bytes_per_s = view.network->combine_bytes_per_s;
  closed.seconds = model::seconds(*closed.form, closed.pairs->parameters, call);
  return closed;
}

}  // namespace eco::plan
