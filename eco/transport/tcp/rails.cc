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

// Which interface has that address, or is on its network; empty: none.
std::string interface_of(const std::string& address) {
  in_addr wanted{};
  ifaddrs* first = nullptr;
  if (::inet_pton(AF_INET, address.c_str(), &wanted) != 1 || ::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, FreeInterfaces> list(first);
  std::string on_network;
  for (const ifaddrs* each = list.get(); each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_netmask == nullptr || each->ifa_addr->sa_family != AF_INET)
      continue;
    const std::uint32_t mask = number_of(each->ifa_netmask);
    const std::uint32_t has = number_of(each->ifa_addr);
    if (has == ntohl(wanted.s_addr)) return each->ifa_name;
    if ((has & mask) == (ntohl(wanted.s_addr) & mask)) on_network = each->ifa_name;
  }
  return on_network;
}

// What a rank says of where a NIC is: its address; of a device without one something that no other host says.
std::string place_of(const Nic& nic, const std::string& host) {
  return nic.address.empty() ? "@" + host : nic.address;
}
bool is_address(const std::string& place) { return !place.starts_with('@'); }

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

// What all ranks have said of one network.
struct OfNetwork {
  std::map<std::string, int> ranks_of;         // by host
  std::map<std::string, std::string> host_of;  // by address
  bool is_own = true;                          // no two hosts have the same address
};

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

// Of these ranks, one for each host, the next after `rank` that has that rail, around; nothing if `rank` is not among them
// or lacks it.
std::optional<std::size_t> next_on(const std::string& rail, const std::vector<Said>& said,
                                   const std::vector<std::size_t>& first_ranks, std::size_t rank) {
  const auto at = std::find(first_ranks.begin(), first_ranks.end(), rank);
  if (at == first_ranks.end() || !said[rank].address_of.contains(rail)) return std::nullopt;
  std::vector<std::size_t> others(at + 1, first_ranks.end());
  others.insert(others.end(), first_ranks.begin(), at + 1);
  return *std::find_if(others.begin(), others.end(),
                       [&](std::size_t other) { return said[other].address_of.contains(rail); });
}

// On each rail the first rank of every host that has it connects to that of the next one; who does not come through, on any
// host, has shown that it is none. Collective; takes those out of `rails`.
void leave_out_unreachable(Native& native, int rank, const std::vector<Said>& said,
                           std::vector<CommonRail>& rails, std::string& reason) {
  const Said& mine = said[static_cast<std::size_t>(rank)];
  std::vector<Socket> listening;
  std::string ports;
  for (const CommonRail& rail : rails) {
    const auto has = mine.address_of.find(rail.name);
    try {
      if (has != mine.address_of.end()) {
        listening.push_back(listen_on(has->second));
        ports += std::to_string(port_of(listening.back())) + " ";
        continue;
      }
    } catch (const Error&) {
      // Nobody reaches that.
    }
    ports += "0 ";
  }
  const std::vector<std::string> ports_of = gather_lines(native, static_cast<int>(said.size()), ports);
  std::vector<std::size_t> first_ranks;
  for (std::size_t r = 0; r < said.size(); ++r) {
    const auto is_same = [&](std::size_t other) { return said[other].host == said[r].host; };
    if (std::none_of(first_ranks.begin(), first_ranks.end(), is_same)) first_ranks.push_back(r);
  }
  std::vector<std::int64_t> reached(rails.size(), 1);
  std::vector<std::size_t> tried;
  std::vector<std::string> from;
  std::vector<Endpoint> to;
  for (std::size_t i = 0; i < rails.size(); ++i) {
    const std::optional<std::size_t> next =
        next_on(rails[i].name, said, first_ranks, static_cast<std::size_t>(rank));
    if (!next || !is_address(mine.address_of.at(rails[i].name))) continue;  // of devices TCP can't tell
    std::istringstream numbers(ports_of[*next]);
    int port = 0;
    for (std::size_t skipped = 0; skipped <= i; ++skipped) numbers >> port;
    tried.push_back(i);
    from.push_back(mine.address_of.at(rails[i].name));
    to.push_back(Endpoint{said[*next].address_of.at(rails[i].name), port});
  }
  const std::vector<std::int64_t> came_through = reach(from, to);
  for (std::size_t i = 0; i < tried.size(); ++i) reached[tried[i]] = came_through[i];
  // Nobody stops listening before all have tried.
  native.allreduce_min(reached);
  for (std::size_t i = rails.size(); i-- > 0;) {
    if (reached[i] != 0) continue;
    add(reason, rails[i].name + (rails[i].lacking.empty() ? " does not join all hosts"
                                                          : " does not join the hosts that have it"));
    rails.erase(rails.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

std::vector<Nic> nics(const std::vector<std::string>& wanted, bool are_devices) {
  std::vector<Nic> found;
  for (const std::string& name : wanted) {
    try {
      const std::string address = rail_addresses({name}).front();
      found.push_back({name, address, interface_of(address)});
    } catch (const InvalidArgument&) {
      if (!are_devices) throw;
      found.push_back({name, "", name});
    }
  }
  if (!wanted.empty()) return found;
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
                                        text_of(address), each->ifa_name});
  }
  for (auto& [name, nic] : by_name) {
    const auto is_same = [&nic = nic](const Nic& other) { return other.rail == nic.rail; };
    if (std::none_of(found.begin(), found.end(), is_same)) found.push_back(std::move(nic));
  }
  return found;
}

