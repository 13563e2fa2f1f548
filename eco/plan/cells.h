// The problems that a plan will speak about, and what is known of each before anything is measured.
//
//   Cells cells = cells_of(view, {Collective::broadcast}, options);
//   for (Cell& cell : cells.all) if (!cell.settled) ...        // planner.cc decides it
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/plan/forecast.h"
#include "eco/plan/plan_table.h"
#include "eco/plan/planner.h"

namespace eco::plan {

struct Cell {
  coll::CommonProblem problem;
  std::size_t up_to_bytes = 0;  // what was asked for: the problem's are cut to equal blocks of whole elements
  std::size_t entry = 0;        // index into Cells::entries
  bool asked = true;            // else it is left to a later plan
  bool settled = false;         // known well enough, or decided
  bool held_out = false;        // between two that are decided first
  bool left_out = false;        // what has won next to it serves it too
  double native_guess_s = 0;
  std::vector<Candidate> ranked;
  Row row;  // what is known by now, with the recipe that serves

  // Keeps what an earlier plan measured.
  void leave_open(std::string reason);
};

struct Cells {
  int first_class = 0;         // root class of rank 0
  std::vector<Entry> entries;  // without rows
  // In the order in which they are planned: rank 0's root class and what has no roots, then the other classes.
  std::vector<Cell> all;
  std::size_t n_first = 0;  // before the other classes
};

// Pure. With the sizes that an earlier plan has measured: planning for a few takes nothing away.
Cells cells_of(const net::GroupView& view, const std::vector<coll::Collective>& collectives,
               const PlannerOptions& options);

}  // namespace eco::plan
