// Which candidates of a trial have to run again: those whose further runs may still change what serves.
//
//   std::vector<bool> again = undecided(known, 0.05);     // after the runs that checked the results, and after each round
//
// A candidate's time is the median of its runs that count. Before all are made it is known to lie in a range:
//
// - n runs made and k to come: whatever those take, the median lies between two of the runs made (curtailed sampling). Two runs
//   of three are the ends of that range, so where they agree the third is not needed.
// - eight runs or more: between the least and the greatest of them. Were it elsewhere, all would lie on one side of it:
//   1 in 128.
// - fewer: not above the greatest, and not below (least - 1.6 s) / 1.3. A packet that was lost and sent again takes
//   some 200 ms, one that is lost again 400 ms more, and the first of a connection 1 s; whatever else disturbs a long
//   run is a small part of it.
//
// - the library's own takes no less than it took for fewer bytes (a performance guideline: plan/guidelines.h), where
//   that is told and its first run does not deny it; and where its first run took what it was guessed to, no less than that
//   or the guess if one packet less had been lost.
//
// The run that checked a result counts where it took 20 ms. What it has more than others (connections that are not open yet or
// have forgotten what the path bears, pages that nobody has touched) can make a range wider, or be one of three that the median
// leaves out. From 0.25 s on it is a small part of the run, which then tells by itself. A shorter one is in the range of its
// candidate until there are others.
//
// From ranges follows who is out, and with it the order in which they are dropped:
//
// - a recipe that another one surely beats, or equals as far as a recipe must be faster than the library to serve:
//   `gain_needed`;
// - a recipe that another one was faster than, by eight runs of each, or by the check and one more where runs take 0.1 s,
//   or by the check where it takes 0.25 s. (Of 1,611 runs of 0.1 s and more, stock and ECO, in three-subnets-all,
//   three-subnets-large and one-switch.json of bench/results, 2 % took 5 % more than the median of their launch, 0.7 % took
//   10 % more and none 20 %.)
//   From 20 ms on a recipe that takes 1.3 times another's first run is out as well;
// - a recipe that surely is not faster than the library by that much;
// - the library's own collective, once some recipe surely is.
//
// A trial ends when nobody who is left can change what serves. What is in the row then has run twice at least where it is
// short. Whether a recipe serves instead of the library is never told by one run of it against one of the library's unless
// no loss could explain it.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace eco::runtime {

// Of one candidate, by now.
struct Known {
  bool is_native = false;
  bool is_open = true;  // may run again; who was dropped stays so
  std::optional<double>
      first_s{};  // of the run that checked the result; nothing: it did not begin with the others
  std::vector<double> runs{};  // seconds of those that count
  int left = 1;                // runs to come, if it is not dropped
  double least_s = 0;          // it is known beforehand to take as long, and more
};

// Whether a candidate's first run is so long that it counts.
bool first_counts(double seconds);
// Whether one run is so long that it is as good as others, first or not; and needs none before it that wakes its connections.
bool is_long_run(double seconds);

// Whether a run of so long shows by itself whether a prediction was right.
bool shows_prediction(double seconds);
// Whether a recipe's first run is as predicted: then others that were predicted no faster, as far as a recipe must be
// faster than the library to serve, need not run at all. They are there for what predictions do not know, which is not
// in play.
bool is_as_predicted(double first_s, double predicted_s);
// What the library takes at least where its first run is about as a guess has it: then no two lost packets made it that
// long, at most one. 0 where it is not.
double least_as_guessed_s(double first_s, double guessed_s);

// Pure. Who runs again. Rank 0's answer is everybody's.
std::vector<bool> undecided(std::span<const Known> known, double gain_needed);

// Where between the median of all runs lies. For tests.
struct Range {
  double least_s = 0;
  double most_s = 0;
};
Range range_of(const Known& known);

}  // namespace eco::runtime
