// Oracles of known answers, for the searches' tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eco/tune/tuning.h"

namespace eco::tune {

// Forms by the true seconds of their points; predictions are those times, unless changed afterwards.
struct Known {
  std::vector<std::vector<double>> seconds;
  Space space;
  double noise = 0;  // relative, of a run
  std::size_t most_runs = std::numeric_limits<std::size_t>::max();
  std::size_t n_runs = 0;  // asked so far
  std::mt19937_64 dice{1};

  explicit Known(std::vector<std::vector<double>> times) : seconds(std::move(times)) {
    space.bytes = std::size_t{1} << 20;
    for (std::size_t m = 0; m < seconds.size(); ++m) {
      space.forms.push_back({"broadcast/m" + std::to_string(m), {}});
      for (std::size_t p = 0; p < seconds[m].size(); ++p)
        space.forms[m].points.push_back({p == 0 ? 0 : space.bytes >> p, seconds[m][p]});
    }
  }

  // Points of no time cannot be run.
  Oracle oracle() {
    return [this](std::span<const Choice> choices, int times) -> std::optional<std::vector<Runs>> {
      if (n_runs + choices.size() * static_cast<std::size_t>(times) > most_runs) return std::nullopt;
      n_runs += choices.size() * static_cast<std::size_t>(times);
      std::vector<Runs> all;
      std::normal_distribution<double> off(1.0, 1.0);
      for (const Choice& choice : choices) {
        const double truth = seconds[choice.form][choice.point];
        all.emplace_back();
        for (int i = 0; truth > 0 && i < times; ++i)
          all.back().push_back(truth * (1 + noise * std::abs(off(dice))));
      }
      return all;
    };
  }
};

// Points that a search asked about, each once, in the order of first asking.
inline std::vector<Choice> asked_of(const Tuned& tuned) {
  std::vector<Choice> all;
  for (const Step& step : tuned.steps) {
    if (std::find(all.begin(), all.end(), step.asked) == all.end()) all.push_back(step.asked);
  }
  return all;
}

inline std::size_t runs_of(const Tuned& tuned, Choice choice) {
  std::size_t n = 0;
  for (const Step& step : tuned.steps) n += step.asked == choice ? static_cast<std::size_t>(step.runs) : 0;
  return n;
}

}  // namespace eco::tune
