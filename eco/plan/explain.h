// Why a problem is served as it is, in text: what `eco explain` prints.
//
//   std::cout << explain(problem, view, table.find_row(...));
#pragma once

#include <string>
#include <vector>

#include "eco/plan/forecast.h"
#include "eco/plan/plan_table.h"

namespace eco::plan {

// Every candidate, its cost by term, why it lost. `row` is the table's row for this problem, nullptr if there is no
// table; `ranked` as rank_candidates() has it, which the shorter form asks.
std::string explain(const coll::CommonProblem& problem, const net::GroupView& view, const Row* row);
std::string explain(const coll::CommonProblem& problem, const net::GroupView& view, const Row* row,
                    const std::vector<Candidate>& ranked);

// In a few words, what `candidate` has more of than the cheapest one.
std::string why_it_lost(const Candidate& candidate, const Candidate& cheapest);

}  // namespace eco::plan
