// A stand-in for trials that the planner's tests share.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "eco/plan/planner.h"

namespace eco::plan {

// A Measure that knows its numbers: ECO's seconds follow the prediction, the library's are given.
struct Bench {
  double native_s = 1;
  double spread_s = 0;
  std::set<std::size_t> unsampled;
  int calls = 0;

  Measure measure() {
    return [this](const coll::CommonProblem& problem, const std::vector<const algo::Recipe*>& candidates,
                  const Beforehand& known) {
      ++calls;
      EXPECT_EQ(known.predicted_s.size(), candidates.size());
      EXPECT_GT(known.predicted_s.at(0), 0);
      std::vector<std::optional<Measurement>> measured(candidates.size());
      if (unsampled.contains(problem.bytes)) return measured;
      EXPECT_EQ(candidates.at(0), nullptr);
      measured[0] = {native_s, spread_s};
      for (std::size_t i = 1; i < candidates.size(); ++i)
        measured[i] = {0.1 + 0.01 * static_cast<double>(i), spread_s};
      return measured;
    };
  }
};

}  // namespace eco::plan
