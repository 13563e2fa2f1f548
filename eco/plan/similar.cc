#include "eco/plan/similar.h"

#include <algorithm>

#include "eco/tune/points.h"

namespace eco::plan {

bool agrees(const std::optional<algo::Recipe>& serves, const Hints& hints) {
  return std::any_of(hints.begin(), hints.end(), [&](const std::optional<algo::Recipe>& hint) {
    if (!hint || !serves) return hint.has_value() == serves.has_value();
    return tune::form_name(*hint) == tune::form_name(*serves);
  });
}

Similar::Neighbors Similar::neighbors(const Cell& cell) const {
  Neighbors found;
  const std::size_t bytes = cell.problem.bytes;
  for (const Cell& other : cells_.all) {
    if (other.entry != cell.entry || !is_known(other)) continue;
    const std::size_t theirs = other.problem.bytes;
    if (theirs < bytes && (found.below == nullptr || theirs > found.below->problem.bytes))
      found.below = &other;
    if (theirs > bytes && (found.above == nullptr || theirs < found.above->problem.bytes))
      found.above = &other;
  }
  return found;
}

bool Similar::is_of_first_class(const Cell& cell) const {
  return !coll::is_rooted(cell.problem.collective) ||
         cells_.entries[cell.entry].root_subnet == cells_.first_class;
}

Hints Similar::hints(const Cell& cell) const {
  if (!options_.holds_out) return {};
  for (const Cell& other : cells_.all) {
    const bool is_twin = other.entry != cell.entry && other.problem.collective == cell.problem.collective &&
                         is_of_first_class(other) && other.problem.bytes == cell.problem.bytes;
    if (is_twin && is_known(other)) return {other.row.recipe};
  }
  const Neighbors next = neighbors(cell);
  if (!cell.held_out || !next.are_two()) return {};
  return {next.below->row.recipe, next.above->row.recipe};
}

bool Similar::is_left_out(const Cell& cell) const {
  if (!options_.holds_out || !cell.held_out || is_of_first_class(cell) || cell.row.is_measured())
    return false;
  const Neighbors next = neighbors(cell);
  return next.are_two() && next.below->row.recipe && next.above->row.recipe;
}

double Similar::native_least_s(const Cell& cell) const {
  double least_s = 0;
  for (const Cell& other : cells_.all) {
    const bool is_shorter = other.entry == cell.entry && other.problem.bytes < cell.problem.bytes;
    if (is_shorter && other.row.is_measured(options_.effort)) least_s = std::max(least_s, other.row.native_s);
  }
  return least_s;
}

}  // namespace eco::plan
