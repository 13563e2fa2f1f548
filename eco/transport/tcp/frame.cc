#include "eco/transport/tcp/frame.h"

#include "eco/transport/tcp/little_endian.h"

namespace eco::transport::tcp {
namespace {

constexpr std::uint32_t kFrameMagic = 0x314f4345;  // "ECO1"

}  // namespace

void encode(const Frame& frame, FrameHead& head) {
  store(kFrameMagic, head.data());
  store(static_cast<std::uint8_t>(frame.kind), head.data() + 4);
  store(static_cast<std::uint8_t>(frame.wants_match), head.data() + 5);
  store(std::uint16_t{0}, head.data() + 6);
  store(frame.tag, head.data() + 8);
  store(frame.id, head.data() + 12);
  store(frame.sequence, head.data() + 16);
  store(frame.bytes, head.data() + 24);
}

std::optional<Frame> decode(std::span<const std::byte, kFrameBytes> head) {
  const auto kind = load<std::uint8_t>(head.data() + 4);
  const auto wants_match = load<std::uint8_t>(head.data() + 5);
  if (load<std::uint32_t>(head.data()) != kFrameMagic || kind >= kFrameKinds || wants_match > 1 ||
      load<std::uint16_t>(head.data() + 6) != 0) {
    return std::nullopt;
  }
  const Frame frame{.kind = static_cast<FrameKind>(kind),
                    .wants_match = wants_match == 1,
                    .tag = load<std::uint32_t>(head.data() + 8),
                    .id = load<std::uint32_t>(head.data() + 12),
                    .sequence = load<std::uint64_t>(head.data() + 16),
                    .bytes = load<std::uint64_t>(head.data() + 24)};
  if (frame.tag > kMaxTag || frame.bytes > kMaxMessageBytes) return std::nullopt;
  return frame;
}

bool is_of_opener(FrameKind kind) {
  switch (kind) {
    case FrameKind::eager:
    case FrameKind::request:
    case FrameKind::data:
    case FrameKind::lost:
    case FrameKind::probe:
    case FrameKind::bye:
      return true;
    default:
      return false;
  }
}

bool is_of_other(FrameKind kind) { return kind == FrameKind::bye || !is_of_opener(kind); }

}  // namespace eco::transport::tcp
