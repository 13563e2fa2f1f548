// Recipes that nobody would choose, by dice: for whoever looks for faults.
//
//   std::mt19937_64 dice(seed);
//   const Recipe recipe = throw_recipe(problem, view, dice);
//   if (!why_not(recipe, problem, view)) ...
#pragma once

#include <random>

#include "eco/algo/algorithm.h"

namespace eco::algo {

// In the place of every part of a composition any algorithm of the part's collective, compositions among them; native
// parts stay so half of the time. And any number of leaders.
void exchange_parts(const Algorithm& algorithm, Params& params, std::mt19937_64& dice);

// Any algorithm of the problem's collective, with any of its candidates' parameters, other segments and windows, parts
// exchanged. It need not be able to serve the problem. Pure but for the dice.
Recipe throw_recipe(const coll::CommonProblem& problem, const net::GroupView& view, std::mt19937_64& dice);

}  // namespace eco::algo
