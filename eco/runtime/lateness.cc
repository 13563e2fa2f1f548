#include "eco/runtime/lateness.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace eco::runtime {
namespace {

// Shares of a period's calls in which somebody has to be late. To form: so often that it isn't the machine's noise. To go
// on: half as often, since what is about there should not go to and fro. A leaf: nearly always.
constexpr std::size_t kFormsFrom = 4;  // one in so many
constexpr std::size_t kStaysFrom = 8;  // likewise
constexpr std::size_t kAlways = 3;     // of
constexpr std::size_t kOf = 4;
// Calls that formed may follow each other so much more slowly than static ones; less is what programs vary by. Where they
// are slower, forming cost the program more than its ranks waited: it is tried again after so many times as many calls.
constexpr std::int64_t kSlower = 5;  // of
constexpr std::int64_t kThan = 4;
constexpr std::uint32_t kRarely = 8;
// One in so many intervals between calls is none of the calls'.
constexpr std::size_t kOneOff = 7;
// Clocks may say anything. Sums and negatives of these still fit: 36 years.
constexpr std::int64_t kNever_ns = std::int64_t{1} << 60;

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

Lateness::Lateness(int n_ranks) : n_counted_(std::min(static_cast<std::size_t>(n_ranks), kMostCounted)) {
  words_.resize(kInterval + std::max(kStaticWords * kMostSamples, kMostSamples + n_counted_));
}

// Not the first call of a period: its ranks come together out of an agreement. Of a long one every so many-th.
std::int64_t* Lateness::sample(std::size_t n_words) {
  const std::uint32_t call = n_calls_++;
  if (call == 0 || call % stride_of(period_) != 0) return nullptr;
  return &words_[kInterval + n_words * (n_sampled_++ % kMostSamples)];
}

// Not before a period's first call: the agreement lies between.
void Lateness::note_begin(std::int64_t now_ns) {
  const std::int64_t before_ns = std::exchange(began_ns_, within_reason(now_ns));
  if (n_calls_ == 0 || before_ns == kNeverBegan) return;
  intervals_[n_intervals_++ % kMostSamples] = within_reason(began_ns_ - before_ns) / kMostSamples;
}

// The mean without the longest: a program may stop for something else now and then. A rank may be some calls ahead of the others in one and wait for them in the next, which evens out.
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

void Lateness::note_took(std::int64_t took_ns, std::int64_t unskewed_ns) {
  std::int64_t* const words = sample(kStaticWords);
  if (words == nullptr) return;
  words[0] = within_reason(took_ns);
  words[1] = -within_reason(took_ns);
  words[2] = within_reason(unskewed_ns);
}

// Neither the least nor the greatest of what the call took.
void Lateness::note_waits_anyway() {
  std::int64_t* const words = sample(kStaticWords);
  if (words != nullptr) std::fill_n(words, kStaticWords, kNever_ns);
}

void Lateness::note_found(std::span<const int> late) {
  std::int64_t* const word = sample(1);
  if (word == nullptr) return;
  *word = late.empty() ? 0 : -1;
  for (const int rank : late) {
    const auto place = static_cast<std::size_t>(rank);
    if (place < n_counted_) --words_[kInterval + kMostSamples + place];
  }
}

std::span<std::int64_t> Lateness::question() {
  words_[0] = -usual_interval();
  const std::size_t n_words =
      forms_ ? kMostSamples + n_counted_ : kStaticWords * std::min(n_sampled_, kMostSamples);
  return {words_.data(), kInterval + n_words};
}

bool Lateness::was_late(std::size_t sample) const {
  if (forms_) return words_[kInterval + sample] < 0;
  const std::int64_t* const words = &words_[kInterval + kStaticWords * sample];
  const std::int64_t least_ns = words[0];
  const std::int64_t most_ns = -words[1];
  return most_ns - least_ns > words[2];
}

bool Lateness::add_leaves() {
  const std::size_t n_before = leaves_.size();
  for (std::size_t rank = 0; rank < n_counted_ && leaves_.size() < kMostLeaves; ++rank) {
    const auto n_calls = static_cast<std::size_t>(-words_[kInterval + kMostSamples + rank]);
    const bool is_one = std::find(leaves_.begin(), leaves_.end(), static_cast<int>(rank)) != leaves_.end();
    if (!is_one && n_calls > 0 && n_calls * kOf >= n_sampled_ * kAlways)
      leaves_.push_back(static_cast<int>(rank));
  }
  return leaves_.size() > n_before;
}

bool Lateness::conclude() {
  const std::size_t n_samples = std::min(n_sampled_, kMostSamples);
  std::size_t n_late = 0;
  for (std::size_t i = 0; i < n_samples; ++i) n_late += was_late(i) ? 1 : 0;
  const auto times = [](std::uint32_t n, std::uint32_t period) {
    return std::min(n * period, kLongestPeriod);
  };
  const bool stays = forms_ && n_late * kStaysFrom >= n_samples;
  const bool is_slower = stays && static_interval_ > 0 && -words_[0] * kThan > static_interval_ * kSlower;
  if (!forms_) static_interval_ = -words_[0];
  bool changes = false;
  if (stays && !is_slower) {
    changes = add_leaves();
    period_ = times(2, period_);
  } else if (forms_) {
    forms_ = false;
    changes = !leaves_.empty();
    leaves_.clear();
    period_ = static_period_ = times(is_slower ? kRarely : 2, static_period_);
  } else if (n_late * kFormsFrom >= n_samples) {
    forms_ = true;
    period_ = kFirstFormingPeriod;
  } else {
    period_ = static_period_ = times(2, static_period_);
  }
  n_calls_ = 0;
  n_sampled_ = 0;
  n_intervals_ = 0;
  std::fill(words_.begin(), words_.end(), 0);
  return changes;
}

}  // namespace eco::runtime
