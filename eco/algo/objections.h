// What rows of the registry have in common: their names, and what several of them object to.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "eco/algo/patterns/tree.h"
#include "eco/coll/problem.h"
#include "eco/net/group_view.h"

namespace eco::algo {

using Objection = std::optional<std::string>;

// Short messages only: algorithms that bring more bytes to some rank than the problem has.
inline constexpr std::size_t kMostConcentratedBytes = std::size_t{256} << 10;

inline std::string title(coll::Collective collective, std::string_view pattern) {
  return std::string(coll::name(collective)) + "/" + std::string(pattern);
}

inline Objection needs_commutative(const coll::CommonProblem& problem, const net::GroupView&) {
  if (problem.commutative) return std::nullopt;
  return "needs a commutative operation";
}

inline Objection needs_subnets(const net::GroupView& view) {
  if (view.n_subnets() > 1) return std::nullopt;
  return "one subnet needs no leaders";
}

// Rank order holds along subnets only if these are runs of ranks.
inline Objection needs_runs(const coll::CommonProblem& problem, const net::GroupView& view) {
  if (problem.commutative || subnets_are_runs(view)) return std::nullopt;
  return "the operation does not commute and the subnets are no runs of ranks";
}

inline Objection is_short(std::size_t bytes) {
  if (bytes <= kMostConcentratedBytes) return std::nullopt;
  return "brings " + std::to_string(bytes) + " bytes to one rank, more than " +
         std::to_string(kMostConcentratedBytes);
}

}  // namespace eco::algo