std::string who_lacks(const CommonRail& rail) {
  constexpr std::size_t kNamed = 3;
  std::string text;
  const std::size_t n = rail.lacking.size();
  for (std::size_t i = 0; i < std::min(n, kNamed); ++i) text += (i == 0 ? "not on " : ", ") + rail.lacking[i];
  return text + (n > kNamed ? " and " + std::to_string(n - kNamed) + " more" : "");
}

std::vector<std::string> names_of(const std::vector<CommonRail>& rails) {
  std::vector<std::string> names;
  for (const CommonRail& rail : rails) names.push_back(rail.name);
  return names;
}

std::vector<CommonRail> common_rails(const std::vector<std::string>& lines, std::string& reason) {
  std::vector<std::string> hosts;
  std::map<std::string, int> ranks_of;        // by host
  std::vector<std::string> in_order;          // rank 0's networks in its order, then what others have
  std::map<std::string, OfNetwork> networks;  // by name
  std::size_t n_of_rank_0 = 0;
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::string host;
    words >> host;
    if (ranks_of[host]++ == 0) hosts.push_back(host);
    for (std::string rail, address; words >> rail >> address;) {
      const auto [place, is_new] = networks.try_emplace(rail);
      if (is_new) in_order.push_back(rail);
      ++place->second.ranks_of[host];
      place->second.is_own &= place->second.host_of.emplace(address, host).first->second == host;
    }
    if (&line == &lines.front()) n_of_rank_0 = in_order.size();
  }
  std::vector<CommonRail> rails;
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    const OfNetwork& network = networks.at(in_order[i]);
    const bool is_between = network.ranks_of.size() > 1 || hosts.size() == 1;
    // All ranks of a host see it, or none.
    const bool is_whole =
        std::all_of(network.ranks_of.begin(), network.ranks_of.end(),
                    [&](const auto& each) { return each.second == ranks_of.at(each.first); });
    if (is_between && network.is_own && is_whole) {
      CommonRail& rail = rails.emplace_back(CommonRail{in_order[i]});
      for (const std::string& host : hosts) {
        if (!network.ranks_of.contains(host))
          rail.lacking.push_back(host.substr(0, host.find(kAfterHostName)));
      }
    } else if (is_between || i < n_of_rank_0) {  // else there may be as many as hosts
      add(reason, in_order[i] + (!network.is_own ? " has the same address on several hosts"
                                 : !is_whole     ? " is not on all ranks of a host"
                                                 : " is on one host only"));
    }
  }
  std::stable_partition(rails.begin(), rails.end(),
                        [](const CommonRail& rail) { return rail.lacking.empty(); });
  return rails;
}

namespace {

std::string few(std::int64_t n, const WantedRails& wanted) {
  return "hosts have " + std::to_string(n) + " network" + (n == 1 ? "" : "s") + " in common, " +
         std::to_string(wanted.fewest) + " are wanted";
}

}  // namespace

std::string why_too_few(const WantedRails& wanted, const NicCounts& counts) {
  const std::int64_t most = wanted.of_all_hosts ? counts.fewest : counts.most;
  const bool are_few = (counts.fewest < 1 || most < wanted.fewest) && wanted.wanted.empty();
  return are_few ? few(counts.fewest, wanted) : "";
}

