// Whether a communicator is armed now: one agreement, of what each of its ranks knows.
//
//   const Readiness ready = agree_on_readiness(native, {.has_room = true, .budget_left_s = 4.2, .passed_s = 0.3, ...});
//   if (ready.pays) arm();                          // the same on all ranks
//
// A program that makes many communicators and calls a few collectives on each must not pay for plans: a communicator is
// armed when its calls have taken many times what arming takes, so that one that ends right then has lost little; or
// where what is known of the same ranks says that the call at hand alone gains what arming costs, or that the calls so far
// would have, as long as all that a job armed for that reason took little of its time; or where it is the first one of all
// ranks of the job, whatever its calls took: what is measured for it serves its copies and later jobs. Each
// rank has clocks of its own, so what they say is compared once it is agreed; and when to ask is told from what all
// ranks count alike (Pace).
#pragma once

#include <cstddef>
#include <cstdint>

#include "eco/base/hot.h"
#include "eco/transport/native.h"

namespace eco::runtime {

// Of one rank.
struct Standing {
  bool has_room = true;       // among the communicators that may be armed, or memory for what follows
  bool is_first = false;      // it has all ranks of the job, and none that has them came so far before it
  double budget_left_s = 0;   // for measuring
  double passed_s = 0;        // that the communicator's calls took so far, none of them served
  double arming_s = 0;        // that arming takes from nothing
  double known_arming_s = 0;  // and of what is known
  double known_gain_s = 0;    // what the call at hand gains by what is known
  double missed_gain_s = 0;   // and what the calls before it would have gained
  double early_s = 0;         // what the job has left for arming that missed gains are the only reason for
  std::uint64_t known_digest = 0;  // KnownGroup::digest; 0: nothing is known
  std::int64_t proposed_tags = 0;  // a range of them
};

// Of the group.
struct Readiness {
  bool has_room = false;
  double budget_left_s = 0;  // of the rank that has least
  bool is_known = false;     // all ranks know the same
  bool pays = false;
  bool same_tags = false;  // all ranks propose the same
};

// Collective. Throws TransportError where the library fails.
Readiness agree_on_readiness(transport::Native& native, const Standing& mine);

// At which calls a communicator's ranks ask each other, told from the calls and their bytes, which all ranks count alike:
// asking is one short allreduce, and never more than a percent or two of what has passed.
class Pace {
 public:
  static constexpr std::int64_t kFirst = 64;
  // Of a communicator that is armed when it is due for the first time, whatever its calls took. Arming is seven agreements,
  // each as long as a short call, and a look whether hosts have moved, which may take as long again; a plan saves half of a
  // call at most: from so many short calls on the program can have lost what arming costs.
  static constexpr std::int64_t kFirstOfWorld = 32;

  Pace() = default;
  explicit Pace(std::int64_t first) : next_(first) {}

  // Local. A call of so many bytes passes; true if its ranks ask before it.
  ECO_ON_EVERY_CALL bool is_due(std::size_t bytes);
  // Local. One passes before which they can't ask.
  void note(std::size_t bytes);

 private:
  std::int64_t passed_ = 0;
  std::int64_t next_ = kFirst;
};

}  // namespace eco::runtime
