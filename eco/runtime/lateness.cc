#include "eco/runtime/lateness.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string_view>
#include <utility>

namespace eco::runtime {
namespace {

// Shares of a period's calls in which somebody has to be late. To form: so often that it isn't the machine's noise. To go
// on: half as often, since what is about there should not go to and fro. A leaf: nearly always.
constexpr std::size_t kFormsFrom = 4;  // one in so many
constexpr std::size_t kStaysFrom = 8;  // likewise
constexpr std::size_t kAlways = 3;     // of
constexpr std::size_t kOf = 4;
// A leaf no longer: late in fewer than one in so many. Of fewer samples than these nothing is said of a rank.
constexpr std::size_t kHardly = 4;
constexpr std::size_t kFewestSamples = 3;
// Calls may follow each other so much more slowly than over the recipe; less is what programs vary by. Where they
// are slower, the other way cost the program more than its ranks waited.
constexpr std::int64_t kSlower = 5;  // of
constexpr std::int64_t kThan = 4;
// Ranks have to be in calls for so much less.
constexpr std::int64_t kLess = 9;  // of
constexpr std::int64_t kThese = 10;
// A form is tried again with other leaves: with those that it found, and without those that were none.
constexpr int kMostFormTrials = 3;
// The library is tried where its calls end within so many times what ranks are in these: many leave one before it ends.
constexpr std::int64_t kMostOfLibrary = 2;
// Where no way is better they are tried again after so many times as many calls.
constexpr std::uint32_t kRarely = 8;
// One in so many intervals between calls is none of the calls'.
constexpr std::size_t kOneOff = 7;
// Clocks may say anything. Sums and negatives of these still fit: 36 years.
constexpr std::int64_t kNever_ns = std::int64_t{1} << 60;
// Likewise of what all ranks have a sum, or a period of calls: an hour.
constexpr std::int64_t kMostInCall_ns = std::int64_t{1} << 42;

// At least kMostSamples of them are in a period; a prime, since what programs do has periods of its own.
std::uint32_t stride_of(std::uint32_t period) {
  std::uint32_t stride = 1;
  for (const std::uint32_t prime : {3, 7, 13, 31}) {
    if (prime * Lateness::kMostSamples < period) stride = prime;
  }
  return stride;
}

std::int64_t within_reason(std::int64_t nanoseconds) {
  return std::clamp<std::int64_t>(nanoseconds, 0, kNever_ns);
}

}  // namespace

// "a rank is in it for 31.2 ms over the recipe, 12.4 ms where it forms: forms from now on".
std::string Lateness::Verdict::text() const {
  static constexpr std::array<std::string_view, kWays> kBy = {"over the recipe", "where it forms",
                                                              "at the library"};
  static constexpr std::array<std::string_view, kWays> kFromNowOn = {"the recipe serves", "forms from now on",
                                                                     "left to the library from now on"};
  if (!somebody_is_late) return "late in too few calls: the recipe serves";
  std::string text;
  for (std::size_t i = 0; i < kWays; ++i) {
    if (in_call_ns[i] == 0) continue;
    const double ms = static_cast<double>(in_call_ns[i]) * 1e-6;
    char number[48];
    std::snprintf(number, sizeof number, "%.*f ms ", ms < 10 ? 2 : 1, ms);
    text += (text.empty() ? "a rank is in it for " : ", ") + (number + std::string(kBy[i]));
    if (is_slower[i]) text += " (but calls follow each other more slowly)";
  }
  return text + (text.empty() ? "" : ": ") + std::string(kFromNowOn[static_cast<std::size_t>(way)]);
}

Lateness::Lateness(int n_ranks, int rank)
    : n_counted_(std::min(static_cast<std::size_t>(n_ranks), kMostCounted)),
      rank_(static_cast<std::size_t>(rank)) {
  words_.resize(kFirstSample + std::max(kStaticWords * kMostSamples, kMostSamples + 2 * n_counted_));
  leaves_.reserve(kMostLeaves);
}

// Not the first call of a period: its ranks come together out of an agreement. Of a long one every so many-th; where leaves
// are trusted fewer calls say something.
std::int64_t* Lateness::sample(std::uint32_t nth, std::size_t n_words) {
  const std::uint32_t call = n_calls_++;
  const std::uint32_t n_expected = n_could_trust_ > 0 && !leaves_.empty() ? period_ / kTrusting : period_;
  if (call == 0 || nth % stride_of(n_expected) != 0) return nullptr;
  return &words_[kFirstSample + n_words * (n_sampled_++ % kMostSamples)];
}

// Not before a period's first call: the agreement lies between.
void Lateness::note_begin(std::int64_t now_ns) {
  const std::int64_t before_ns = std::exchange(began_ns_, within_reason(now_ns));
  if (n_calls_ == 0 || before_ns == kNeverBegan) return;
  intervals_[n_intervals_++ % kMostSamples] = within_reason(began_ns_ - before_ns) / kMostSamples;
}

// The mean without the longest: a program may stop for something else now and then. A rank may be some calls ahead of the
// others in one and wait for them in the next, which evens out.
std::int64_t Lateness::usual_interval() const {
  const std::size_t n = std::min(n_intervals_, kMostSamples);
  if (n == 0) return 0;
  std::array<std::int64_t, kMostSamples> sorted = intervals_;
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(n));
  const std::size_t n_kept = n - n / kOneOff;
  return std::accumulate(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(n_kept),
                         std::int64_t{0}) /
         static_cast<std::int64_t>(n_kept);
}

