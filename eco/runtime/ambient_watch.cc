#include "eco/runtime/ambient_watch.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace eco::runtime {
namespace {

using coll::Collective;
using coll::CommonProblem;

// Calls are slow beyond this factor of what is usual, and by more than what schedulers do to all of a period's calls.
constexpr std::int64_t kSlowNumerator = 3;
constexpr std::int64_t kSlowDenominator = 2;
constexpr std::int64_t kSlowFloor_ns = 200'000;
constexpr std::size_t kFewestCompared = 4;  // calls of a period
// Of a race: one lost or disturbed run of each may be missing; what wins must be a twentieth faster, as in a plan.
constexpr std::size_t kFewestTimed = 3;
constexpr std::size_t kScore = 1;  // the second-least
constexpr std::int64_t kGainNumerator = 21;
constexpr std::int64_t kGainDenominator = 20;
constexpr std::uint32_t kMostPatience = 64;
// What is slow is taken for usual where not one look alone has found quiet: with so much patience it is the third.
constexpr std::uint32_t kBelieved = 4;
// A race ends without those cells that the program does not call any more: after so many times the calls that it needs.
constexpr std::uint32_t kRaceCalls = 8;
// Clocks may say anything. Sums and negatives of these still fit: 36 years.
constexpr std::int64_t kLongest_ns = std::int64_t{1} << 60;
constexpr std::int64_t kNotKnown = kLongest_ns;

std::int64_t sane(std::int64_t nanoseconds) {
  return std::clamp<std::int64_t>(nanoseconds, 0, kLongest_ns - 1);
}
std::int64_t sum(std::int64_t a, std::int64_t b) { return std::min(kLongest_ns, a + b); }

// Nobody leaves such a call before all have come, so whoever came last was in it for what it takes.
bool waits_for_all(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
    case Collective::allgather:
    case Collective::alltoall:
      return true;
    default:
      return false;
  }
}

bool same(const CommonProblem& a, const CommonProblem& b) {
  return a.collective == b.collective && a.bytes == b.bytes && a.element_bytes == b.element_bytes &&
         a.commutative == b.commutative && a.exact == b.exact;
}

}  // namespace

std::size_t AmbientWatch::find(const CommonProblem& problem, int root_subnet) const {
  for (std::size_t c = 0; c < n_cells_; ++c) {
    if (cells_[c].root_subnet == root_subnet && same(cells_[c].problem, problem)) return c;
  }
  return kNowhere;
}

const AmbientWatch::Choice* AmbientWatch::settled(const CommonProblem& problem, int root_subnet) const {
  if (!has_moved_) return nullptr;
  const std::size_t cell = find(problem, root_subnet);
  return cell == kNowhere || cells_[cell].choice.is_of_table ? nullptr : &cells_[cell].choice;
}

// One that was not called for a period is forgotten for one that is.
std::size_t AmbientWatch::place_for(const CommonProblem& problem, int root_subnet) {
  const std::size_t known = find(problem, root_subnet);
  if (known != kNowhere) return known;
  std::size_t cell = 0;
  while (cell < n_cells_ && (is_racing_ || calls_[cell].n_period + calls_[cell].n_last_period > 0 ||
                             !cells_[cell].choice.is_of_table))
    ++cell;
  if (cell == kCells || (cell == n_cells_ && is_racing_)) return kNowhere;
  n_cells_ = std::max(n_cells_, cell + 1);
  cells_[cell] = {.problem = problem, .root_subnet = root_subnet};
  calls_[cell] = {};
  forget_samples(cell);
  return cell;
}

void AmbientWatch::forget_samples(std::size_t cell) {
  words_[kFixedWords + cell] = kNotKnown;
  std::fill_n(words_.begin() + static_cast<std::ptrdiff_t>(first_sample(cell)), n_samples(), kNotKnown);
}

