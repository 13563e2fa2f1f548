// What one recipe would take, cheaply: the predictor on its schedules, or on shorter ones where they are too long to walk.
//
//   Forecast f = forecast(recipe, problem, view);
//   f.seconds; f.busiest;       // "uplink 0 out"
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/exec/executor.h"
#include "eco/net/group_view.h"
#include "eco/sim/predict.h"

namespace eco::plan {

struct ForecastOptions {
  // Schedules of more operations (all ranks together) are predicted with fewer segments and continued in a straight
  // line: a pipeline takes a start and a constant time per segment.
  std::size_t most_operations = 400'000;
  // Given up beyond this: the recipe has lost.
  double stop_after_s = std::numeric_limits<double>::infinity();
  sim::Sharing sharing = sim::Sharing::in_turn;
  std::size_t window_capacity = exec::kWindowCapacity;  // operations that a rank looks ahead over
};

struct Forecast {
  double seconds = 0;
  bool given_up = false;        // `seconds` is a lower limit, the rest is not known
  bool extrapolated = false;    // from schedules of fewer segments, since its own were too long to walk
  bool guesses_native = false;  // its native parts are predicted as what algo::stand_in() puts in their place
  sim::Terms terms;
  std::string busiest;  // the resource that carries the most; empty if nothing is sent
  double busiest_s = 0;
  double n_messages = 0;       // of all ranks, with answers
  double n_crossings = 0;      // messages from one subnet to another, without answers
  double busiest_host_s = 0;   // what the busiest host's own port carries, one way
  double n_operations = 0;     // of all ranks
  double most_operations = 0;  // of one rank
  // When the last rank of each subnet ends; none where smaller groups stand for a large one (large_group.h).
  std::vector<double> subnet_end_s;
};

// Pure. The recipe must be buildable (algo::why_not). Throws InvalidArgument if its schedules can't end under their
// send windows (proving.h's prove() says the same, with the proof).
Forecast forecast(const algo::Recipe& recipe, const coll::CommonProblem& problem, const net::GroupView& view,
                  const ForecastOptions& options = {});

// Likewise, of the schedules of all ranks however many these are: quadratic in their number, 0.1 to 0.3 s at 1,024.
Forecast walked_forecast(const algo::Recipe& recipe, const coll::CommonProblem& problem,
                         const net::GroupView& view, const ForecastOptions& options = {});

// A recipe that may serve a problem, and what it would take.
struct Candidate {
  algo::Recipe recipe;
  Forecast forecast;
  std::string why_not;  // empty if it can be built and its schedules end
};

// Pure. As forecast(), but schedules that can't end are a reason, not an error.
Candidate candidate_of(const algo::Recipe& recipe, const coll::CommonProblem& problem,
                       const net::GroupView& view, const ForecastOptions& options = {});

}  // namespace eco::plan
