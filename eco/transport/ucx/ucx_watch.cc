// Who is silent, and rails that carry nothing. UCX reports connections that end; a cable that is pulled ends none, and what
// waits inside of UCX can't be seen. So where several rails join two ranks each is asked by a probe. A rail is lost when
// nothing comes over it for as long as its last bytes could take, while the peer answers later probes on another, twice,
// so far apart that its answer here would have come. Who answers nowhere is late, and nothing is concluded.
#include <algorithm>

#include "eco/transport/ucx/ucx_transport.h"

namespace eco::transport::ucx {
namespace {

constexpr std::chrono::milliseconds kSilence(100);
constexpr std::chrono::milliseconds kBetweenLooks(50);
// What is under way on a rail may take so long.
constexpr double kSlowest_bytes_per_s = 250e3;

}  // namespace

void UcxTransport::watch() {
  const Clock::time_point now = Clock::now();
  if (now < next_watch_) return;
  next_watch_ = now + kBetweenLooks;
  watch_silent_peers(now);
  if (n_rails() > 1 && options_.rail_lost_after_s > 0) watch_rails(now);
  follow_up();
}

// With a peer that is waited for and was never met an endpoint is opened, which shows whether it is there.
void UcxTransport::watch_silent_peers(Clock::time_point now) {
  if (n_posted_ == 0) return;
  if (!silent_since_) silent_since_ = now;
  if (now - *silent_since_ < kSilence) return;
  for (int number = 0; number < n_ranks(); ++number) {
    const Peer& peer = peers_[static_cast<std::size_t>(number)];
    if (peer.owed_receives == 0 || peer.is_lost) continue;
    const auto is_met = [&](int rail) { return endpoint(number, rail).ep != nullptr; };
    bool was_met = false;
    for (int rail = 0; rail < n_rails(); ++rail) was_met |= is_met(rail);
    if (!was_met) say(endpoint(number, 0), {.kind = FrameKind::probe});
  }
}

void UcxTransport::watch_rails(Clock::time_point now) {
  const auto pause = seconds_of(options_.rail_lost_after_s / 4);
  for (Endpoint& each : endpoints_) {
    const Peer& peer = peer_of(each);
    if (each.is_broken || peer.is_lost || peer.n_to_come || (each.ep == nullptr && !each.was_heard)) continue;
    if (peer.owed_receives + peer.owed_sends == 0 && each.n_told == each.n_sent) continue;
    if (is_rail_lost(each, now)) {
      lost_rails_.push_back({each.peer, each.rail});
      fail(each);
      continue;
    }
    // On a rail that has just been heard of there is nothing to ask; of one that is waited for the others' answers count.
    const bool is_another_asked = std::any_of(
        endpoints_.begin(), endpoints_.end(),
        [&](const Endpoint& other) { return other.peer == each.peer && &other != &each && other.is_asked; });
    if (each.is_asked || (now - each.heard_at < pause && !is_another_asked) || now - each.asked_at < pause)
      continue;
    each.is_asked = true;
    each.asked_at = now;
    say(each, {.kind = FrameKind::probe});
  }
}

bool UcxTransport::is_rail_lost(const Endpoint& endpoint, Clock::time_point now) const {
  if (!endpoint.is_asked || !endpoint.awake_at) return false;
  const double seconds =
      options_.rail_lost_after_s +
      static_cast<double>(endpoint.under_way_bytes + endpoint.outstanding_bytes) / kSlowest_bytes_per_s;
  return now - *endpoint.awake_at >= seconds_of(seconds) &&
         endpoint.awake_until - *endpoint.awake_at >= seconds_of(seconds / 2);
}

// Of a probe of that endpoint, the last one.
void UcxTransport::on_echo(Endpoint& from) {
  for (int rail = 0; rail < n_rails(); ++rail) {
    Endpoint& other = endpoint(from.peer, rail);
    if (&other == &from || !other.is_asked || from.asked_at < other.asked_at) continue;
    if (!other.awake_at) other.awake_at = Clock::now();
    other.awake_until = Clock::now();
  }
}

}  // namespace eco::transport::ucx
