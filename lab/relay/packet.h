// A packet under way through the emulated network, and the pool that owns its bytes.
//
// A packet copied from a host keeps the kernel's virtio header in front of the frame, so that a checksum
// which the sender left to the (absent) hardware is handed on as it is. Background packets have no bytes:
// they only take up time and room.
//
//   PacketPool pool;
//   Packet* p = pool.take(1524);   // room for 1524 bytes
//   pool.give_back(p);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace eco::lab {

using Nanos = std::int64_t;

// The shortest frame without its checksum; shorter ones are padded on a real wire.
inline constexpr int kMinFrameBytes = 60;

// What a frame counts against a rate: its own bytes, as token buckets and netem count them. The preamble and the gap
// of a real ethernet (24 bytes) are taken to be in the rate already.
[[nodiscard]] constexpr int wire_bytes(int frame_bytes) {
  return frame_bytes < kMinFrameBytes ? kMinFrameBytes : frame_bytes;
}

struct Packet {
  int wire_bytes = 0;
  int path = 0;   // index of the Path it follows
  int hop = 0;    // the hop it is in, or goes to next
  int port = -1;  // where it leaves the network; -1 for a background packet
  int data_bytes = 0;
  int room_bytes = 0;
  char* data = nullptr;  // right behind the Packet itself
};

// Two sizes cover everything that crosses an ethernet: acknowledgements and full frames.
class PacketPool {
 public:
  [[nodiscard]] Packet* take(int data_bytes);  // throws std::length_error beyond kLargeBytes
  void give_back(Packet* packet);

  static constexpr int kSmallBytes = 192;
  static constexpr int kLargeBytes = 2048;

 private:
  void grow(int room_bytes, std::vector<Packet*>& free);

  std::vector<Packet*> small_;
  std::vector<Packet*> large_;
  std::vector<std::unique_ptr<char[]>> slabs_;
};

}  // namespace eco::lab
