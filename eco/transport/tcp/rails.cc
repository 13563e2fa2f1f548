#include "eco/transport/tcp/rails.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <utility>

#include "eco/base/errors.h"
#include "eco/transport/tcp/bootstrap.h"

namespace eco::transport::tcp {
namespace {

// Of a host on the same network, or on one nearby; a packet that is lost is sent again after one second.
constexpr std::chrono::milliseconds kReached(3500);

struct FreeInterfaces {
  void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};

std::string text_of(std::uint32_t address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  const in_addr in_network{htonl(address)};
  ::inet_ntop(AF_INET, &in_network, text.data(), text.size());
  return text.data();
}

std::uint32_t number_of(const sockaddr* address) {
  return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr);
}

// What one rank has said.
struct Said {
  std::string host;
  std::map<std::string, std::string> address_of;  // by rail
};

Said read(const std::string& line) {
  Said said;
  std::istringstream words(line);
  words >> said.host;
  for (std::string rail, address; words >> rail >> address;) said.address_of.emplace(rail, address);
  return said;
}

void add(std::string& reasons, const std::string& reason) {
  reasons += (reasons.empty() ? "" : "; ") + reason;
}

// Of one rank, with what the program and its library need: a connection that can't be opened ends the job later, when
// nothing else can be used any more.
std::int64_t descriptors_needed(int n_ranks, std::size_t n_rails) {
  constexpr std::int64_t kOthers = 64;
  return kOthers + static_cast<std::int64_t>(n_rails) * (2 * (n_ranks - 1) + 1);
}

std::int64_t descriptors_allowed() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(
      std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<std::int64_t>::max()));
}

// Whether this rank comes through to an endpoint on each rail.
std::vector<std::int64_t> reach(const std::vector<std::string>& from, const std::vector<Endpoint>& to) {
  std::vector<std::int64_t> reached(to.size(), 0);
  std::vector<Socket> sockets;
  std::vector<pollfd> waiting;
  for (std::size_t rail = 0; rail < to.size(); ++rail) {
    sockets.push_back(connect_from(from[rail], to[rail]));
    waiting.push_back({.fd = sockets.back().get(), .events = POLLOUT, .revents = 0});
  }
  const auto deadline = std::chrono::steady_clock::now() + kReached;
  const auto is_waiting = [](const pollfd& each) { return each.fd >= 0; };
  while (std::any_of(waiting.begin(), waiting.end(), is_waiting)) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0 || (::poll(waiting.data(), waiting.size(), static_cast<int>(left)) < 0 && errno != EINTR))
      break;
    for (std::size_t rail = 0; rail < to.size(); ++rail) {
      if (waiting[rail].fd < 0 || waiting[rail].revents == 0) continue;
      reached[rail] = is_connected(sockets[rail]) ? 1 : 0;
      waiting[rail].fd = -1;
    }
  }
  return reached;
}

