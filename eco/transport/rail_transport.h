// A transport over the NICs of ordinary hosts, without MPI: what plain TCP and UCX have in common beyond messages. Its
// owner makes it progress, may wait for other things beside it, and hears of rails that fail.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "eco/transport/queue.h"
#include "eco/transport/transport.h"

namespace eco::transport {

// Tags of such transports. Enough for hundreds of groups with thousands of tags each (shared_rails.h); a rail is kept for
// each tag that was used.
inline constexpr int kMaxRailTag = (1 << 20) - 1;

class RailTransport : public Transport {
 public:
  int max_tag() const override { return kMaxRailTag; }
  void set_rails(int first_tag, std::span<const std::uint8_t> rails) override;
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
  const std::vector<LostRail>& lost_rails() const { return lost_rails_; }

  // What was turned away, connections and messages: of no rank of this job, or not what a rank says.
  std::size_t n_refused() const { return n_refused_; }
  // Of messages that wait in memory for their receives.
  std::size_t waiting_bytes() const { return waiting_bytes_; }

 protected:
  using Clock = std::chrono::steady_clock;
  static Clock::duration seconds_of(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  // Whether messages may be posted to that peer, or from it, with that tag.
  bool is_mine(int peer, int tag) const {
    return !is_abandoned_ && peer >= 0 && peer < n_ranks() && peer != rank() && tag >= 0 && tag <= max_tag();
  }
  // The rail that messages of that tag shall take.
  std::size_t rail_of(std::size_t tag) const { return tag < rail_of_tag_.size() ? rail_of_tag_[tag] : 0; }
  // A peer is lost, or has left, that owes something.
  virtual bool has_lost_peer() const = 0;
  // What wait_some and test_some end with.
  Status hand_out(std::span<Ticket> done, std::size_t& n_done);

  Queue<Ticket> finished_;
  std::size_t n_posted_ = 0;                       // not handed back yet
  std::optional<Clock::time_point> silent_since_;  // nothing was handed back since
  std::vector<LostRail> lost_rails_;
  std::size_t waiting_bytes_ = 0;
  std::size_t n_refused_ = 0;
  bool has_failed_ = false;
  bool is_abandoned_ = false;

 private:
  std::vector<std::uint8_t> rail_of_tag_;
};

}  // namespace eco::transport