void Lateness::note_other_ways(bool can_form, std::int64_t library_ns) {
  some_could_form_ = some_could_form_ || can_form;
  if (library_ns <= 0) return;
  library_ns_ += std::min(within_reason(library_ns), kMostInCall_ns);
  ++n_library_;
}

// The same calls on all ranks, whichever way they go; never the first of a period.
void Lateness::note_in_call(std::int64_t took_ns, bool counts) {
  const std::uint32_t stride = stride_of(period_);
  if (n_calls_ == 0 || n_calls_ % stride != 0) return;
  const std::size_t place = 2 * ((n_calls_ / stride - 1) % kMostSamples);
  sums_[place] = counts ? std::min(within_reason(took_ns), kMostInCall_ns) : 0;
  sums_[place + 1] = counts ? 1 : 0;
}

void Lateness::note_took(std::int64_t took_ns, std::int64_t unskewed_ns) {
  std::int64_t* const words = sample(n_calls_, kStaticWords);
  if (words == nullptr) return;
  words[0] = within_reason(took_ns);
  words[1] = -within_reason(took_ns);
  words[2] = within_reason(unskewed_ns);
}

// Neither the least nor the greatest of what the call took.
void Lateness::note_waits_anyway() {
  std::int64_t* const words = sample(n_calls_, kStaticWords);
  if (words != nullptr) std::fill_n(words, kStaticWords, kNever_ns);
}

void Lateness::note_trusted(bool waited) {
  ++n_calls_;
  ++n_could_trust_;
  ++n_trusted_;
  if (waited && rank_ < n_counted_) --words_[kFirstSample + kMostSamples + n_counted_ + rank_];
}

void Lateness::note_found(std::span<const int> late, bool could_trust) {
  std::int64_t* const word = sample(n_asked_++, 1);
  if (could_trust) ++n_could_trust_;
  if (word == nullptr) return;
  *word = late.empty() ? 0 : -1;
  for (const int rank : late) {
    const auto place = static_cast<std::size_t>(rank);
    if (place < n_counted_) --words_[kFirstSample + kMostSamples + place];
  }
}

std::size_t Lateness::n_words_of_samples() const {
  switch (way_) {
    case Way::recipe:
      return kStaticWords * std::min(n_sampled_, kMostSamples);
    case Way::form:
      return kMostSamples + 2 * n_counted_;
    case Way::library:
      return 0;
  }
  return 0;
}

std::span<std::int64_t> Lateness::question() {
  words_[0] = -usual_interval();
  return {words_.data(), kFirstSample + n_words_of_samples()};
}

std::size_t Lateness::n_summed() const {
  const std::size_t n_calls = std::max<std::uint32_t>(n_calls_, 1) - 1;  // but the first
  return std::min<std::size_t>(n_calls / stride_of(period_), kMostSamples);
}

std::span<std::int64_t> Lateness::sums() { return {sums_.data(), 2 * n_summed()}; }

