// The relay's hold on the real interfaces: frames in through one memory-mapped ring, out through one socket.
//
// One pair of packet sockets serves all interfaces: a batch costs one system call however many hosts it
// touches. Arrival times are the kernel's, so a relay that is scheduled late still knows when a frame was sent.
//
//   Wire wire(config.ports);
//   wire.receive([&](int port, Nanos at, std::span<const char> bytes) { ... });   // bytes: virtio header + frame
//   wire.send(deliveries);
#pragma once

#include <linux/if_packet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lab/relay/config.h"
#include "lab/relay/packet.h"

namespace eco::lab {

inline constexpr int kVirtioHeaderBytes = 10;

struct WireStats {
  std::int64_t received = 0;
  std::int64_t sent = 0;
  std::int64_t send_errors = 0;
  std::int64_t ring_drops = 0;  // frames which the kernel could not hand over: the relay was too late
};

class Wire {
 public:
  explicit Wire(const std::vector<Port>& ports);  // throws std::system_error
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  using OnFrame = std::function<void(int port, Nanos at, std::span<const char> bytes)>;

  // Hands over all waiting frames; the bytes are only valid during the call. False if there were none.
  bool receive(Nanos now, const OnFrame& on_frame);

  [[nodiscard]] bool has_waiting() const;

  // Sends the packets to the interfaces of their ports, in order.
  void send(std::span<const Delivery> deliveries);

  // Readable when a frame waits.
  [[nodiscard]] int fd() const { return receive_fd_; }
  [[nodiscard]] WireStats stats();

 private:
  [[nodiscard]] char* frame(unsigned index) const;

  int receive_fd_ = -1;
  int send_fd_ = -1;
  char* ring_ = nullptr;
  unsigned next_frame_ = 0;
  std::vector<int> port_of_interface_;  // by interface index, -1: not ours
  std::vector<sockaddr_ll> addresses_;  // by port
  std::vector<mmsghdr> messages_;
  std::vector<iovec> buffers_;
  WireStats stats_;
};

[[nodiscard]] Nanos monotonic_now();

}  // namespace eco::lab
