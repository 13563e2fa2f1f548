// Combining the contributions that arrive at one rank.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "eco/algo/patterns/segments.h"
#include "eco/algo/patterns/tree.h"
#include "eco/algo/recipe.h"
#include "eco/sched/schedule.h"

namespace eco::algo {

inline void set_window(sched::Schedule& schedule, const Params& params) {
  if (params.window > 0) schedule.window = {params.window, true};
}

// Room in scratch memory for what peers send, used again in turn: `ahead` segments may arrive before they are needed.
// Reuse waits by itself, since the regions are still being read. With a send window only few may come ahead: senders
// are held to the pace of what is combined and passed on. Everybody has something to send from the start; unpaced, the
// ranks that nobody waits for keep links and processors from the chain that all wait for.
//
// Two segments that share a slot have to come in the same order on all ranks: else one rank keeps the slot for what another
// sends last, and the other way round, and with confirmed sends both stand still. Ranks may take a turn of so many segments each
// in an order of its own only where there are slots for the whole turn, which is asked for and may be too much.
class Slots {
 public:
  Slots(const Segments& segments, std::size_t n_peers, const Params& params, std::size_t base = 0,
        std::size_t turn = 1)
      : base_(base), slot_(segments.bytes()), n_peers_(n_peers) {
    const std::size_t unpaced = params.window > 0 ? 0 : kAheadBytes / std::max<std::size_t>(slot_, 1);
    const std::size_t whole_turn = turn * slot_ <= kTurnBytes ? turn : 1;
    ahead_ = std::min(segments.count(), std::max({kAheadSegments, unpaced, whole_turn}));
  }
  // The same on all ranks.
  bool hold(std::size_t turn) const { return ahead_ >= turn; }
  sched::Region region(std::size_t j, std::size_t peer, std::size_t bytes) const {
    return {sched::Buffer::scratch, base_ + ((j % ahead_) * n_peers_ + peer) * slot_, bytes};
  }
  std::size_t bytes() const { return ahead_ * n_peers_ * slot_; }

 private:
  static constexpr std::size_t kAheadBytes = std::size_t{256} << 10;
  static constexpr std::size_t kAheadSegments = 8;
  static constexpr std::size_t kTurnBytes = std::size_t{1} << 20;
  std::size_t base_;
  std::size_t slot_;
  std::size_t n_peers_;
  std::size_t ahead_ = 1;
};

// Receives the j-th segment of every child's contribution and combines them with `mine`, which stands left of them all:
// in rank order if the children ascend. Returns where the combined segment lies: `mine` itself without children.
inline sched::Region combine_with_children(sched::Emitter& e, const std::vector<int>& children,
                                           sched::Region mine, const Slots& slots, std::size_t j,
                                           int channel) {
  if (children.empty()) return mine;
  const auto slot = [&](std::size_t c) { return slots.region(j, c, mine.bytes); };
  for (std::size_t c = 0; c < children.size(); ++c) e.recv(children[c], slot(c), channel);
  const sched::Region total = slot(children.size() - 1);
  for (std::size_t c = children.size() - 1; c-- > 0;) e.reduce(slot(c), total);
  e.reduce(mine, total);
  return total;
}

// One rank's part in combining the j-th segment up a tree: what it and its children have goes to its parent, or, at the
// top, into `result`.
inline void combine_upwards(sched::Emitter& e, const Place& place, sched::Region mine, sched::Region result,
                            const Slots& slots, std::size_t j, int channel) {
  const sched::Region total = combine_with_children(e, place.children, mine, slots, j, channel);
  if (place.parent >= 0) {
    e.send(place.parent, total, channel);
  } else {
    e.copy(total, result);
  }
}

inline std::vector<int> ascending(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace eco::algo
