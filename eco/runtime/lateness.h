// Whether a collective of one communicator forms around late ranks (eco/late), told from what its calls took: agreed
// before calls that all ranks count alike. Pure.
//
//   if (lateness.is_due()) {                                    // the same on all ranks, before a call
//     native.allreduce_min(lateness.question());                // collective
//     lateness.conclude();
//   }
//   lateness.note_begin(now_ns);
//   if (lateness.forms()) lateness.note_found(source.late());   // after it
//   else lateness.note_took(took_ns, unskewed_ns);
//
// Of each period some calls are kept, the same ones on all ranks. In a static call somebody was late if some rank was in it for
// longer than another by more than the call itself takes, and a rank's patience; in one that formed, if a rank found
// somebody late. Where that is so in enough of them, the next period forms, and after one that formed so does the next unless
// its calls followed each other more slowly than static ones had. Whoever one rank finds late in nearly all of a period's calls
// is a leaf from then on. docs/adr/0026 and 0035 say why so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace eco::runtime {

// When a communicator's collectives form around late ranks, where they can.
enum class Forming : std::uint8_t { always, where_it_pays };

class Lateness {
 public:
  // Periods, in calls. The first is short, since programs may be; each that changes nothing is followed by one twice as long.
  static constexpr std::uint32_t kFirstPeriod = 8;
  static constexpr std::uint32_t kLongestPeriod = 512;
  // Of the first that forms: a wrong guess is over soon.
  static constexpr std::uint32_t kFirstFormingPeriod = 16;
  // Calls of a period that are compared: few enough for one short message.
  static constexpr std::size_t kMostSamples = 16;
  // Planned as leaves, of the first so many ranks.
  static constexpr std::size_t kMostLeaves = 16;
  static constexpr std::size_t kMostCounted = 128;

  explicit Lateness(int n_ranks);

  // The same on all ranks.
  bool forms() const { return forms_; }
  bool is_due() const { return n_calls_ == period_; }
  std::span<const int> leaves() const { return leaves_; }

  // Local, before each call: when it begins, by this rank's clock.
  void note_begin(std::int64_t now_ns);
  // Local: what passes until the next call is none of the program's.
  void forget_begin() { began_ns_ = kNeverBegan; }
  // Local, after each call: a static one took this rank so long, and would take no rank more than `unskewed_ns` if all came
  // together and had some patience.
  void note_took(std::int64_t took_ns, std::int64_t unskewed_ns);
  // Local, after a static call that keeps this rank in it until all have come, whatever the others gain.
  void note_waits_anyway();
  // Local, after each call that formed: the ranks that this one found late.
  void note_found(std::span<const int> late);

  // What this rank has to say of the period. Before conclude() each becomes the least of all ranks'.
  std::span<std::int64_t> question();
  // The next period begins. True if others are leaves than before.
  bool conclude();

 private:
  // Where the call at hand is kept; null if it is not.
  std::int64_t* sample(std::size_t n_words);
  bool was_late(std::size_t sample) const;
  std::int64_t usual_interval() const;
  bool add_leaves();

  bool forms_ = false;
  std::uint32_t period_ = kFirstPeriod;
  std::uint32_t static_period_ = kFirstPeriod;  // the last, or the next
  std::uint32_t n_calls_ = 0;                   // of this period
  std::size_t n_sampled_ = 0;
  static constexpr std::int64_t kNeverBegan = -1;
  std::int64_t began_ns_ = kNeverBegan;  // the call at hand
  // Between the beginnings of the last calls of this period, in units of kMostSamples ns, of which a sum has room.
  std::array<std::int64_t, kMostSamples> intervals_{};
  std::size_t n_intervals_ = 0;
  std::int64_t static_interval_ =
      0;  // the usual one of the last static period, the slowest rank's; 0: not known
  // The negative of the usual interval. Then of static calls: what the call took, its negative, what it takes unskewed; of others: 0, or -1 if
  // somebody was late, and behind all of these, for each rank, less than nothing in how many of the sampled calls this one
  // found it late.
  static constexpr std::size_t kInterval = 1;
  static constexpr std::size_t kStaticWords = 3;
  std::vector<std::int64_t> words_;
  std::size_t n_counted_;
  std::vector<int> leaves_;
};

}  // namespace eco::runtime
