// What a process has come to know in its job by arming, so that the next communicator need not ask again: which hosts
// were looked after, what ranks agreed on, and what arming takes.
//
//   request.job = &job;                                     // Communicator::arm() looks at its hosts and adds them
//   job.remember(ranks, communicator.known_group());        // then, or after learn()
//   if (auto known = job.find(ranks)) ...                   // Communicator::arm_known(), once all ranks have the same
//
// Local, any thread. What one process knows another of the same ranks may lack, where threads arm at the same time: a
// group uses it only after its ranks have compared KnownGroup::digest (readiness.h).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/plan/plan_table.h"
#include "eco/runtime/known_cells.h"

namespace eco::runtime {

// What the ranks of a group agreed on. Never changed once it is made.
struct KnownGroup {
  net::GroupView view;
  plan::PlanTable table;
  KnownCells planned;  // whatever came out
  std::string provenance;
  std::uint64_t digest = 0;  // of what decides; never 0

  // Calls like it have a plan, whatever their root, and that and the barrier's are the library's own collectives.
  bool leaves_native(const coll::CommonProblem& call) const;
  // What a call gains by its plan, in seconds.
  double gain_s(const coll::CommonProblem& problem) const;
};

// A network as some ranks see it that looked at it together.
struct KnownView {
  net::GroupView view;
  std::uint64_t digest = 0;  // of the network and its hosts; never 0
};

class KnownInJob {
 public:
  // True if one look was at all of these hosts.
  bool has_looked_after(const std::vector<net::HostId>& hosts) const;
  void looked_after(std::vector<net::HostId> hosts);

  // Whether pairs were kept for later jobs: then this one has no time left to finish any network.
  bool keeps_pairs() const { return keeps_pairs_; }
  void note_pairs_kept() { keeps_pairs_ = true; }

  // `ranks` are the job's: the same list names the same processes. Null if nothing is known.
  std::shared_ptr<const KnownGroup> find(const std::vector<int>& ranks) const;
  void remember(const std::vector<int>& ranks, std::shared_ptr<const KnownGroup> group);

  // The network as these ranks see it, from the last look of a group that they are all in; nothing if there was none.
  // Throws std::bad_alloc.
  std::optional<KnownView> find_view(const std::vector<int>& ranks) const;
  void remember_view(const std::vector<int>& ranks, const net::GroupView& view);

  // Seconds that arming takes on this process besides measuring, from nothing or as a known group; as the last one did.
  double arming_s(bool known) const;
  void note_arming(bool known, double seconds);

 private:
  mutable std::mutex mutex_;
  std::deque<std::vector<net::HostId>> looked_after_;  // sorted each
  std::atomic<bool> keeps_pairs_{false};
  std::deque<std::pair<std::vector<int>, std::shared_ptr<const KnownGroup>>> groups_;
  struct Look {
    std::vector<int> ranks;
    std::vector<int> hosts;  // of these ranks
    std::shared_ptr<const net::Network> network;
  };
  std::deque<Look> looks_;            // the newest last
  std::array<double, 2> arming_s_{};  // from nothing, as known; 0: not seen yet
};

}  // namespace eco::runtime
