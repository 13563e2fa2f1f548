// Known contents for a collective, and its right result: what trials and tests run with.
//
//   std::vector<std::byte> input = input_of(problem, rank);       // doubles where they are summed, else bytes
//   run(problem, input, output);
//   right = output == expected_of(problem, rank);
#pragma once

#include <cstddef>
#include <vector>

#include "eco/coll/problem.h"

namespace eco::runtime {

// Reductions of doubles: sums that are exact in every order, whole numbers far below 2^53. Others or bytes.
bool sums_doubles(const coll::CommonProblem& problem);

// Pure. What this rank brings; a broadcast's root its message. Different at every place and for every rank.
std::vector<std::byte> input_of(const coll::CommonProblem& problem, int rank);
// Memory for results, before: what no part of a result comes to is this still in the end.
inline constexpr std::byte kUntouched{0xff};
// Pure. What this rank has in the end, by coll::meaning(). Of a barrier's tokens nothing is said.
std::vector<std::byte> expected_of(const coll::CommonProblem& problem, int rank);

}  // namespace eco::runtime
