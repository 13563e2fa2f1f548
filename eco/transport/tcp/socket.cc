#include "eco/transport/tcp/socket.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

// Shadows nothing of netinet/tcp.h: the number of bytes that were sent and not acknowledged.
#include <linux/sockios.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "eco/base/errors.h"

namespace eco::transport::tcp {
namespace {

constexpr int kBacklog = 1024;
constexpr int kProbes = 3;

struct FreeAddress {
  void operator()(addrinfo* found) const { ::freeaddrinfo(found); }
};
using Address = std::unique_ptr<addrinfo, FreeAddress>;

Address resolve(const std::string& address, int port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return nullptr;
  return Address(found);
}

Socket make_socket(int family) {
  return Socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void set(const Socket& socket, int level, int option, int value) {
  // Options make things faster or end sooner; a kernel without one still carries the bytes.
  (void)::setsockopt(socket.get(), level, option, &value, sizeof value);
}

TransportError refusal(const std::string& what, const std::string& address) {
  return TransportError("tcp: cannot " + what + " on " + address + ": " + std::strerror(errno));
}

}  // namespace

void Socket::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

Socket listen_on(const std::string& address) {
  const Address at = resolve(address, 0);
  if (!at) throw InvalidArgument("tcp: '" + address + "' is no address; give a numeric one of this host");
  Socket socket = make_socket(at->ai_family);
  if (!socket) throw refusal("make a socket", address);
  if (::bind(socket.get(), at->ai_addr, at->ai_addrlen) != 0) {
    if (errno == EADDRNOTAVAIL) throw InvalidArgument("tcp: " + address + " is no address of this host");
    throw refusal("bind", address);
  }
  if (::listen(socket.get(), kBacklog) != 0) throw refusal("listen", address);
  return socket;
}

int port_of(const Socket& listening) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

Socket accept(const Socket& listening) {
  return Socket(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

Socket connect_from(const std::string& address, const Endpoint& to) {
  const Address from = resolve(address, 0);
  const Address target = resolve(to.address, to.port);
  if (!from || !target) return {};
  Socket socket = make_socket(target->ai_family);
  if (!socket) return {};
  // The port is chosen when connecting: only then may ports be shared by connections to different peers.
  set(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  if (::bind(socket.get(), from->ai_addr, from->ai_addrlen) != 0) return {};
  if (::connect(socket.get(), target->ai_addr, target->ai_addrlen) != 0 && errno != EINPROGRESS) return {};
  return socket;
}

void prepare(const Socket& socket, double lost_after_s) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, kUnsentBytes);
  if (lost_after_s <= 0) return;
  const int seconds = std::max(1, static_cast<int>(lost_after_s));
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(lost_after_s * 1000));
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, seconds / kProbes));
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, seconds / kProbes));
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

bool is_connected(const Socket& socket) {
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

std::size_t unacknowledged_bytes(const Socket& socket) {
  int n = 0;
  return ::ioctl(socket.get(), SIOCOUTQ, &n) == 0 && n > 0 ? static_cast<std::size_t>(n) : 0;
}

std::vector<std::string> rail_addresses(const std::vector<std::string>& wanted) {
  struct Interface {
    std::string name;
    std::string address;
    bool loopback;
  };
  std::vector<Interface> there;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0)
    throw TransportError(std::string("tcp: no list of interfaces: ") + std::strerror(errno));
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    if ((each->ifa_flags & IFF_UP) == 0) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr, text.data(),
                text.size());
    there.push_back({each->ifa_name, text.data(), (each->ifa_flags & IFF_LOOPBACK) != 0});
  }
  ::freeifaddrs(first);

  std::vector<std::string> found;
  if (wanted.empty()) {
    for (std::size_t i = 0; i < there.size(); ++i) {
      const bool is_first = std::none_of(there.begin(), there.begin() + static_cast<std::ptrdiff_t>(i),
                                         [&](const Interface& other) { return other.name == there[i].name; });
      if (!there[i].loopback && is_first) found.push_back(there[i].address);
    }
    if (found.empty()) throw InvalidArgument("tcp: no interface is up but the loopback; name addresses");
    return found;
  }
  for (const std::string& name : wanted) {
    const auto same =
        std::find_if(there.begin(), there.end(), [&](const Interface& each) { return each.name == name; });
    if (same != there.end()) {
      found.push_back(same->address);
    } else if (resolve(name, 0)) {
      found.push_back(name);
    } else {
      std::string names;
      for (const Interface& each : there) names += (names.empty() ? "" : ", ") + each.name;
      throw InvalidArgument("tcp: no interface '" + name + "' with an address; there are " + names);
    }
  }
  return found;
}

}  // namespace eco::transport::tcp
