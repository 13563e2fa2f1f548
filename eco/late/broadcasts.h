// The broadcasts of this room, by name.
//
//   const Broadcasts broadcasts(Plan::mended, tree, {.segment_bytes = 8192}, patience_s);      // the same on all ranks
//   std::unique_ptr<ScheduleSource> source = broadcasts.source(rank, message);
//   if (auto b = broadcasts_of(Plan::mended, recipe, problem, view)) ...                       // of a recipe's tree
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "eco/algo/patterns/tree.h"
#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/late/flow.h"
#include "eco/net/group_view.h"

namespace eco::late {

enum class Plan : std::uint8_t { depth_first, depth_first_ahead, breadth_first, breadth_first_ahead, mended };
inline constexpr std::size_t kPlans = 5;
std::string_view name(Plan plan);
std::optional<Plan> plan_from_name(std::string_view name);

// What the plans are made of: `tree` over ranks, its root the message's. (By order of arrival its places are numbered
// anew.)
class Broadcasts {
 public:
  Broadcasts(Plan plan, const algo::Tree& tree, Pieces pieces, double patience_s = 0.001);
  // The message holds its bytes at the root already, and it and this outlive the source.
  std::unique_ptr<ScheduleSource> source(int rank, std::span<std::byte> message) const;

 private:
  Plan plan_;
  algo::Tree tree_;  // over ranks, or over places
  int root_;
  Pieces pieces_;
  double patience_s_;
};

// Of "broadcast/<pattern>": over its one tree, cut as it says; segments that the recipe sends another way (head, tail,
// owners) go down it too. Nothing of other algorithms.
std::optional<Broadcasts> broadcasts_of(Plan plan, const algo::Recipe& recipe,
                                        const coll::CommonProblem& problem, const net::GroupView& view);

// A rank that is less late than this is waited for: what nobody would call late, answers included.
double patience_s(const net::GroupView& view, std::size_t bytes);

}  // namespace eco::late
