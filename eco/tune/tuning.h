// What every search of the tuner asks and answers: which recipe is fastest for one problem, with how little measuring?
//
//   const Space space = ...;                                   // forms and their segments
//   const Tuned tuned = search_by(*find_search("smgd"), space, oracle, {.repeats = 5});
//   tuned.best                                                 // a point of the space
//
// A search never measures: it asks an oracle, which runs the recipes on the ranks, or looks the times up in a recorded grid. A
// point's time is the median of its runs, a run's time that of the latest rank. Equal answers give equal searches.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace eco::tune {

// One recipe that the searches may choose: a form (what the paper calls a method: an algorithm with
// all parameters but the segment) and a segment size.
struct Point {
  std::size_t segment_bytes = 0;  // 0: whole messages
  double predicted_s = 0;         // for the searches that follow a model; the paper's do not look at it
};

struct Form {
  std::string name;           // "broadcast/subnets between=chain inside=flat order=0,2,1"
  std::vector<Point> points;  // the largest segment first
};

// Of one problem.
struct Space {
  std::size_t bytes = 0;
  std::vector<Form> forms;
};

struct Choice {
  std::size_t form = 0;
  std::size_t point = 0;  // of the form
  friend bool operator==(const Choice&, const Choice&) = default;
  friend auto operator<=>(const Choice&, const Choice&) = default;
};

// Runs these in turn, each so many times: seconds of each. An empty list of one: it cannot be run. Nothing: no time is left.
using Runs = std::vector<double>;
using Oracle = std::function<std::optional<std::vector<Runs>>(std::span<const Choice> choices, int times)>;

// What was asked, in its order, and which point was the best one known then: a search may be stopped after each.
struct Step {
  Choice asked;
  int runs = 0;
  std::optional<Choice> best;
};

struct Measured {
  Choice choice;
  // Median rather than mean or minimum: single delays are many times what is measured, and what programs feel is the usual run.
  double seconds = 0;
};

struct Tuned {
  std::optional<Choice> best;
  double best_s = 0;               // its median
  std::vector<Measured> measured;  // all that could be run, the best one first, then by their medians
  std::vector<Step> steps;
  double expected_regret = 0;  // by the model, where the search has one: what may still be gained, a share
  std::string ended;           // why: "all measured", "no time left", ...
};

// What has been measured of a space: the searches' common notebook.
class Notes {
 public:
  explicit Notes(const Space& space, const Oracle& oracle);

  // False where there was no time; then no search may ask again.
  bool ask(std::span<const Choice> choices, int times);
  bool ask(Choice choice, int times) { return ask(std::span(&choice, 1), times); }

  const Runs& runs(Choice choice) const { return runs_[choice.form][choice.point]; }
  bool asked(Choice choice) const { return asked_[choice.form][choice.point]; }
  // Instead of the lowest median what the searcher holds to be the best one, of those measured, after the last question.
  void choose(Choice choice);
  // Infinity where it was not measured, or cannot be run.
  double seconds(Choice choice) const;
  std::optional<Choice> best() const { return best_; }
  Tuned result(std::string ended) &&;

 private:
  const Oracle& oracle_;
  std::vector<std::vector<Runs>> runs_;
  std::vector<std::vector<bool>> asked_;
  std::optional<Choice> best_;
  std::vector<Step> steps_;
  std::size_t n_last_ = 0;  // steps of the last question
};

}  // namespace eco::tune