// In the mean over ranks and calls but the longest and the shortest: where another is late each time, now and then it is the
// root, for which all wait whatever serves. So few are left out that over the recipe, where ways are tried at all, some call is
// left in which somebody was late.
std::optional<std::int64_t> Lateness::usual_in_call() const {
  std::array<std::int64_t, kMostSamples> means;
  std::size_t n = 0;
  for (std::size_t i = 0; i < n_summed(); ++i) {
    if (sums_[2 * i + 1] > 0) means[n++] = sums_[2 * i] / sums_[2 * i + 1];
  }
  if (n == 0) return std::nullopt;
  std::sort(means.begin(), means.begin() + static_cast<std::ptrdiff_t>(n));
  const std::size_t n_off = (n - 1) / kFormsFrom;
  const auto first = means.begin() + static_cast<std::ptrdiff_t>(n_off);
  const auto n_kept = static_cast<std::ptrdiff_t>(n - 2 * n_off);
  return std::accumulate(first, first + n_kept, std::int64_t{0}) / n_kept;
}

// Who is late, and how much, differs from period to period: of a way that has served before the older half counts as much.
void Lateness::take_account() {
  const std::optional<std::int64_t> now_ns = usual_in_call();
  if (!now_ns) return;  // say all of it in a race
  Came& before = came(way_);
  const bool alone = !before.is_known || before.is_of_before;
  before = {.is_known = true,
            .in_call_ns = alone ? *now_ns : (before.in_call_ns + *now_ns) / 2,
            .interval = -words_[0]};
}

bool Lateness::was_late(std::size_t sample) const {
  if (way_ == Way::form) return words_[kFirstSample + sample] < 0;
  const std::int64_t* const words = &words_[kFirstSample + kStaticWords * sample];
  const std::int64_t least_ns = words[0];
  const std::int64_t most_ns = -words[1];
  return most_ns - least_ns > words[2];
}

bool Lateness::was_late_in_one_in(std::size_t n) const {
  const std::size_t n_samples = std::min(n_sampled_, kMostSamples);
  std::size_t n_late = 0;
  for (std::size_t i = 0; i < n_samples; ++i) n_late += was_late(i) ? 1 : 0;
  return n_late > 0 && n_late * n >= n_samples;
}

std::size_t Lateness::n_found_late(std::size_t rank) const {
  return static_cast<std::size_t>(-words_[kFirstSample + kMostSamples + rank]);
}

// In half of the calls that trusted leaves. Whoever is on time and below a leaf has nobody else to hear that it is there.
bool Lateness::waits_as_leaf(std::size_t rank) const {
  const std::int64_t n_waited = -words_[kFirstSample + kMostSamples + n_counted_ + rank];
  return n_trusted_ >= kFewestSamples && 2 * n_waited >= static_cast<std::int64_t>(n_trusted_);
}

// Of a period that formed.
bool Lateness::change_leaves() {
  if (n_sampled_ < kFewestSamples) return false;
  const std::size_t n_gone = std::erase_if(leaves_, [&](int leaf) {
    const auto rank = static_cast<std::size_t>(leaf);
    if (waits_as_leaf(rank)) is_no_leaf_[rank] = true;
    return n_found_late(rank) * kHardly < n_sampled_ || is_no_leaf_[rank];
  });
  const std::size_t n_kept = leaves_.size();
  for (std::size_t rank = 0; rank < n_counted_ && leaves_.size() < kMostLeaves; ++rank) {
    const bool is_one = std::find(leaves_.begin(), leaves_.end(), static_cast<int>(rank)) != leaves_.end();
    if (!is_one && n_found_late(rank) * kOf >= n_sampled_ * kAlways && !is_no_leaf_[rank])
      leaves_.push_back(static_cast<int>(rank));
  }
  const bool changes = n_gone > 0 || leaves_.size() > n_kept;
  if (changes) came(Way::form).is_of_before = true;
  return changes;
}

bool Lateness::is_possible(Way way) const { return way == Way::form ? may_form_ : may_pass_; }

bool Lateness::is_slower(Way way) const {
  const std::int64_t before = came(Way::recipe).interval;
  return before > 0 && came(way).interval * kThan > before * kSlower;
}

bool Lateness::is_better(Way way) const {
  return is_possible(way) && came(way).is_known && !is_slower(way) &&
         came(way).in_call_ns * kThese < came(Way::recipe).in_call_ns * kLess;
}

void Lateness::begin(Phase phase, Way way, std::uint32_t period) {
  phase_ = phase;
  way_ = way;
  period_ = std::min(period, kLongestPeriod);
}

