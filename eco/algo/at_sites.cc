#include "eco/algo/at_sites.h"

#include <string_view>
#include <utility>

#include "eco/net/sites.h"

namespace eco::algo {
namespace {

// Whether it makes a difference to the algorithm what the subnets are.
bool is_of_subnets(std::string_view algorithm) {
  const std::string_view pattern = algorithm.substr(algorithm.find('/') + 1);
  return pattern == "subnets" || pattern == "leaders" || pattern == "lanes" || pattern == "levels";
}

}  // namespace

void see_sites(Algorithm& algorithm) {
  algorithm.build = [build = std::move(algorithm.build)](const auto& problem, const auto& view,
                                                         const Params& params, int rank) {
    const AtSites seen(view, params);
    return build(problem, seen.view(), params, rank);
  };
  if (!is_of_subnets(algorithm.name)) return;
  algorithm.candidates = [candidates = std::move(algorithm.candidates), objection = algorithm.objection](
                             const auto& problem, const auto& view) {
    std::vector<Params> all = candidates(problem, view);
    for (const std::vector<int>& sites : net::site_cuts(view)) {
      const net::GroupView joined = net::join_subnets(view, sites);
      if (objection && objection(problem, joined)) continue;
      for (Params& params : candidates(problem, joined)) {
        if (params.islands == Islands::hosts) continue;  // they are what they are without sites
        params.sites = sites;
        all.push_back(std::move(params));
      }
    }
    return all;
  };
}

}  // namespace eco::algo