std::size_t AmbientWatch::sample(std::size_t cell) {
  Calls& calls = calls_[cell];
  const std::uint32_t call = calls.n_period++;
  if (!is_racing_) {
    // Not the first call of a period: its ranks come together out of an agreement.
    return n_calls_ == 0 ? kNowhere : first_sample(cell) + call % kSamples;
  }
  if (!is_racing(cell)) return kNowhere;
  const auto n = static_cast<std::uint32_t>(calls.contenders.size());
  const std::uint32_t n_calls = n * kInTurn * kTurns;
  if (calls.n_race == n_calls) {
    at_hand_ = &calls.contenders.front();
    return kNowhere;
  }
  const std::uint32_t turn = calls.n_race / kInTurn;
  const std::uint32_t in_turn = calls.n_race % kInTurn;
  const std::uint32_t contender = turn % n;
  if (++calls.n_race == n_calls) --open_;
  at_hand_ = &calls.contenders[contender];
  if (in_turn == 0) return kNowhere;
  return first_sample(cell) + contender * kTimed + (turn / n) * (kInTurn - 1) + in_turn - 1;
}

void AmbientWatch::begin_call(const CommonProblem& problem, int root_subnet) {
  has_begun_ = true;
  word_ = kNowhere;
  at_hand_ = nullptr;
  cell_ = coll::follows_graph(problem.collective) ? kNowhere : place_for(problem, root_subnet);
  if (cell_ != kNowhere) {
    if (!cells_[cell_].choice.is_of_table) at_hand_ = &cells_[cell_].choice;
    word_ = sample(cell_);
    if (word_ != kNowhere) words_[word_] = kNotKnown;  // of an earlier call, maybe
    if (at_hand_ != nullptr && at_hand_->is_of_table) at_hand_ = nullptr;
  }
  ++n_calls_;
}

void AmbientWatch::note_took(std::int64_t nanoseconds) {
  if (!std::exchange(has_begun_, false)) return;
  const std::int64_t took_ns = sane(nanoseconds);
  // The rank that is in calls longest counts: a broadcast's root is out of each long before the others.
  words_[0] = -sum(-words_[0], took_ns);
  if (word_ != kNowhere) words_[word_] = waits_for_all(cells_[cell_].problem.collective) ? took_ns : -took_ns;
}

void AmbientWatch::note_plan(std::size_t cell, std::int64_t nanoseconds) {
  words_[kFixedWords + cell] = sane(nanoseconds);
}

void AmbientWatch::note_spent(std::int64_t asking_ns, std::int64_t looking_ns) {
  words_[1] = sum(words_[1], sane(asking_ns));
  words_[2] = sum(words_[2], sane(looking_ns));
}

std::span<std::int64_t> AmbientWatch::question() { return {words_.data(), first_sample(n_cells_)}; }

std::int64_t AmbientWatch::nth_least(std::size_t cell, std::size_t first, std::size_t n_words,
                                     std::size_t nth, std::size_t fewest) const {
  std::array<std::int64_t, kSamples> known;
  known.fill(std::numeric_limits<std::int64_t>::max());
  std::size_t n = 0;
  for (std::size_t i = 0; i < n_words; ++i) {
    const std::int64_t word = words_[first_sample(cell) + first + i];
    if (word != kNotKnown) known[n++] = waits_for_all(cells_[cell].problem.collective) ? word : -word;
  }
  if (n < fewest) return 0;
  std::sort(known.begin(), known.end());
  return std::max<std::int64_t>(1, known[nth]);
}

bool AmbientWatch::is_any_slow() {
  bool is_any = false;
  for (std::size_t c = 0; c < n_cells_; ++c) {
    Cell& cell = cells_[c];
    cell.now_ns = nth_least(c, 0, kSamples, 0, kFewestCompared);
    if (cell.now_ns == 0 || !cell.choice.is_of_table) continue;
    const std::int64_t plan_ns = words_[kFixedWords + c];
    if (cell.usual_ns == 0 && plan_ns != kNotKnown) cell.usual_ns = plan_ns;
    if (cell.usual_ns == 0) cell.usual_ns = cell.now_ns;
    const std::int64_t more_ns = cell.now_ns - cell.usual_ns;
    const bool is_slow = more_ns > kSlowFloor_ns &&
                         more_ns > cell.usual_ns / kSlowDenominator * (kSlowNumerator - kSlowDenominator);
    if (!is_slow) cell.usual_ns = std::min(cell.usual_ns, cell.now_ns);
    is_any = is_any || is_slow;
  }
  return is_any;
}

