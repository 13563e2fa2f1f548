#include "lab/relay/wire.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <system_error>

namespace eco::lab {
namespace {

constexpr unsigned kFrameBytes = 2048;  // ring slot: header, address, virtio header, a full ethernet frame
constexpr unsigned kFrames = 8192;      // 16 MiB: a fifth of a second at 450 Mbit/s of full frames
constexpr unsigned kBlockBytes = 1 << 16;
constexpr std::size_t kSendBatch = 256;

void set(int fd, int level, int option, int value, const char* what) {
  if (setsockopt(fd, level, option, &value, sizeof value) != 0) {
    throw std::system_error(errno, std::generic_category(), what);
  }
}

int packet_socket(const char* what) {
  const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return fd;
}

Nanos clock_now(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

}  // namespace

Nanos monotonic_now() { return clock_now(CLOCK_MONOTONIC); }

Wire::Wire(const std::vector<Port>& ports) {
  receive_fd_ = packet_socket("packet socket for receiving");
  set(receive_fd_, SOL_PACKET, PACKET_VERSION, TPACKET_V2, "PACKET_VERSION");
  set(receive_fd_, SOL_PACKET, PACKET_VNET_HDR, 1, "PACKET_VNET_HDR");
  set(receive_fd_, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1, "PACKET_IGNORE_OUTGOING");
  tpacket_req request{};
  request.tp_frame_size = kFrameBytes;
  request.tp_frame_nr = kFrames;
  request.tp_block_size = kBlockBytes;
  request.tp_block_nr = kFrames / (kBlockBytes / kFrameBytes);
  if (setsockopt(receive_fd_, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0) {
    throw std::system_error(errno, std::generic_category(), "PACKET_RX_RING");
  }
  void* ring = mmap(nullptr, std::size_t{kFrames} * kFrameBytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_POPULATE, receive_fd_, 0);
  if (ring == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mapping the packet ring");
  ring_ = static_cast<char*>(ring);

  send_fd_ = packet_socket("packet socket for sending");
  set(send_fd_, SOL_PACKET, PACKET_VNET_HDR, 1, "PACKET_VNET_HDR");
  set(send_fd_, SOL_PACKET, PACKET_QDISC_BYPASS, 1, "PACKET_QDISC_BYPASS");
  const int wanted = 16 << 20;
  if (setsockopt(send_fd_, SOL_SOCKET, SO_SNDBUFFORCE, &wanted, sizeof wanted) != 0) {
    set(send_fd_, SOL_SOCKET, SO_SNDBUF, wanted, "SO_SNDBUF");  // without privilege: as much as allowed
  }

  for (std::size_t i = 0; i < ports.size(); ++i) {
    const unsigned index = if_nametoindex(ports[i].interface.c_str());
    if (index == 0)
      throw std::system_error(errno, std::generic_category(), "interface " + ports[i].interface);
    if (port_of_interface_.size() <= index) port_of_interface_.resize(index + 1, -1);
    port_of_interface_[index] = static_cast<int>(i);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_IP);
    address.sll_ifindex = static_cast<int>(index);
    addresses_.push_back(address);
  }
  // Bound last and to no single interface: from here on frames of all of them arrive.
  sockaddr_ll any{};
  any.sll_family = AF_PACKET;
  any.sll_protocol = htons(ETH_P_ALL);
  if (bind(receive_fd_, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) {
    throw std::system_error(errno, std::generic_category(), "binding the packet socket");
  }
}

Wire::~Wire() {
  if (ring_ != nullptr) munmap(ring_, std::size_t{kFrames} * kFrameBytes);
  if (receive_fd_ >= 0) close(receive_fd_);
  if (send_fd_ >= 0) close(send_fd_);
}

char* Wire::frame(unsigned index) const { return ring_ + std::size_t{index} * kFrameBytes; }

bool Wire::has_waiting() const {
  const auto* header = reinterpret_cast<const tpacket2_hdr*>(frame(next_frame_));
  return (__atomic_load_n(&header->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) != 0;
}

bool Wire::receive(Nanos now, const OnFrame& on_frame) {
  if (!has_waiting()) return false;
  // The kernel stamps with the wall clock; both clocks read side by side turn that into monotonic time.
  const Nanos wall_minus_monotonic = clock_now(CLOCK_REALTIME) - clock_now(CLOCK_MONOTONIC);
  constexpr Nanos kOldest = 200'000'000;  // a stamp older than this means that the wall clock was set
  while (has_waiting()) {
    auto* header = reinterpret_cast<tpacket2_hdr*>(frame(next_frame_));
    const auto* from =
        reinterpret_cast<const sockaddr_ll*>(frame(next_frame_) + TPACKET_ALIGN(sizeof(tpacket2_hdr)));
    const auto index = static_cast<std::size_t>(from->sll_ifindex);
    const int port = index < port_of_interface_.size() ? port_of_interface_[index] : -1;
    const bool is_whole = header->tp_snaplen == header->tp_len;
    if (port >= 0 && is_whole) {
      const Nanos stamp = header->tp_sec * 1'000'000'000LL + header->tp_nsec - wall_minus_monotonic;
      ++stats_.received;
      on_frame(port, std::clamp(stamp, now - kOldest, now),
               {frame(next_frame_) + header->tp_mac - kVirtioHeaderBytes,
                header->tp_snaplen + kVirtioHeaderBytes});
    }
    __atomic_store_n(&header->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    next_frame_ = (next_frame_ + 1) % kFrames;
  }
  return true;
}

void Wire::send(std::span<const Delivery> deliveries) {
  for (std::size_t begin = 0; begin < deliveries.size(); begin += kSendBatch) {
    const std::size_t n = std::min(kSendBatch, deliveries.size() - begin);
    messages_.assign(n, mmsghdr{});
    buffers_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      const Packet& packet = *deliveries[begin + i].packet;
      buffers_[i] = iovec{packet.data, static_cast<std::size_t>(packet.data_bytes)};
      msghdr& m = messages_[i].msg_hdr;
      m.msg_name = &addresses_[packet.port];
      m.msg_namelen = sizeof(sockaddr_ll);
      m.msg_iov = &buffers_[i];
      m.msg_iovlen = 1;
    }
    std::size_t done = 0;
    while (done < n) {
      const int sent = sendmmsg(send_fd_, messages_.data() + done, static_cast<unsigned>(n - done), 0);
      if (sent > 0) {
        done += static_cast<std::size_t>(sent);
        stats_.sent += sent;
      } else if (errno != EINTR) {
        ++stats_.send_errors;  // this one is lost, as on a bad cable; TCP repairs it
        ++done;
      }
    }
  }
}

WireStats Wire::stats() {
  tpacket_stats kernel{};
  socklen_t size = sizeof kernel;
  if (getsockopt(receive_fd_, SOL_PACKET, PACKET_STATISTICS, &kernel, &size) == 0) {
    stats_.ring_drops += kernel.tp_drops;  // reading resets the kernel's count
  }
  return stats_;
}

}  // namespace eco::lab
