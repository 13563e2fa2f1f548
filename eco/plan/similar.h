// What the problems of a plan tell of each other: a held-out size is served like those next to it, and another root class
// like rank 0's, if that holds there too.
//
//   const Similar similar(cells, {.effort = Effort::exhaustive, .holds_out = true});
//   for (const auto& hint : similar.hints(cell)) ...        // recipes, or native, to hold against what is predicted best
//
// Local and pure; the cells are the planner's and change under it.
#pragma once

#include <optional>
#include <vector>

#include "eco/algo/recipe.h"
#include "eco/plan/cells.h"
#include "eco/plan/effort.h"

namespace eco::plan {

// What serves similar problems, each a recipe or native.
using Hints = std::vector<std::optional<algo::Recipe>>;

// Whether what serves a problem is of the kind that serves the similar ones.
bool agrees(const std::optional<algo::Recipe>& serves, const Hints& hints);

struct SimilarOptions {
  Effort effort = Effort::job;  // of what counts as measured
  bool holds_out = false;       // else nothing is told of a problem by others
};

class Similar {
 public:
  Similar(const Cells& cells, SimilarOptions options) : cells_(cells), options_(options) {}

  // Held-out sizes: what serves next to them. Other root classes: what serves there for rank 0's.
  Hints hints(const Cell& cell) const;
  // Other root classes have fewer sizes: where recipes have won below and above a held-out one, the better of these serves
  // it (rows.h), as for rank 0's class it was found to do.
  bool is_left_out(const Cell& cell) const;
  // What the library's own was measured to take for fewer bytes; 0 where it was not.
  double native_least_s(const Cell& cell) const;

 private:
  // Of the same collective and root class, measured by now: the next smaller and the next larger one.
  struct Neighbors {
    const Cell* below = nullptr;
    const Cell* above = nullptr;
    bool are_two() const { return below != nullptr && above != nullptr; }
  };
  bool is_known(const Cell& cell) const { return cell.settled && cell.row.is_measured(options_.effort); }
  bool is_of_first_class(const Cell& cell) const;
  Neighbors neighbors(const Cell& cell) const;

  const Cells& cells_;
  SimilarOptions options_;
};

}  // namespace eco::plan
