// Whether a communicator's calls steadily take longer than they did, when its ranks look for ambient traffic, and which of some
// recipes is then the fastest: agreed before calls that all ranks count alike. Pure.
//
//   if (watch.is_due()) {                                    // before a call, the same on all ranks
//     native.allreduce_min(watch.question());                // collective
//     if (watch.conclude() == AmbientWatch::Next::look) ...  // find_ambient(), then watch.judge(found)
//   }
//   watch.begin_call(problem, root_subnet);                  // each call, likewise
//   watch.note_took(nanoseconds);                            // after it, local
//
// Calls of a few cells (a problem, and its root's subnet) are watched. Of each period the last calls of each are kept;
// of a call what counts is the least of its ranks' times where all wait for all (a rank that came last waited for
// nobody), else the greatest; of a period's calls the least, which neither skew of single calls nor bursts have. A cell
// is slow if that is far above the least that it was so far, or above what the plan has measured. Nothing more follows
// from it than a look at the network, within a share of the time that the calls take: if that finds links loaded, the
// recipes that are predicted to be better there take turns with the present one in the program's own calls, and what
// was fastest stays, until a later look finds other traffic or none. docs/adr/0029 says why so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/net/ambient.h"

namespace eco::runtime {

// When recipes follow ambient traffic: where calls take longer; or, for tests, as if there were other traffic each time that
// it is asked, and whatever a race shows they move.
enum class Following : std::uint8_t { where_it_pays, always };

class AmbientWatch {
 public:
  static constexpr std::size_t kCells = 6;       // watched at a time
  static constexpr std::size_t kSamples = 8;     // calls of a cell and period that are compared
  static constexpr std::size_t kContenders = 4;  // of a race, the present choice among them
  // Of a race each runs so many calls in a turn, of which the first is not timed (connections wake), in so many turns.
  static constexpr std::uint32_t kInTurn = 3;
  static constexpr std::uint32_t kTurns = 2;
  static constexpr std::size_t kTimed = (kInTurn - 1) * kTurns;
  static constexpr std::uint32_t kFirstPeriod = 16;
  static constexpr std::uint32_t kShortestPeriod = 8;
  static constexpr std::uint32_t kLongestPeriod = 4096;
  // Of what calls take, one part in so many for asking, and for looks, which have a second at once. Looks back, whether the
  // traffic that recipes moved off is gone, have their own share of what calls take since: less than the least that a move
  // gains, and not what was spent before, or a move that was dear to find would be kept long after its traffic.
  static constexpr std::int64_t kAskingShare = 100;
  static constexpr std::int64_t kLookingShare = 100;
  static constexpr std::int64_t kLookingBackShare = 50;
  static constexpr std::int64_t kAtOnce_ns = 1'000'000'000;

  // What serves a cell: of the table, or this; no recipe: the library.
  struct Choice {
    bool is_of_table = true;
    std::optional<algo::Recipe> recipe{};
    friend bool operator==(const Choice&, const Choice&) = default;
  };
  struct Cell {
    coll::CommonProblem problem;
    int root_subnet = 0;
    Choice choice{};
    std::int64_t usual_ns = 0;  // the least that a period showed, or the plan's; 0: not known yet
    std::int64_t now_ns = 0;    // of the last period; 0: too few calls
  };
  enum class Next : std::uint8_t { calls, look };
  enum class Found : std::uint8_t { nothing, gone, same, other };

  explicit AmbientWatch(Following when = Following::where_it_pays) : always_(when == Following::always) {}

  bool follows_always() const { return always_; }
  // Local, the same on all ranks.
  bool is_due() const { return is_racing_ ? n_calls_ >= longest_race_ || open_ == 0 : n_calls_ >= period_; }
  bool has_moved() const { return has_moved_; }
  bool is_racing() const { return is_racing_; }
  std::span<const Cell> cells() const { return {cells_.data(), n_cells_}; }
  // What choices were made for; during a race what they are compared for; else quiet.
  const net::Ambient& ambient() const { return ambient_; }
  // Of the cell that a problem is of, in calls of all kinds; null: the table's.
  const Choice* settled(const coll::CommonProblem& problem, int root_subnet) const;

  // Local, the same on all ranks, for every call.
  void begin_call(const coll::CommonProblem& problem, int root_subnet);
  // What serves the call that begin_call() began last; null: the table.
  const Choice* at_hand() const { return at_hand_; }
  // Local: that call took this rank so long. Left out where it is not known.
  void note_took(std::int64_t nanoseconds);
  // Local: this rank spent so long on asking and looking.
  void note_spent(std::int64_t asking_ns, std::int64_t looking_ns);

