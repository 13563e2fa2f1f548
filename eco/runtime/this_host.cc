#include "eco/runtime/this_host.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <climits>
#include <fstream>
#include <map>
#include <string>

namespace eco::runtime {
namespace {

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

// Of the interface that is first by name, so that the order in which the kernel lists them does not matter.
std::string first_address() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  std::map<std::string, std::string> address_of;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    if ((entry->ifa_flags & IFF_LOOPBACK) != 0 || (entry->ifa_flags & IFF_UP) == 0) continue;
    char text[INET_ADDRSTRLEN] = "";
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
    address_of.emplace(entry->ifa_name, text);
  }
  freeifaddrs(list);
  return address_of.empty() ? std::string() : address_of.begin()->second;
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::string net_namespace() {
  char text[64] = "";
  const ssize_t length = readlink("/proc/self/ns/net", text, sizeof text - 1);  // "net:[4026531840]"
  return length > 0 ? std::string(text, static_cast<std::size_t>(length)) : std::string();
}

}  // namespace

net::HostId this_host(const Options& options) {
  net::HostId host{.name = host_name(), .address = first_address(), .boot_id = {}, .net_namespace = {}};
  if (!options.host_id.empty()) {
    host.boot_id = options.host_id;
    return host;
  }
  host.boot_id = boot_id();
  host.net_namespace = net_namespace();
  return host;
}

}  // namespace eco::runtime