void Lateness::watch(std::uint32_t period) {
  begin(Phase::watching, Way::recipe, period);
  watch_period_ = period_;
  came_ = {};
  chosen_ = Way::recipe;
  leaves_.clear();
  is_no_leaf_ = {};
}

void Lateness::decide(Way way, bool somebody_is_late) {
  verdict_.emplace(Verdict{.way = way, .somebody_is_late = somebody_is_late});
  for (std::size_t i = 0; i < kWays; ++i) {
    if (!came_[i].is_known) continue;
    verdict_->in_call_ns[i] = came_[i].in_call_ns;
    verdict_->is_slower[i] = is_slower(static_cast<Way>(i));
  }
}

void Lateness::try_another() {
  for (const Way way : {Way::form, Way::library}) {
    if (is_possible(way) && !came(way).is_known) return begin(Phase::trying, way, kTrialPeriod);
  }
  choose();
}

void Lateness::choose() {
  Way best = Way::recipe;
  for (const Way way : {Way::form, Way::library}) {
    if (is_better(way) && (best == Way::recipe || came(way).in_call_ns < came(best).in_call_ns)) best = way;
  }
  const bool is_again = best == std::exchange(chosen_, best);
  if (!is_again || best == Way::recipe) decide(best, true);
  if (best == Way::recipe) return watch(kRarely * watch_period_);
  chosen_period_ = is_again ? std::min(2 * chosen_period_, kLongestPeriod) : 2 * kTrialPeriod;
  // It was no mistake: if nobody is late any more, that was so.
  if (is_again) watch_period_ = kFirstPeriod;
  begin(Phase::chosen, best, chosen_period_);
}

void Lateness::nobody_is_late() {
  if (phase_ != Phase::watching) decide(Way::recipe, false);
  watch(2 * watch_period_);
}

// Or looking.
void Lateness::end_watching() {
  if (!was_late_in_one_in(kFormsFrom)) return nobody_is_late();
  if (!came(Way::recipe).is_known) return begin(phase_, Way::recipe, period_);  // all of it was in a race
  n_form_trials_ = 0;
  may_form_ = some_could_form_;
  // Long calls among many short ones are in the mean of the library's times, and not in the other: it is tried less often then.
  may_pass_ = n_library_ > 0 && library_ns_ / n_library_ < kMostOfLibrary * came(Way::recipe).in_call_ns;
  try_another();
}

void Lateness::end_trial() {
  if (way_ == Way::form && n_sampled_ > 0) {
    const bool is_late = was_late_in_one_in(kStaysFrom);
    // A wrong guess; or the form has nobody to go around, as where the root is late, and the library may be better all the same.
    if (!is_late && !may_pass_) return nobody_is_late();
    if (is_late && !is_slower(Way::form) && change_leaves() && ++n_form_trials_ < kMostFormTrials)
      return begin(Phase::trying, Way::form, 2 * kTrialPeriod);
  }
  try_another();
}

void Lateness::end_chosen() {
  if (way_ == Way::form && n_sampled_ > 0) {
    if (!was_late_in_one_in(kStaysFrom)) return nobody_is_late();
    change_leaves();
  }
  // Calls of the library don't tell whether anybody is late.
  if (way_ == Way::library || period_ >= kLooksFrom)
    begin(Phase::looking, Way::recipe, kFirstPeriod);
  else
    choose();
}

bool Lateness::conclude() {
  std::array<int, kMostLeaves> before = {};
  const auto before_end = std::copy(leaves_.begin(), leaves_.end(), before.begin());
  take_account();
  verdict_.reset();
  switch (phase_) {
    case Phase::watching:
    case Phase::looking:
      end_watching();
      break;
    case Phase::trying:
      end_trial();
      break;
    case Phase::chosen:
      end_chosen();
      break;
  }
  forget_period();
  return !std::equal(before.begin(), before_end, leaves_.begin(), leaves_.end());
}

void Lateness::forget_period() {
  n_calls_ = n_asked_ = n_could_trust_ = n_trusted_ = 0;
  n_sampled_ = 0;
  n_intervals_ = 0;
  sums_ = {};
  library_ns_ = n_library_ = 0;
  some_could_form_ = false;
  std::fill(words_.begin(), words_.end(), 0);
}

void Lateness::begin_anew() {
  watch(kFirstPeriod);
  forget_period();
  forget_begin();
}

}  // namespace eco::runtime
