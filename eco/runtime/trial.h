// A trial: one problem and several candidates, what timing them has shown, and how often they are run.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"

namespace eco::runtime {

struct Trial {
  coll::CommonProblem problem;
  std::vector<std::optional<algo::Recipe>> candidates;  // nothing: the native collective
  bool keeps_all = false;                               // also candidates that have lost already are timed
  bool is_checked = false;  // by an earlier trial of these candidates: they are timed at once, and all kept
  // What each is predicted to take. Where it is given, a candidate is not run that has nothing to offer, since an earlier one's
  // first run was as predicted (undecided.h).
  std::vector<double> predicted_s{};
  // How many calls in a row each time is of (trials.h); none: of one that begins at a common start.
  static constexpr int kAsCheckShows = -1;
  int calls_in_a_row = kAsCheckShows;
  double native_least_s = 0;  // the library's own takes no less, as is known from fewer bytes

  // Pure. In which order they are checked: their own, but where the library is known to take long already it comes last, as
  // it may not have to run.
  std::vector<std::size_t> order_of_check() const;

  // For the ranks that follow: everything but the neighbours of a collective along a graph, which they know.
  std::string text() const;
  // Throws InvalidArgument.
  static Trial parse(std::string_view text);
};

// Seconds of each candidate's runs; empty where it could not be built, or gave a wrong result.
struct TrialResult {
  std::vector<std::vector<double>> seconds;
  // How late even the first rank woke, in the middle of the runs: taken off their seconds, but finer than that nothing can be
  // told. In a program ranks come by themselves, and a difference that a trial shows below it is another one there.
  double overslept_s = 0;
  int calls_in_a_row = 0;      // that each time is of; none: it began at a common start
  bool spares_native = false;  // it did not run: a recipe takes less than it is known to take for fewer bytes
};

// A round is a turn of every candidate, and a turn one run that is not timed and then some that are: connections that
// carried nothing for a while, or something else, have forgotten what the path bears (TCP, after 200 ms), and a program
// that repeats a call finds them awake.
struct Repetitions {
  int rounds = 0;
  int in_turn = 0;    // timed
  bool wakes = true;  // whether turns have the run that is not timed; of a long one that decides none has
};

// Seconds that a run of each candidate takes, and a run of each that has to be wakened.
struct Cost {
  double run_s = 0;
  double wake_s = 0;
  bool in_a_row = false;  // a run is of several calls in a row
};

// How often to run those that were not decided by their first runs; no round: there is no time to decide it.
using Repeat = std::function<Repetitions(const Cost& cost)>;

}  // namespace eco::runtime
