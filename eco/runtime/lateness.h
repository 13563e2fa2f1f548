// Which way the calls of one collective of one communicator go where ranks come late: over the recipe, around late ranks
// (eco/late), or to the library; told from what calls took. Agreed before calls that all ranks count alike. Pure.
//
//   if (lateness.is_due()) {                                    // the same on all ranks, before a call
//     native.allreduce_min(lateness.question());                // collective
//     native.allreduce_sum(lateness.sums());
//     lateness.conclude();
//   }
//   lateness.note_begin(now_ns);
//   ...                                                         // the call, lateness.way()
//   lateness.note_in_call(took_ns, counts);                     // after it, and then one of
//   lateness.note_other_ways(can_form, library_ns);             // it went over the recipe,
//   lateness.note_took(took_ns, unskewed_ns);                   // and took this rank so long
//   lateness.note_found(source.late(), could_trust);            // it formed
//   lateness.note_trusted(waited);                              // it sent to the leaves unasked
//   lateness.note_nothing();                                    // any other
//
// Of each period some calls are kept, the same ones on all ranks. In a call over the recipe somebody was late if some
// rank was in it for longer than another by more than the call itself takes, and a rank's patience; in one that formed, if
// a rank found somebody late. Where that is so in enough of them the other ways are tried, a period each: to form, and the
// library where its own calls take less than twice what ranks are in these for. Then calls go the way in which ranks were
// in them for least, in the mean over ranks and calls but the longest and shortest, unless they follow each other more
// slowly so. The recipe is looked at again now and then. Whoever one rank finds late in nearly all of a period's calls is
// a leaf from then on, until it hardly ever is late, or waits as one. docs/adr/0026, 0035 and 0042 say why so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace eco::runtime {

// When a communicator's collectives form around late ranks, where they can.
enum class Forming : std::uint8_t { always, where_it_pays };

class Lateness {
 public:
  enum class Way : std::uint8_t { recipe, form, library };
  static constexpr std::size_t kWays = 3;

  // Periods, in calls. The first is short, since programs may be; each that changes nothing is followed by one twice as long.
  static constexpr std::uint32_t kFirstPeriod = 8;
  static constexpr std::uint32_t kLongestPeriod = 512;
  // Of another way that is tried: a wrong guess is over soon.
  static constexpr std::uint32_t kTrialPeriod = 8;
  // Calls of a period that are compared: few enough for one short message.
  static constexpr std::size_t kMostSamples = 16;
  // Planned as leaves, of the first so many ranks.
  static constexpr std::size_t kMostLeaves = 16;
  static constexpr std::size_t kMostCounted = 128;
  // Leaves are trusted to come in all calls but one in so many, which shows whether they are still late.
  static constexpr std::uint32_t kTrusting = 5;
  // A way that was found best is held against the recipe after a period as long as this, or longer.
  static constexpr std::uint32_t kLooksFrom = 64;

  Lateness(int n_ranks, int rank);

  // The same on all ranks.
  Way way() const { return way_; }
  bool is_due() const { return n_calls_ == period_; }
  std::span<const int> leaves() const { return leaves_; }
  // May the call at hand, which forms, send to the leaves unasked?
  bool trusts() const { return !leaves_.empty() && n_could_trust_ % kTrusting != 0; }

  // Local, before each call: when it begins, by this rank's clock.
  void note_begin(std::int64_t now_ns);
  // Local: what passes until the next call is none of the program's.
  void forget_begin() { began_ns_ = kNeverBegan; }
  // The same on all ranks, after each call over the recipe: what else it could do. `library_ns`: what it takes there with
  // nobody late; 0: it would gain nobody anything there.
  void note_other_ways(bool can_form, std::int64_t library_ns);
  // Local, after each call, whichever way it goes: this rank was in there for so long. `counts`: neither does it keep this
  // rank in it until all have come, whatever serves, nor is it of a race of recipes.
  void note_in_call(std::int64_t took_ns, bool counts);
  // Local, after each call over the recipe: it would take no rank more than `unskewed_ns` if all came
  // together and had some patience.
  void note_took(std::int64_t took_ns, std::int64_t unskewed_ns);
  // Local, after one that keeps this rank in it until all have come, whatever the others gain.
  void note_waits_anyway();
  // Local, after each call that formed and asked all: the ranks that this one found late. Could it have trusted the leaves?
  void note_found(std::span<const int> late, bool could_trust);
  // Local, after one that trusted them. Did this rank wait in it, as a leaf that is late does not?
  void note_trusted(bool waited);
  // Local, after any other.
  void note_nothing() { ++n_calls_; }

