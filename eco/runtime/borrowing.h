// A plan of another library, version or network, for a group that has none: where its recipes can be proved they are candidates
// too, and measured here before they serve.
//
//   if (const auto borrowed = borrow_plan(store.newest_plans(), key)) how.borrowed = &borrowed->table;
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eco/net/store.h"
#include "eco/plan/plan_table.h"

namespace eco::runtime {

struct Borrowed {
  plan::PlanTable table;
  std::string from;  // "the plan of MPICH 5.0.2", "the plan of network 0123456789abcdef"
};

// Local. Of ranks that are placed on hosts in the same way: the first of the same network, else the first of any. Files that
// can't be used lend nothing.
std::optional<Borrowed> borrow_plan(const std::vector<net::FoundText>& files, const net::PlanKey& key);

}  // namespace eco::runtime
