// What travels on a connection once both ends know each other: a head of fixed size, and after some kinds a body.
//
//   encode({.kind = FrameKind::eager, .tag = 5, .sequence = 0, .bytes = body.size()}, head);
//   const std::optional<Frame> frame = decode(head);      // nothing: malformed
//
// A connection carries the messages of the rank that opened it; the other answers on the same connection:
//
//   opener     eager (body), or request ... data (body) once it is matched; bye
//   other      matched: a receive for that eager message or request is there; credit; bye
//
// Where two ranks have several rails, also (docs/adr/0025):
//
//   opener     lost: a rail between the two is used no more, and what it left open follows again; probe: are you there?
//   other      had: what that request asks for has come already, over another rail; echo, of a probe
//
// docs/adr/0018 says why.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "eco/transport/rail_transport.h"

namespace eco::transport::tcp {

enum class FrameKind : std::uint8_t { eager, request, data, matched, credit, bye, had, lost, probe, echo };
inline constexpr std::size_t kFrameKinds = 10;

inline constexpr std::uint32_t kMaxTag = kMaxRailTag;
// A length beyond is no message but a mistake.
inline constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 40;

struct Frame {
  FrameKind kind = FrameKind::eager;
  bool wants_match = false;  // eager: the sender waits for `matched`
  std::uint32_t tag = 0;     // of messages
  std::uint32_t id =
      0;  // of the send, as its sender numbers it; handed back by `matched` and `had`. Of lost: the rail
  // Of the message among those of its sender, receiver and tag. Of credit: how many bodies this connection has brought.
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;  // of the message; of credit, what has been taken up
  friend bool operator==(const Frame&, const Frame&) = default;
};

inline constexpr std::size_t kFrameBytes = 32;
using FrameHead = std::array<std::byte, kFrameBytes>;

void encode(const Frame& frame, FrameHead& head);
// Nothing if no encode() could have made it.
std::optional<Frame> decode(std::span<const std::byte, kFrameBytes> head);
inline bool has_body(FrameKind kind) { return kind == FrameKind::eager || kind == FrameKind::data; }
// Whether the rank that opened the connection sends these, or the other, or both.
bool is_of_opener(FrameKind kind);
bool is_of_other(FrameKind kind);

}  // namespace eco::transport::tcp
