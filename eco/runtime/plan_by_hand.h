// A plan that someone wrote, changed or moved here: what it wants to run is proved before it runs.
//
//   prove_plan(table, view, "plan file plan.json");
//   table.proof = proof_of(table);                  // remembered, so that the next job need not prove it again
#pragma once

#include <string>

#include "eco/net/group_view.h"
#include "eco/plan/plan_table.h"

namespace eco::runtime {

struct PlanByHand {
  std::string file;
  plan::PlanTable table;
};
// Local. `files`: one, or several with colons between them, of which that counts that is for ranks on just these hosts,
// else the first for as many ranks; none such, the first. Throws CorruptFile.
PlanByHand read_plan(const std::string& files, const net::GroupView& view);

// Local. Throws CorruptFile, beginning with `where`: a table of another number of ranks or with a subnet that this group
// has not, a recipe that does not fit the group or is refused by the verifier, or a row too large to be proved. A
// reduction's recipe that is proved to combine in rank order serves operations that do not commute too, where the file
// names no other (Row::in_order).
void prove_plan(plan::PlanTable& table, const net::GroupView& view, const std::string& where);

// Pure. What PlanTable::proof holds of a table that builds of this epoch have proved: another text as soon as anything
// in the table is changed. It keeps accidents out, not people, who can change this library too.
std::string proof_of(plan::PlanTable table);

}  // namespace eco::runtime
