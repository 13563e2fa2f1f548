// One instant for all ranks to begin at, so that what is timed after it does not depend on who left a barrier first.
//
//   const bool one_clock = reads_one_clock(native, rank, n_ranks);  // collective
//   CommonStart start(native, one_clock, lead_ns);
//   start.fit();                                      // collective; where there are many to come
//   const Begin begin = start.wait();               // collective
//   work(); seconds = now_ns() - begin.at_ns;       // the call's time is the latest rank's, less what all slept too long
//   start.wait_after(0.01);                         // and again, 10 ms after that
//   if (late on any rank) start.widen();            // on all ranks alike; the sample is worth nothing
//
// Ranks of one machine (one boot id and time namespace, so one CLOCK_MONOTONIC; the lab is one) sleep to an instant that
// rank 0 names a little ahead. Between machines there is no such clock: a barrier must do. A processor that was idle wakes a
// sleeper late, a virtual one by a tenth of a millisecond: what passes before the first rank is awake is no part of the work.
#pragma once

#include <cstdint>

#include "eco/transport/native.h"

namespace eco::runtime {

// Local: CLOCK_MONOTONIC.
std::int64_t now_ns();
void sleep_until(std::int64_t instant_ns);

// Collective: do all ranks read the same CLOCK_MONOTONIC?
bool reads_one_clock(transport::Native& native, int rank, int n_ranks);

struct Begin {
  std::int64_t at_ns = 0;
  double overslept_s = 0;  // this rank, by so much
  bool late = false;       // this rank heard of the instant only when it had passed
  double heard_s = 0;      // so long after it was named
};

class CommonStart {
 public:
  // Local. `lead_ns`: what telling all ranks the instant takes, and then its last packets need to leave a slow medium;
  // grows where it proves too short, and comes back when it no longer does.
  CommonStart(transport::Native& native, bool one_clock, std::int64_t lead_ns = kQuiet_ns)
      : native_(native), one_clock_(one_clock), least_ns_(lead_ns), lead_ns_(lead_ns) {}

  static constexpr std::int64_t kQuiet_ns = 10'000'000;  // the medium is empty on any network worth naming
  static constexpr std::int64_t kQuick_ns = 3'000'000;   // where a job waits for it

  // Collective. From now on no further ahead than this group on this network needs: some instants are told, and all agree
  // on what the slowest rank usually took to hear of them. Never further ahead than before.
  void fit();
  // Collective.
  Begin wait();
  // So long after the last instant, which nobody has to be told: what is to be timed by then is short, and known to be. Like
  // wait() where ranks read no common clock. The same `seconds` on all ranks.
  Begin wait_after(double seconds);
  // The next instants are named further ahead; false if they already are as far as is sensible. The same on all ranks, as
  // the number of instants is: after some that nobody widened they come nearer again.
  bool widen();

  std::int64_t lead_ns() const { return lead_ns_; }
  std::int64_t least_ns() const { return least_ns_; }
  bool has_one_clock() const { return one_clock_; }

 private:
  Begin sleep_until_last() const;

  transport::Native& native_;
  bool one_clock_;
  std::int64_t least_ns_;
  std::int64_t lead_ns_;
  std::int64_t last_ns_ = 0;  // the last instant
  int n_calm_ = 0;
};

}  // namespace eco::runtime
