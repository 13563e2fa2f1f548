// Rank 0's part of a trial whose candidates have been checked: who runs in the next round, and what that takes.
//
//   Conduct conduct(trial, able, first_s, first_counts);
//   conduct.learn(runs, to_come);                      // after the check and after each round: seconds by candidate
//   while (!conduct.is_decided()) run(conduct.letters(true));
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "eco/runtime/trial.h"
#include "eco/runtime/undecided.h"

namespace eco::runtime {

// What all ranks do with a candidate in a round.
enum class Letter : char { out = '-', runs = 'r', wakes_and_runs = 'w' };

class Conduct {
 public:
  // `able`: whether a candidate's result was right, on all ranks; `first_s`: what the latest rank took for it, which is
  // evidence if `first_counts`.
  Conduct(const Trial& trial, const std::vector<std::int64_t>& able, const std::vector<double>& first_s,
          bool first_counts);

  // What has been seen of each, and how many runs are to come.
  void learn(const std::vector<std::vector<double>>& runs, int to_come);
  bool is_decided() const;
  // Of those that are not out, by what each took in the check: a run that all are told to begin, which a turn begins with,
  // and one behind it in its turn.
  using Takes = std::function<double(double first_s)>;
  Cost cost(const Takes& told_s, const Takes& behind_s) const;
  // One for each candidate.
  std::vector<Letter> letters(bool wakes) const;

 private:
  bool is_wakened(std::size_t c) const { return !known_[c].first_s || !is_long_run(*known_[c].first_s); }

  bool decides_;  // by what it learns; otherwise whoever is able runs to the end
  std::vector<double> first_s_;
  std::vector<Known> known_;
};

}  // namespace eco::runtime
