// Pair latencies that can be relied on: rounds of disjoint pairs, each pair repeated until its minimum is stable.
//
//   Sampler sampler(probe);
//   sampler.want({{0, 1}, {0, 2}, {3, 4}});     // what is not known yet is measured
//   sampler.latency_s(0, 2)
//
// Ambient traffic only adds time, so the minimum labels a pair, but one that another sample confirms: of twenty samples one
// may be off by anything. The first round, before any other, is measured alone too; if its pairs were quicker so, pairs at the
// same time disturb each other here, and from then on they come one by one. So they do if the tree of them contradicts many.
// Where many hosts are partly far from each other, rounds are staggered: who meets hundreds that are milliseconds away has
// many of these trips under way at a time. What turns out to be near is measured in turn.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "eco/structure/probe.h"

namespace eco::structure {

// The lowest of the values that so many others confirm, as far above it as `agreement` allows; with fewer confirmations where
// none has as many, and the lowest of all where none has any.
double confirmed_minimum(std::vector<double> values, double agreement, std::size_t confirmations = 1);
// Whether one has as many.
bool is_confirmed(std::vector<double> values, double agreement, std::size_t confirmations);

// The same for both orders of the two hosts.
std::uint64_t pair_key(int a, int b);

class Sampler {
 public:
  explicit Sampler(Probe& probe) : probe_(probe) {}

  void want(const std::vector<Pair>& pairs);
  bool knows(int a, int b) const { return known_.contains(pair_key(a, b)); }
  double latency_s(int a, int b) const;
  // The lower of two samples of each pair, for whoever asks the others only if it says something.
  std::vector<double> glance(const std::vector<Pair>& pairs);
  // By what one of so many seconds may be wrong: kError of it, or what the samples of such pairs scatter.
  double error_s(double latency_s) const;
  // Whether they scatter more than the finder counts on.
  bool is_noisy(double latency_s) const;
  // Forgets what is known of these, where it is not lost in the scatter: the tree contradicts them.
  void measure_anew(const std::vector<Pair>& pairs);
  // The first tree contradicts so many of its pairs: if these are many, rounds disturb after all.
  void judge_rounds(std::size_t contradicted, std::size_t of_pairs);
  // Measures pairs anew, where much rests on each alone: the larger of both times counts.
  void measure_again(const std::vector<Pair>& pairs);
  // Whether pairs of one round left each other alone.
  bool in_parallel() const { return in_parallel_; }
  std::size_t n_pairs() const { return known_.size(); }
  std::vector<Pair> known_pairs() const;  // ascending

 private:
  void note_scatter(const std::vector<double>& samples, double latency_s);
  static bool is_stable(const std::vector<double>& samples);
  void measure(const std::vector<Pair>& pairs);
  template <class Settled>
  void once_more(const std::vector<Pair>& pairs, const Settled& settled);
  std::vector<Pair> ask_until_stable(std::vector<Pair> open, Pace pace);
  template <class Use>
  void ask(std::vector<Pair> pairs, int samples, Pace pace, const Use& use);
  Round next_round(std::vector<Pair>& waiting) const;
  Pace pace() const;
  void check_that_rounds_are_quiet(std::vector<Pair> pairs);

  Probe& probe_;
  std::unordered_map<std::uint64_t, std::vector<double>> samples_;
  std::unordered_map<std::uint64_t, std::vector<double>> glanced_;
  std::unordered_map<std::uint64_t, double> known_;
  std::map<int, std::vector<double>> scatter_;  // seconds, ascending, by the octave of the latency
  bool in_parallel_ = true;
  bool is_checked_ = false;
  bool has_far_ = false;  // pairs were seen that are
};

}  // namespace eco::structure