// The first rank of each host connects to that of the next one; who does not come through on a rail, on any host, has
// shown that it is none. Collective; takes those out of `rails`.
void leave_out_unreachable(Native& native, int rank, const std::vector<Said>& said,
                           std::vector<std::string>& rails, std::string& reason) {
  const std::size_t me = static_cast<std::size_t>(rank);
  std::vector<Socket> listening;
  std::string ports;
  for (const std::string& rail : rails) {
    try {
      listening.push_back(listen_on(said[me].address_of.at(rail)));
      ports += std::to_string(port_of(listening.back())) + " ";
    } catch (const Error&) {
      ports += "0 ";  // nobody reaches that
    }
  }
  const std::vector<std::string> ports_of = gather_lines(native, static_cast<int>(said.size()), ports);
  std::vector<std::size_t> first_ranks;
  for (std::size_t r = 0; r < said.size(); ++r) {
    const auto is_same = [&](std::size_t other) { return said[other].host == said[r].host; };
    if (std::none_of(first_ranks.begin(), first_ranks.end(), is_same)) first_ranks.push_back(r);
  }
  std::vector<std::int64_t> reached(rails.size(), 1);
  const auto mine = std::find(first_ranks.begin(), first_ranks.end(), me);
  if (mine != first_ranks.end()) {
    const std::size_t next = mine + 1 == first_ranks.end() ? first_ranks.front() : *(mine + 1);
    std::istringstream numbers(ports_of[next]);
    std::vector<std::string> from;
    std::vector<Endpoint> to;
    for (const std::string& rail : rails) {
      from.push_back(said[me].address_of.at(rail));
      numbers >> to.emplace_back(Endpoint{said[next].address_of.at(rail), 0}).port;
    }
    reached = reach(from, to);
  }
  // Nobody stops listening before all have tried.
  native.allreduce_min(reached);
  for (std::size_t i = rails.size(); i-- > 0;) {
    if (reached[i] != 0) continue;
    add(reason, rails[i] + " does not join all hosts");
    rails.erase(rails.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

std::vector<Nic> nics(const std::vector<std::string>& wanted) {
  std::vector<Nic> found;
  if (!wanted.empty()) {
    const std::vector<std::string> addresses = rail_addresses(wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) found.push_back({wanted[i], addresses[i]});
    return found;
  }
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) throw TransportError("tcp: no list of interfaces");
  const std::unique_ptr<ifaddrs, FreeInterfaces> list(first);
  std::multimap<std::string, Nic> by_name;
  for (const ifaddrs* each = list.get(); each != nullptr; each = each->ifa_next) {
    constexpr unsigned kNeeded = IFF_UP | IFF_RUNNING;
    if (each->ifa_addr == nullptr || each->ifa_netmask == nullptr || each->ifa_addr->sa_family != AF_INET)
      continue;
    if ((each->ifa_flags & kNeeded) != kNeeded || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const std::uint32_t mask = number_of(each->ifa_netmask);
    const std::uint32_t address = number_of(each->ifa_addr);
    by_name.emplace(each->ifa_name, Nic{text_of(address & mask) + "/" + std::to_string(std::popcount(mask)),
                                        text_of(address)});
  }
  for (auto& [name, nic] : by_name) {
    const auto is_same = [&nic = nic](const Nic& other) { return other.rail == nic.rail; };
    if (std::none_of(found.begin(), found.end(), is_same)) found.push_back(std::move(nic));
  }
  return found;
}

std::vector<std::string> common_rails(const std::vector<std::string>& lines, std::string& reason) {
  std::vector<Said> said;
  for (const std::string& line : lines) said.push_back(read(line));
  std::vector<std::string> rails;
  std::istringstream words(lines.at(0));
  std::string skipped;
  words >> skipped;
  for (std::string rail, address; words >> rail >> address;) {
    std::map<std::string, std::string> host_of;  // by address
    bool is_on_all = true;
    bool is_own = true;
    for (const Said& each : said) {
      const auto has = each.address_of.find(rail);
      is_on_all = is_on_all && has != each.address_of.end();
      if (has != each.address_of.end() && host_of.emplace(has->second, each.host).first->second != each.host)
        is_own = false;
    }
    if (is_on_all && is_own) {
      rails.push_back(rail);
    } else {
      add(reason, rail + (is_own ? " is not on all hosts" : " has the same address on several hosts"));
    }
  }
  return rails;
}

MetOnRails meet_on_rails(Native& native, int rank, int n_ranks, const WantedRails& wanted,
                         TcpOptions options) {
  MetOnRails met;
  std::vector<Nic> mine;
  std::string line = wanted.host;
  std::string objection;
  try {
    mine = nics(wanted.wanted);
    for (const Nic& nic : mine) line += " " + nic.rail + " " + nic.address;
  } catch (const Error& error) {
    objection = error.what();
  }
  // Hosts with one NIC, which most are, are done here.
  std::array<std::int64_t, 1> fewest{static_cast<std::int64_t>(mine.size())};
  native.allreduce_min(fewest);
  const auto say_few = [&](std::size_t n) {
    add(met.reason, "hosts have " + std::to_string(n) + " network" + (n == 1 ? "" : "s") + " in common, " +
                        std::to_string(wanted.fewest) + " are wanted");
  };
  if (fewest[0] < wanted.fewest && wanted.wanted.empty()) {
    say_few(static_cast<std::size_t>(fewest[0]));
    return met;
  }
  if (!objection.empty()) line = "! " + objection;
  const std::vector<std::string> lines = gather_lines(native, n_ranks, line);
  std::set<std::string> hosts;
  std::vector<Said> said;
  for (const std::string& each : lines) {
    if (each.starts_with('!')) {
      met.reason = each.substr(2, each.find_last_not_of(' ') - 1);
      return met;
    }
    said.push_back(read(each));
    hosts.insert(said.back().host);
  }
  if (hosts.size() < 2 && wanted.fewest > 1) {
    met.reason = "all ranks are on one host";
    return met;
  }
  std::vector<std::string> rails = common_rails(lines, met.reason);
  if (!rails.empty()) leave_out_unreachable(native, rank, said, rails, met.reason);
  if (static_cast<int>(rails.size()) < wanted.fewest) {
    say_few(rails.size());
    return met;
  }
  std::array<std::int64_t, 1> allowed{descriptors_allowed()};
  native.allreduce_min(allowed);
  const std::int64_t needed = descriptors_needed(n_ranks, rails.size());
  if (needed > allowed[0]) {
    add(met.reason, "they take up to " + std::to_string(needed) +
                        " descriptors of each rank, and one may have " + std::to_string(allowed[0]) +
                        " (ulimit -n)");
    return met;
  }
  std::vector<std::string> addresses;
  for (const std::string& rail : rails)
    addresses.push_back(said[static_cast<std::size_t>(rank)].address_of.at(rail));
  std::optional<std::string> failed;
  try {
    met.transport =
        meet(native, rank, n_ranks, addresses, options);  // throws on all ranks alike, or in the last step
  } catch (const Error& error) {
    failed = error.what();
  }
  std::array<std::int64_t, 1> all{failed ? 0 : 1};
  native.allreduce_min(all);
  if (all[0] == 0) {
    met.transport.reset();
    add(met.reason, failed.value_or("another rank cannot open its sockets"));
    return met;
  }
  met.names = std::move(rails);
  return met;
}

}  // namespace eco::transport::tcp
