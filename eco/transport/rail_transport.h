// A transport over the NICs of ordinary hosts, without MPI: what plain TCP and UCX have in common beyond messages. Its
// owner makes it progress, may wait for other things beside it, and hears of rails that fail.
#pragma once

#include <vector>

#include "eco/transport/transport.h"

namespace eco::transport {

// Tags of such transports. Enough for hundreds of groups with thousands of tags each (shared_rails.h); a rail is kept for
// each tag that was used.
inline constexpr int kMaxRailTag = (1 << 20) - 1;

class RailTransport : public Transport {
 public:
  int max_tag() const override { return kMaxRailTag; }
  // Does what can be done without waiting, also where nothing is posted: what others ask of this rank, and wait to hear.
  virtual void look() = 0;
  // Whether something that this rank has said has not left it, or is not known to have come where it may have to be said
  // again, or a peer waits for word of that: then this rank has to look() now and then, also where it wants nothing.
  virtual bool is_pending() = 0;
  // To be waited for: readable when test_some would find something to do. -1: it would now, or there is none.
  virtual int descriptor() = 0;
  // Rails between this rank and peers that live, which failed and are used no more.
  struct LostRail {
    int peer = 0;
    int rail = 0;
  };
  virtual const std::vector<LostRail>& lost_rails() const = 0;
};

}  // namespace eco::transport