void AmbientWatch::get_used_to_it() {
  for (std::size_t c = 0; c < n_cells_; ++c) {
    if (cells_[c].choice.is_of_table) cells_[c].usual_ns = std::max(cells_[c].usual_ns, cells_[c].now_ns);
  }
}

void AmbientWatch::wait_longer() {
  to_wait_ = patience_;
  patience_ = std::min(2 * patience_, kMostPatience);
}

bool AmbientWatch::may_look() const {
  if (has_moved_) return looked_back_ns_ <= called_since_ns_ / kLookingBackShare;
  return looked_ns_ <= kAtOnce_ns + called_ns_ / kLookingShare;
}

void AmbientWatch::spend_on_looks(std::int64_t nanoseconds) {
  std::int64_t& spent_ns = looks_back_ ? looked_back_ns_ : looked_ns_;
  spent_ns = sum(spent_ns, nanoseconds);
}

std::uint32_t AmbientWatch::next_period() const {
  if (always_) return kPeriodOfAlways;
  if (asked_ns_ == 0 || n_called_ == 0) return kFirstPeriod;
  // Once calls have paid for all questions so far: a dear one beside traffic is paid by what cheap ones before left over.
  const std::int64_t mean_ns = std::max<std::int64_t>(1, called_ns_ / n_called_);
  const std::int64_t owed_ns = std::min(asked_ns_, kLongest_ns / kAskingShare) * kAskingShare - called_ns_;
  // Of a program that calls several in turn each cell has its calls in it, and one more for the first, which does not count.
  const std::int64_t shortest =
      std::max<std::int64_t>(kShortestPeriod, static_cast<std::int64_t>((kFewestCompared + 1) * n_cells_));
  // A dear question is paid in several periods, each twice as long: in one it could be tens of seconds where calls slow down.
  const std::int64_t longest = std::min<std::int64_t>(kLongestPeriod, std::int64_t{2} * period_);
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(owed_ns / mean_ns, shortest, std::max(shortest, longest)));
}

void AmbientWatch::begin_period() {
  n_calls_ = 0;
  for (std::size_t c = 0; c < n_cells_; ++c) {
    calls_[c].n_last_period = std::exchange(calls_[c].n_period, 0);
    forget_samples(c);
  }
}

AmbientWatch::Next AmbientWatch::conclude() {
  const std::int64_t called_ns = -words_[0];
  called_ns_ = sum(called_ns_, called_ns);
  n_called_ += n_calls_;
  asked_ns_ = sum(asked_ns_, words_[1]);
  if (has_moved_) called_since_ns_ = sum(called_since_ns_, called_ns);
  spend_on_looks(words_[2]);
  told_.spent_ns = sum(told_.spent_ns, sum(words_[1], words_[2]));
  std::fill_n(words_.begin(), kFixedWords, 0);
  has_begun_ = false;
  at_hand_ = nullptr;
  period_ = next_period();
  bool wants_look = has_moved_;
  if (is_racing_) {
    end_race();
    wants_look = false;
  } else if (is_any_slow()) {
    wants_look = true;
  } else if (!has_moved_ && patience_ > 1) {
    --patience_;
  }
  begin_period();
  if (!always_) {
    if (!wants_look) return Next::calls;
    if (to_wait_ > 0 && !has_moved_) {
      --to_wait_;
      return Next::calls;
    }
    if (!may_look()) return Next::calls;
  }
  ++told_.looks;
  looks_back_ = has_moved_;
  return Next::look;
}

