// All ranks of a group around one Lateness each, as they would agree; for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "eco/runtime/lateness.h"

namespace eco::runtime {

inline constexpr std::int64_t kOwn_ns = 1'000'000;
inline constexpr std::int64_t kLate_ns = 50'000'000;

using Way = Lateness::Way;

class Ranks {
 public:
  explicit Ranks(std::size_t n) {
    for (std::size_t rank = 0; rank < n; ++rank)
      of_.emplace_back(static_cast<int>(n), static_cast<int>(rank));
  }

  // One call: how late each rank is. Before it they agree, if it is time.
  void call(const std::vector<std::int64_t>& late_ns) {
    ask();
    const Way way = of_[0].way();
    const bool trusts = forms() && of_[0].trusts();
    n_trusting_ = trusts ? n_trusting_ + 1 : forms() ? 0 : n_trusting_;
    most_trusting_ = std::max(most_trusting_, n_trusting_);
    if (forms()) ++n_formed_;
    if (way == Way::library) ++n_left_;
    const std::int64_t last_ns = *std::max_element(late_ns.begin(), late_ns.end());
    // Each reads a clock of its own, and the last rank alone what forming costs.
    clock_ns_ += last_ns + kOwn_ns;
    if (forms()) forming_cost_ns_ += forming_costs_ns_;
    for (std::size_t rank = 0; rank < of_.size(); ++rank) {
      const bool is_last = rank + 1 == of_.size();
      of_[rank].note_begin(clock_ns_ + static_cast<std::int64_t>(rank) * kLate_ns +
                           (is_last ? forming_cost_ns_ : 0));
    }
    for (std::size_t rank = 0; rank < of_.size(); ++rank) {
      const std::int64_t waited_ns = last_ns - late_ns[rank] + kOwn_ns;
      const bool all_wait = holds_all_ && late_ns[0] > kOwn_ns;
      of_[rank].note_in_call(way == Way::recipe || all_wait ? waited_ns
                             : way == Way::form             ? form_ns_
                                                            : in_library_ns_,
                             !is_race_);
      if (way == Way::recipe) {
        of_[rank].note_other_ways(may_form_, library_ns_);
        of_[rank].note_took(waited_ns, 2 * kOwn_ns);
        continue;
      }
      if (way == Way::library) {
        of_[rank].note_nothing();
        continue;
      }
      // Each sees the one after it.
      const std::size_t next = (rank + 1) % of_.size();
      const int seen = static_cast<int>(next);
      if (trusts)
        of_[rank].note_trusted(std::ranges::find(waiting_, rank) != waiting_.end());
      else if (late_ns[next] > kOwn_ns)
        of_[rank].note_found({&seen, 1}, true);
      else
        of_[rank].note_found({}, true);
    }
  }
  void calls(std::size_t n, const std::vector<std::int64_t>& late_ns) {
    for (std::size_t i = 0; i < n; ++i) call(late_ns);
  }
  void ask() {
    for (const Lateness& each : of_) ASSERT_EQ(each.is_due(), of_[0].is_due());
    if (!of_[0].is_due()) return;
    ++n_questions_;
    std::vector<std::int64_t> least;
    std::vector<std::int64_t> sums;
    for (Lateness& each : of_) {
      const std::span<const std::int64_t> mine = each.question();
      n_words_ = mine.size();
      if (least.empty()) least.assign(mine.begin(), mine.end());
      ASSERT_EQ(least.size(), mine.size());
      for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], mine[i]);
      if (&each == &of_[0]) sums.resize(each.sums().size());
      ASSERT_EQ(each.sums().size(), sums.size());
      std::ranges::transform(sums, each.sums(), sums.begin(), std::plus());
    }
    bool changed = false;
    for (std::size_t rank = 0; rank < of_.size(); ++rank) {
      std::ranges::copy(least, of_[rank].question().begin());
      std::ranges::copy(sums, of_[rank].sums().begin());
      const bool changes = of_[rank].conclude();
      if (rank == 0) changed = changes;
      ASSERT_EQ(changes, changed);
      ASSERT_EQ(of_[rank].way(), of_[0].way());
      ASSERT_TRUE(std::ranges::equal(of_[rank].leaves(), of_[0].leaves()));
      ASSERT_EQ(of_[rank].verdict().has_value(), of_[0].verdict().has_value());
    }
    if (of_[0].verdict()) told_.push_back(of_[0].verdict()->text());
  }
  // Of another size, which can't form.
  void other_call() {
    ask();
    for (Lateness& each : of_) {
      each.note_in_call(kOwn_ns, true);
      if (each.way() == Way::recipe) {
        each.note_other_ways(false, kOwn_ns);
        each.note_took(kOwn_ns, 2 * kOwn_ns);
      } else {
        each.note_nothing();
      }
    }
  }
  // From now on after a call that forms the last rank begins the next so much later than after a static one.
  void let_forming_cost(std::int64_t ns) { forming_costs_ns_ = ns; }
  void pass(std::int64_t ns) { clock_ns_ += ns; }
  // What ranks are in calls for that form, and in the library's, which is known to take `library_ns`.
  void form_takes(std::int64_t ns) { form_ns_ = ns; }
  void library_takes(std::int64_t ns, std::int64_t library_ns = kOwn_ns) {
    in_library_ns_ = ns;
    library_ns_ = library_ns;
  }
  // Where the first rank is late all wait for it, whichever way calls go.
  void let_the_first_hold_all() { holds_all_ = true; }
  // Calls go over recipes that are compared, whichever way is tried.
  void let_recipes_race(bool is_race) { is_race_ = is_race; }
  // Below a leaf, and on time.
  void wait_as_leaves(std::vector<std::size_t> ranks) { waiting_ = std::move(ranks); }
  void never_form() { may_form_ = false; }
  Lateness& operator[](std::size_t rank) { return of_[rank]; }
  Way way() const { return of_[0].way(); }
  bool forms() const { return way() == Way::form; }
  std::vector<int> leaves() const { return {of_[0].leaves().begin(), of_[0].leaves().end()}; }
  std::size_t n_questions() const { return n_questions_; }
  std::size_t n_words() const { return n_words_; }
  std::size_t n_formed() const { return n_formed_; }
  std::size_t n_left() const { return n_left_; }
  // What each verdict said.
  const std::vector<std::string>& told() const { return told_; }
  std::string told_first() const { return told_.empty() ? "nothing was told" : told_.front(); }
  // Calls that formed in a row and trusted.
  std::size_t most_trusting() const { return most_trusting_; }

 private:
  std::vector<Lateness> of_;
  std::int64_t clock_ns_ = 0;
  std::int64_t forming_costs_ns_ = 0;  // each call
  std::int64_t forming_cost_ns_ = 0;   // so far
  std::int64_t form_ns_ = kOwn_ns;
  std::int64_t in_library_ns_ = kOwn_ns;
  std::int64_t library_ns_ = 0;
  bool may_form_ = true;
  bool holds_all_ = false;
  bool is_race_ = false;
  std::vector<std::size_t> waiting_;
  std::size_t n_questions_ = 0;
  std::size_t n_words_ = 0;
  std::size_t n_formed_ = 0;
  std::size_t n_left_ = 0;
  std::size_t n_trusting_ = 0;
  std::size_t most_trusting_ = 0;
  std::vector<std::string> told_;
};

}  // namespace eco::runtime
