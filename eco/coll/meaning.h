// What a collective means: of whose input each part of a rank's output is made.
//
//   for (const Part& part : meaning(problem, rank))
//     // output[part.offset ..] is input[part.input_offset ..] of ranks part.first to part.last, combined in that order
//
// One statement for all who need it: libraries of tests compute by it, trials compare by it.
#pragma once

#include <cstddef>
#include <vector>

#include "eco/coll/problem.h"

namespace eco::coll {

struct Part {
  std::size_t offset = 0;  // in the output
  std::size_t bytes = 0;
  int first = 0;                 // rank
  int last = 0;                  // rank; the same where nothing is combined
  std::size_t input_offset = 0;  // of each of their inputs
};

// Pure. The parts of output_bytes(problem, rank), ascending; a broadcast's input is the root's message. Empty parts are
// left out; so are places of nobody, which stay as they were.
std::vector<Part> meaning(const CommonProblem& problem, int rank);

}  // namespace eco::coll