AmbientWatch::Found AmbientWatch::judge(const net::Ambient& found) {
  if (found.is_quiet()) {
    ambient_ = {};
    if (!has_moved_) {
      if (patience_ >= kBelieved) {
        get_used_to_it();
        patience_ = 1;  // whatever is slower than that is new
      } else {
        wait_longer();
      }
      return always_ ? Found::other : Found::nothing;
    }
    wait_longer();
    for (Cell& cell : cells_) cell.choice = {};
    has_moved_ = false;
    ++told_.moves_back;
    return Found::gone;
  }
  if (has_moved_ && found.is_where(ambient_)) return Found::same;  // asked again as soon as its share allows
  ambient_ = found;
  return Found::other;
}

void AmbientWatch::begin_race(std::vector<std::vector<Choice>> contenders) {
  contenders.resize(n_cells_);
  open_ = 0;
  std::uint32_t n_calls = 0;
  for (std::size_t c = 0; c < n_cells_; ++c) {
    if (contenders[c].size() > kContenders) contenders[c].resize(kContenders);
    calls_[c].contenders = std::move(contenders[c]);
    calls_[c].n_race = 0;
    if (calls_[c].contenders.size() < 2) continue;
    ++open_;
    n_calls += static_cast<std::uint32_t>(calls_[c].contenders.size()) * kInTurn * kTurns;
  }
  if (open_ == 0) {
    if (!has_moved_) ambient_ = {};
    get_used_to_it();
    return wait_longer();
  }
  is_racing_ = true;
  longest_race_ = kRaceCalls * n_calls;
  begin_period();
}

void AmbientWatch::end_race() {
  bool has_changed = false;
  const bool had_moved = std::exchange(has_moved_, false);
  n_raced_ = 0;
  for (std::size_t c = 0; c < n_cells_; ++c) {
    std::vector<Choice> contenders = std::exchange(calls_[c].contenders, {});
    if (contenders.size() < 2) contenders.clear();
    Raced* const raced = raced_.data() + n_raced_;
    n_raced_ += contenders.size();
    std::int64_t present_ns = 0;
    std::int64_t best_ns = 0;
    std::size_t best = 0;
    for (std::size_t k = 0; k < contenders.size(); ++k) {
      const std::int64_t score_ns = nth_least(c, k * kTimed, kTimed, kScore, kFewestTimed);
      raced[k] = {.cell = c, .took_ns = score_ns};
      if (score_ns == 0) continue;
      if (k == 0) {
        present_ns = best_ns = score_ns;
        continue;
      }
      if (present_ns == 0) continue;  // there is nothing to hold it against
      if (score_ns > present_ns) spend_on_looks((score_ns - present_ns) * kInTurn * kTurns);
      const std::int64_t with_gain_ns = best == 0 ? score_ns / kGainDenominator * kGainNumerator : score_ns;
      if (with_gain_ns < best_ns) {
        best = k;
        best_ns = score_ns;
      }
    }
    // Where the table's choice is as good it serves: it needs no looks back.
    for (std::size_t k = 1; k < contenders.size() && best_ns > 0; ++k) {
      const std::int64_t score_ns = raced[k].took_ns;
      if (contenders[k].is_of_table && score_ns > 0 && score_ns / kGainNumerator * kGainDenominator < best_ns)
        best = k;
    }
    if (always_ && !contenders.empty()) best = 1 + told_.moves % (contenders.size() - 1);
    if (!contenders.empty()) raced[best].serves = true;
    if (best > 0) {
      has_changed = true;
      cells_[c].choice = std::move(contenders[best]);
    }
    has_moved_ = has_moved_ || !cells_[c].choice.is_of_table;
  }
  is_racing_ = false;
  if (has_changed) ++(had_moved && !has_moved_ ? told_.moves_back : told_.moves);
  if (has_moved_ && !had_moved) called_since_ns_ = looked_back_ns_ = 0;
  if (!has_moved_) {
    ambient_ = {};
    get_used_to_it();
  }
  wait_longer();
}

}  // namespace eco::runtime
