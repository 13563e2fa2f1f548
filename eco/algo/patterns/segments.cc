#include "eco/algo/patterns/segments.h"

#include <algorithm>
#include <array>

namespace eco::algo {
namespace {

// k packets of 1,448 bytes (ethernet, TCP with time stamps) less 56 for the library's header, rounded down to 16:
// k = 1, 2, 4, 6, 11. Beyond 16 KiB libraries change to rendezvous over TCP, which stalls behind queued data.
constexpr std::array<std::size_t, 5> kSegments = {1392, 2832, 5728, 8624, 15872};
// Less than a packet, where a message has so few packets that filling a pipeline costs more than the headers of more of them.
constexpr std::array<std::size_t, 2> kPartsOfPacket = {720, 976};
constexpr std::size_t kMostInParts = std::size_t{32} << 10;

}  // namespace

Segments::Segments(std::size_t total_bytes, std::size_t element, std::size_t segment_bytes,
                   std::size_t at_least)
    : total_(total_bytes) {
  const std::size_t elements = (total_ + element - 1) / element;
  const std::size_t wanted = segment_bytes == 0 ? total_ : segment_bytes;
  const std::size_t longest = std::min(wanted, (elements + at_least - 1) / at_least * element);
  segment_ = std::min(std::max(longest / element * element, element), total_);
}

sched::Region Segments::region(sched::Buffer buffer, std::size_t j, std::size_t base) const {
  const std::size_t offset = j * segment_;
  return {buffer, base + offset, std::min(segment_, total_ - offset)};
}

std::size_t Segments::begun_before(std::size_t place) const {
  return (std::min(place, total_) + segment_ - 1) / segment_;
}

std::size_t Segments::ended_by(std::size_t place) const {
  return place >= total_ ? count() : place / segment_;
}

std::vector<std::size_t> segment_candidates(std::size_t bytes) {
  std::vector<std::size_t> candidates;
  if (bytes > kSegments[1] && bytes <= kMostInParts) {
    candidates.assign(kPartsOfPacket.begin(), kPartsOfPacket.end());
  }
  for (const std::size_t segment : kSegments) {
    // Fewer than two segments make no pipeline; more than 4,096 cost more in messages than they gain in overlap.
    if (segment < bytes && bytes / segment <= 4096) candidates.push_back(segment);
  }
  if (bytes <= kSegments[1]) candidates.push_back(0);
  if (candidates.empty()) candidates.push_back(kSegments.back());
  return candidates;
}

}  // namespace eco::algo
