#include "eco/transport/rail_transport.h"

#include <algorithm>

namespace eco::transport {

void RailTransport::set_rails(int first_tag, std::span<const std::uint8_t> rails) {
  const auto first = static_cast<std::size_t>(first_tag);
  if (rail_of_tag_.size() < first + rails.size()) rail_of_tag_.resize(first + rails.size(), 0);
  std::transform(rails.begin(), rails.end(), rail_of_tag_.begin() + first_tag,
                 [](std::uint8_t rail) { return rail == kNoRail ? std::uint8_t{0} : rail; });
}

Status RailTransport::hand_out(std::span<Ticket> done, std::size_t& n_done) {
  n_done = std::min(done.size(), finished_.size());
  for (std::size_t i = 0; i < n_done; ++i) {
    done[i] = finished_.front();
    finished_.pop();
  }
  n_posted_ -= n_done;
  if (n_done > 0) silent_since_.reset();
  if (has_failed_) return Status::failed;
  return n_done == 0 && has_lost_peer() ? Status::lost_peer : Status::ok;
}

}  // namespace eco::transport