AgreedRails agree_on_rails(Native& native, int rank, int n_ranks, const WantedRails& wanted) {
  AgreedRails agreed;
  std::vector<Nic> mine;
  std::string line = wanted.host;
  std::string objection;
  try {
    mine = nics(wanted.wanted, wanted.are_devices);
    for (const Nic& nic : mine) line += " " + nic.rail + " " + place_of(nic, wanted.host);
  } catch (const Error& error) {
    objection = error.what();
  }
  const auto n_mine = static_cast<std::int64_t>(mine.size());
  std::array<std::int64_t, 2> numbers{n_mine, -n_mine};
  native.allreduce_min(numbers);
  agreed.reason = why_too_few(wanted, {.fewest = numbers[0], .most = -numbers[1]});
  if (!agreed.reason.empty()) return agreed;
  if (!objection.empty()) line = "! " + objection;
  const std::vector<std::string> lines = gather_lines(native, n_ranks, line);
  std::set<std::string> hosts;
  std::vector<Said> said;
  for (const std::string& each : lines) {
    if (each.starts_with('!')) {
      agreed.reason = each.substr(2);
      return agreed;
    }
    said.push_back(read(each));
    hosts.insert(said.back().host);
  }
  if (hosts.size() < 2 && wanted.fewest > 1) {
    agreed.reason = "all ranks are on one host";
    return agreed;
  }
  std::vector<CommonRail> rails = common_rails(lines, agreed.reason);
  // Whoever names them wants them of every host.
  const bool of_all_hosts = wanted.of_all_hosts || !wanted.wanted.empty();
  std::array<std::int64_t, 1> allowed{descriptors_allowed()};
  native.allreduce_min(allowed);
  const auto are_too_many = [&] {
    return rails.size() > kMostRails || descriptors_needed(n_ranks, rails.size()) > allowed[0];
  };
  while (!rails.empty() && !rails.back().lacking.empty() && (of_all_hosts || are_too_many())) {
    add(agreed.reason, of_all_hosts ? rails.back().name + " is " + who_lacks(rails.back())
                                    : rails.back().name + " is one rail more than can be used");
    rails.pop_back();
  }
  if (!rails.empty()) leave_out_unreachable(native, rank, said, rails, agreed.reason);
  const auto n_common =
      std::count_if(rails.begin(), rails.end(), [](const CommonRail& rail) { return rail.lacking.empty(); });
  if (n_common == 0 || static_cast<int>(rails.size()) < wanted.fewest) {
    add(agreed.reason, few(n_common, wanted));
    return agreed;
  }
  const std::int64_t needed = descriptors_needed(n_ranks, rails.size());
  if (needed > allowed[0]) {
    add(agreed.reason, "they take up to " + std::to_string(needed) +
                           " descriptors of each rank, and one may have " + std::to_string(allowed[0]) +
                           " (ulimit -n)");
    return agreed;
  }
  for (const CommonRail& rail : rails) {
    const auto has =
        std::find_if(mine.begin(), mine.end(), [&](const Nic& nic) { return nic.rail == rail.name; });
    agreed.mine.push_back(has != mine.end() ? *has : Nic{rail.name, "", ""});
  }
  agreed.rails = std::move(rails);
  return agreed;
}

MetOnRails open_on(Native& native, AgreedRails agreed,
                   const std::function<std::unique_ptr<RailTransport>(const std::vector<Nic>&)>& open) {
  MetOnRails met;
  met.reason = std::move(agreed.reason);
  if (agreed.mine.empty()) return met;
  std::optional<std::string> failed;
  try {
    met.transport = open(agreed.mine);  // throws on all ranks alike, or in the last step
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
  met.rails = std::move(agreed.rails);
  return met;
}

MetOnRails meet_on_rails(Native& native, int rank, int n_ranks, const WantedRails& wanted,
                         TcpOptions options) {
  return open_on(native, agree_on_rails(native, rank, n_ranks, wanted), [&](const std::vector<Nic>& mine) {
    std::vector<std::string> addresses;  // empty of a rail that is not there
    for (const Nic& nic : mine) addresses.push_back(nic.address);
    return meet(native, rank, n_ranks, addresses, options);
  });
}

}  // namespace eco::transport::tcp
