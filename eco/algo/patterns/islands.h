// What a composition of levels takes for the inside: the subnets, or the hosts.
//
//   const Seen seen(view, params.islands);
//   seen.view().subnets[i].ranks             // the i-th island's
#pragma once

#include <optional>

#include "eco/algo/recipe.h"
#include "eco/net/group_view.h"

namespace eco::algo {

// Local. The view with its hosts in the place of subnets, in the same order of ranks.
net::GroupView by_hosts(const net::GroupView& view);

// True if there are several islands of this kind, one of them has several ranks, and hosts are not what subnets are.
bool has_islands(const net::GroupView& view, Islands islands);

class Seen {
 public:
  Seen(const net::GroupView& view, Islands islands) : given_(view) {
    if (islands == Islands::hosts) own_ = by_hosts(view);
  }
  Seen(const Seen&) = delete;
  Seen& operator=(const Seen&) = delete;
  const net::GroupView& view() const { return own_ ? *own_ : given_; }

 private:
  const net::GroupView& given_;
  std::optional<net::GroupView> own_;
};

}  // namespace eco::algo