  // Local, before the question: what the plan has measured of calls like a cell's or larger ones.
  void note_plan(std::size_t cell, std::int64_t nanoseconds);
  // What this rank has to say. Before conclude() each word becomes the least of all ranks'.
  std::span<std::int64_t> question();
  // The next period begins.
  Next conclude();
  // After a look, the same on all ranks. Found::other: recipes are to be found for it, and begin_race() to be called.
  Found judge(const net::Ambient& found);
  // Each cell's choices, the present one in front; of cells without any the list is shorter or has but that. If there
  // are none at all, everything stays as it is.
  void begin_race(std::vector<std::vector<Choice>> contenders);

  // For the report.
  struct Told {
    std::uint64_t looks = 0;
    std::uint64_t moves = 0;       // races that ended with another choice
    std::uint64_t moves_back = 0;  // to the table
    std::int64_t spent_ns = 0;     // on asking and looking, but for the last time
    Told since(const Told& before) const {
      return {looks - before.looks, moves - before.moves, moves_back - before.moves_back,
              spent_ns - before.spent_ns};
    }
  };
  const Told& told() const { return told_; }
  // What the race that ended last showed of its contenders, in the order of cells and of contenders.
  struct Raced {
    std::size_t cell = 0;
    std::int64_t took_ns = 0;  // 0: too few calls
    bool serves = false;       // from then on
  };
  std::span<const Raced> raced() const { return {raced_.data(), n_raced_}; }

 private:
  struct Calls {
    std::uint32_t n_period = 0;       // of this period
    std::uint32_t n_last_period = 0;  // and of the one before
    std::uint32_t n_race = 0;
    std::vector<Choice> contenders{};  // of a race
  };
  static constexpr std::size_t kFixedWords = 3;
  static constexpr std::uint32_t kPeriodOfAlways = 3;
  static constexpr std::size_t kNowhere = SIZE_MAX;

  std::size_t find(const coll::CommonProblem& problem, int root_subnet) const;
  std::size_t place_for(const coll::CommonProblem& problem, int root_subnet);
  // Of each cell.
  std::size_t n_samples() const { return is_racing_ ? kContenders * kTimed : kSamples; }
  std::size_t first_sample(std::size_t cell) const { return kFixedWords + kCells + cell * n_samples(); }
  // Where the call at hand, of this cell, is kept.
  std::size_t sample(std::size_t cell);
  bool is_racing(std::size_t cell) const { return is_racing_ && calls_[cell].contenders.size() > 1; }
  void begin_period();
  void forget_samples(std::size_t cell);
  // The n-th least of agreed times, if so many are known; else 0.
  std::int64_t nth_least(std::size_t cell, std::size_t first, std::size_t n_words, std::size_t nth,
                         std::size_t fewest) const;
  bool is_any_slow();
  void end_race();
  // Looks and slower contenders of a time: before a move, or since.
  void spend_on_looks(std::int64_t nanoseconds);
  // Whatever calls take longer for, it is usual from now on.
  void get_used_to_it();
  void wait_longer();
  bool may_look() const;
  std::uint32_t next_period() const;

  bool always_;
  std::array<Cell, kCells> cells_{};
  std::array<Calls, kCells> calls_{};
  std::size_t n_cells_ = 0;
  bool has_begun_ = false;           // a call is at hand
  std::size_t cell_ = kNowhere;      // its cell
  std::size_t word_ = kNowhere;      // where its time goes
  const Choice* at_hand_ = nullptr;  // what serves it
  // Time of calls, of asking and looking; each cell's plan; then samples. The most: of a race.
  std::array<std::int64_t, kFixedWords + kCells + kCells * kContenders * kTimed> words_{};
  std::uint32_t period_ = always_ ? kPeriodOfAlways : kFirstPeriod;
  std::uint32_t n_calls_ = 0;  // of this period
  // Agreed, of all periods.
  std::int64_t called_ns_ = 0;
  std::int64_t n_called_ = 0;
  std::int64_t asked_ns_ = 0;
  std::int64_t looked_ns_ = 0;        // and what races took beyond the calls' own time
  std::int64_t called_since_ns_ = 0;  // since recipes moved
  std::int64_t looked_back_ns_ = 0;   // likewise
  bool looks_back_ = false;           // the last look, and the race after it
  std::uint32_t patience_ = 1;        // questions that a look that changes nothing puts off the next one by
  std::uint32_t to_wait_ = 0;         // of them
  bool is_racing_ = false;
  bool has_moved_ = false;
  std::size_t open_ = 0;  // cells whose race is not over
  std::uint32_t longest_race_ = 0;
  net::Ambient ambient_{};  // that choices were made for
  Told told_{};
  std::array<Raced, kCells * kContenders> raced_{};
  std::size_t n_raced_ = 0;
};

}  // namespace eco::runtime
