// Sockets as this transport uses them: closed with their object, never blocking, never inherited by a child.
//
//   Socket listening = listen_on("10.77.0.1");
//   Socket socket = connect_from("10.77.0.2", {"10.77.0.1", port_of(listening)}, 0);
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace eco::transport::tcp {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket() { close(); }

  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  void close();

 private:
  int descriptor_ = -1;
};

// Where a rank listens on one rail. IPv4 or IPv6, numeric.
struct Endpoint {
  std::string address;
  int port = 0;
};

// The kernel holds no more than about so much of a connection's bytes that it has not sent yet: what is queued there can
// be overtaken by nothing.
inline constexpr int kUnsentBytes = 65536;

// Throws InvalidArgument if the address is none of this host's, TransportError otherwise.
Socket listen_on(const std::string& address);
int port_of(const Socket& listening);
// An empty socket if nobody waits to be accepted; errno says whether anything is wrong.
Socket accept(const Socket& listening);
// Begins to connect, from this address, hence through its NIC. An empty socket if that is impossible.
Socket connect_from(const std::string& address, const Endpoint& to);
// What every connection gets. A peer whose kernel stays silent for so long while it owes an answer is lost; 0: never.
void prepare(const Socket& socket, double lost_after_s);
// Of a non-blocking connect that has ended.
bool is_connected(const Socket& socket);
// Bytes that the other side's kernel has not acknowledged yet.
std::size_t unacknowledged_bytes(const Socket& socket);

// This host's addresses, one for each rail: of the named interfaces ("eth0") or as they stand ("10.77.0.1"); for an empty
// list, of every interface that is up and not the loopback, IPv4, one each. Throws InvalidArgument naming what is
// not there.
std::vector<std::string> rail_addresses(const std::vector<std::string>& wanted = {});

}  // namespace eco::transport::tcp
