// What an algorithm takes for subnets where a recipe names sites (Params::sites): any algorithm of two levels becomes one of
// sites and what is in them.
//
//   const AtSites seen(view, params);
//   algorithm.build(problem, seen.view(), params, rank);
#pragma once

#include <optional>

#include "eco/algo/algorithm.h"
#include "eco/algo/recipe.h"
#include "eco/net/group_view.h"
#include "eco/net/sites.h"

namespace eco::algo {

class AtSites {
 public:
  AtSites(const net::GroupView& view, const Params& params) : given_(view) {
    if (!params.sites.empty()) joined_ = net::join_subnets(view, params.sites);
  }
  AtSites(const AtSites&) = delete;
  AtSites& operator=(const AtSites&) = delete;
  const net::GroupView& view() const { return joined_ ? *joined_ : given_; }

 private:
  const net::GroupView& given_;
  std::optional<net::GroupView> joined_;
};

// The algorithm builds over sites where it is asked to, and where its candidates are of subnets it offers them over every cut
// of the network's sites too.
void see_sites(Algorithm& algorithm);

}  // namespace eco::algo
