#include "lab/relay/packet.h"

#include <new>
#include <stdexcept>
#include <string>

namespace eco::lab {

Packet* PacketPool::take(int data_bytes) {
  if (data_bytes > kLargeBytes) {
    throw std::length_error("a packet of " + std::to_string(data_bytes) + " bytes exceeds " +
                            std::to_string(kLargeBytes));
  }
  const bool is_small = data_bytes <= kSmallBytes;
  std::vector<Packet*>& free = is_small ? small_ : large_;
  if (free.empty()) grow(is_small ? kSmallBytes : kLargeBytes, free);
  Packet* packet = free.back();
  free.pop_back();
  packet->data_bytes = data_bytes;
  packet->hop = 0;
  return packet;
}

void PacketPool::give_back(Packet* packet) {
  (packet->room_bytes == kSmallBytes ? small_ : large_).push_back(packet);
}

void PacketPool::grow(int room_bytes, std::vector<Packet*>& free) {
  constexpr int kPerSlab = 256;
  const std::size_t stride = sizeof(Packet) + static_cast<std::size_t>(room_bytes);
  slabs_.push_back(std::make_unique<char[]>(stride * kPerSlab));
  char* at = slabs_.back().get();
  for (int i = 0; i < kPerSlab; ++i, at += stride) {
    auto* packet = new (at) Packet;
    packet->room_bytes = room_bytes;
    packet->data = at + sizeof(Packet);
    free.push_back(packet);
  }
}

}  // namespace eco::lab