  // For the report: what ranks are in a call for by each way, in the mean, and which way calls go from then on.
  struct Verdict {
    Way way = Way::recipe;
    bool somebody_is_late = true;
    std::array<std::int64_t, kWays> in_call_ns{};  // 0: not known
    std::array<bool, kWays> is_slower{};           // calls follow each other too slowly for it
    std::string text() const;
  };
  // Of the last conclude(), the same on all ranks; nothing where calls go on as before, or another way is but tried.
  const std::optional<Verdict>& verdict() const { return verdict_; }

  // What this rank has to say of the period. Before conclude() each becomes the least of all ranks', or the sum.
  std::span<std::int64_t> question();
  std::span<std::int64_t> sums();
  // The next period begins. True if others are leaves than before.
  bool conclude();
  // The same on all ranks: what calls take is no more what it was. Allocates nothing.
  void begin_anew();

 private:
  enum class Phase : std::uint8_t {
    watching,  // over the recipe: is anybody late?
    trying,    // another way, for a short while
    chosen,    // the best
    looking,   // over the recipe once more, for a short while
  };
  // What periods of one way came to, over all ranks.
  struct Came {
    bool is_known = false;
    bool is_of_before = false;    // with other leaves: the next period of it counts alone
    std::int64_t in_call_ns = 0;  // a rank, in the mean
    std::int64_t interval = 0;    // between calls, the slowest rank's, as in intervals_; 0: not known
  };

  // Where the call at hand is kept, the nth of the period that says something; null if it is not.
  std::int64_t* sample(std::uint32_t nth, std::size_t n_words);
  std::size_t n_words_of_samples() const;
  bool was_late(std::size_t sample) const;
  bool was_late_in_one_in(std::size_t n) const;
  std::size_t n_found_late(std::size_t rank) const;
  bool waits_as_leaf(std::size_t rank) const;
  std::int64_t usual_interval() const;
  std::size_t n_summed() const;
  std::optional<std::int64_t> usual_in_call() const;
  void take_account();
  bool change_leaves();
  void begin(Phase phase, Way way, std::uint32_t period);
  void watch(std::uint32_t period);
  void forget_period();
  void nobody_is_late();
  void end_watching();
  void end_trial();
  void end_chosen();
  void try_another();
  void choose();
  void decide(Way way, bool somebody_is_late);
  bool is_possible(Way way) const;  // another than the recipe
  bool is_slower(Way way) const;
  bool is_better(Way way) const;
  Came& came(Way way) { return came_[static_cast<std::size_t>(way)]; }
  const Came& came(Way way) const { return came_[static_cast<std::size_t>(way)]; }

  Phase phase_ = Phase::watching;
  Way way_ = Way::recipe;
  std::uint32_t period_ = kFirstPeriod;
  std::uint32_t watch_period_ = kFirstPeriod;  // the last one of watching, or the next
  Way chosen_ = Way::recipe;                   // last; the recipe: none since somebody was found late
  std::uint32_t chosen_period_ = 0;            // its last
  std::uint32_t n_calls_ = 0;                  // of this period
  std::uint32_t n_asked_ = 0;                  // of those that formed: that trusted nobody
  std::uint32_t n_could_trust_ = 0;            // likewise: that trusted the leaves, or could have
  std::uint32_t n_trusted_ = 0;                // and that did
  std::size_t n_sampled_ = 0;
  int n_form_trials_ = 0;           // that changed the leaves
  std::array<Came, kWays> came_{};  // since somebody was found late
  bool may_form_ = false;
  bool may_pass_ = false;  // to the library
  // Of the calls of this period over the recipe.
  bool some_could_form_ = false;
  std::int64_t library_ns_ = 0;
  std::int64_t n_library_ = 0;
  static constexpr std::int64_t kNeverBegan = -1;
  std::int64_t began_ns_ = kNeverBegan;  // the call at hand
  // Between the beginnings of the last calls of this period, in units of kMostSamples ns, of which a sum has room.
  std::array<std::int64_t, kMostSamples> intervals_{};
  std::size_t n_intervals_ = 0;
  // Of each sampled call what ranks were in it for, and of how many that is.
  std::array<std::int64_t, 2 * kMostSamples> sums_{};
  // The negative of the usual interval. Then of calls over the recipe: what the
  // call took, its negative, what it takes unskewed; of those that formed: 0, or -1 if
  // somebody was late, and behind all of these, for each rank, less than nothing in how many of the sampled calls this one
  // found it late; and for each rank in how many that trusted leaves it waited.
  static constexpr std::size_t kFirstSample = 1;
  static constexpr std::size_t kStaticWords = 3;
  std::vector<std::int64_t> words_;
  std::size_t n_counted_;
  std::size_t rank_;
  std::vector<int> leaves_;
  std::array<bool, kMostCounted> is_no_leaf_{};  // having waited as one, since somebody was found late
  std::optional<Verdict> verdict_;
};

}  // namespace eco::runtime
