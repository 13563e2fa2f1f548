// The network as measured: hosts, the subnets they form, what they share, and how long a message takes.
//
//   Network network = load_network("network.json");         // io.h
//   Route route = network.route(from_host, to_host);        // resources crossed, latency
//
// A Network names hosts only to recognise them again; nothing of its structure is derived from names.
// Everything a schedule's *order* depends on (subnets, their kinds, their order) is integers, so every rank
// that reads the same file builds the same schedules. Seconds and rates serve prediction,
// which one rank alone does.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eco/base/few.h"
#include "eco/model/plogp.h"
#include "eco/net/subnet_kind.h"
#include "eco/net/tree.h"

namespace eco::net {

// How a host is recognised again: a remembered network is used only if all four agree.
struct HostId {
  std::string name;
  std::string address;
  std::string boot_id;
  std::string net_namespace;
  friend auto operator<=>(const HostId&, const HostId&) = default;
};

// In order, each once.
std::vector<HostId> host_set(std::vector<HostId> hosts);

// Hosts whose mutual cost is near-uniform (ECO's word, not an IP subnet).
struct Subnet {
  std::vector<int> hosts;  // ascending host indices
  SubnetKind kind = SubnetKind::unknown;
  double latency_s = 0;    // one way, smallest message, between two of its hosts (0 for a lone host)
  double bytes_per_s = 0;  // payload rate of one pair alone (of the host's own port for a lone host)
};

// What pairs of two different subnets see.
struct Between {
  int from = 0;  // subnet indices; measured by round trips, so from < to and both directions are alike
  int to = 0;
  double latency_s = 0;
  double bytes_per_s = 0;
};

// The link that joins a subnet to the others, where it is slower than the subnet itself or shared by its
// hosts.
struct Uplink {
  int subnet = 0;
  double bytes_per_s = 0;    // each direction
  bool shared = true;        // concurrent pairs divided it (else each pair has that rate for itself)
  bool half_duplex = false;  // both directions divided it
};

// Subnets that leave together: of one site, behind one link to all others. Sites may lie in sites.
struct Site {
  std::vector<int> subnets;  // ascending
  double bytes_per_s = 0;    // of that link, each direction; 0 where it holds nobody up, or nobody knows
  bool half_duplex = false;  // both directions divide it

  bool has(int subnet) const;
};
// Local. Null if the subnet is in none; what contains others comes before them.
const Site* innermost_site(const std::vector<Site>& sites, int subnet);
// Of the sites that a subnet is in, so many may have a link that counts: what leaves it crosses them all.
inline constexpr int kMostSiteLinks = 2;

enum class ResourceKind : std::uint8_t {
  host_transmit,
  host_receive,
  bus,
  uplink_out,
  uplink_in,
  pair,
  memory,
  common
};

// One more NIC of every host, or of some hosts, on a network of its own, which it shares with no other rail.
struct Rail {
  std::vector<Subnet> subnets;  // as those of the Network, and so on; of the hosts that have it
  std::vector<Between> between;
  std::vector<Uplink> uplinks;
  std::string name{};  // of Network::rails; empty where nobody looked
};

// One server that messages queue for.
struct Resource {
  ResourceKind kind = ResourceKind::host_transmit;
  std::string name;
  double bytes_per_s = 0;  // payload bytes; infinite where only messages count
  double message_s = 0;    // what each message holds it beyond its bytes
  int reverse = -1;        // of a full-duplex link: its other direction, where acknowledgements go
  double wake_s = 0;       // what waking a rank that waited holds it
};

// So many ranks of one host may share its processors; two have one each. What they share is measured with, and held against,
// no fewer.
inline constexpr int kFewestWhoShare = 3;

struct Route {
  // Indices into Network::resources, in the order crossed: what is common, host, bus, uplink, links of sites, pair, and back
  // down.
  base::Few<int, 8 + 2 * kMostSiteLinks> resources{};
  double latency_s = 0;             // time of a message of no bytes, without the overheads
  double receiving_s_per_byte = 0;  // of the receiver's processor, beside receive_overhead_s
};

// A message small enough to cost little and large enough to show a bridge: where the way is long, only the way counts.
inline constexpr std::size_t kSmallPairBytes = 1024;
// The largest message that pairs are measured with. A network measured up to here is as well known as it gets.
inline constexpr std::size_t kLargestPairBytes = 65536;

// Raw and reduced times of one pair. seconds[i] belongs to Network::sizes[i]: the minimum one-way time
// (half a round trip). Samples are kept beside it, sweep by sweep.
struct PairTimes {
  int a = 0;  // host indices, a < b
  int b = 0;
  std::vector<double> seconds;
  std::vector<std::vector<double>> samples;  // [size][sweep]
};

// A test with several pairs at once: how much slower each became than alone.
struct ConcurrentTest {
  std::string what;                     // "bus 0", "uplink 1", ...
  std::vector<std::vector<int>> pairs;  // {from, to} hosts that talked at once
  std::size_t bytes = 0;
  std::vector<double> alone_s;  // without what a message of nothing takes there and back
  std::vector<double> together_s;
};

// Pairs that share one cost curve.
enum class PairClass : std::uint8_t {
  host,     // two ranks of one host
  subnet,   // two hosts of one subnet
  between,  // hosts of two subnets
};
std::string_view name(PairClass pairs);
std::optional<PairClass> pair_class(std::string_view text);

// Times of one parameter at one size, before they were reduced.
struct PLogPSamples {
  std::string what;  // "gap", "send", "receive", "one way", "exchange"
  std::size_t bytes = 0;
  std::vector<double> seconds;
};

// How much longer a stream takes beside others of its class.
struct SlowDown {
  int n_pairs = 0;    // that talked at once
  double factor = 1;  // together / alone
};

// The pLogP parameters of a class of pairs in one direction, as measured between two of its hosts (measure/plogp.h).
struct ClassPLogP {
  PairClass pairs = PairClass::subnet;
  int from = 0;  // hosts that were measured; equal for ranks of one host
  int to = 0;
  model::PLogP parameters;
  // The largest message that leaves without its receiver's consent, 0 if none does; nothing if all that were measured
  // do.
  std::optional<std::size_t> eager_limit;
  std::vector<SlowDown> slow_down;  // ascending numbers of pairs
  std::optional<double> gamma;      // of all-to-all inside a subnet (model/gamma.h)
  std::vector<PLogPSamples> samples;
};

// What the rails carry between two hosts that were asked, over the rails' own transport: an entry for each of Network::rails,
// 0 for those that one of the two lacks.
struct RailPair {
  int a = 0;
  int b = 0;
  std::vector<double> bytes_per_s;
  std::vector<double> latency_s;
};

// pLogP over one of the rails.
struct RailPLogP {
  std::string rail;       // of Network::rails
  std::string transport;  // that its messages go over: "TCP", "UCX"
  std::vector<ClassPLogP> classes;
};

struct Network {
  std::vector<HostId> hosts;
  std::string transport;           // "openmpi 5.0.11 point-to-point", ...
  std::vector<std::size_t> sizes;  // bytes at which pairs were measured, ascending
  std::vector<PairTimes> pairs;    // a < b, lexicographic
  std::vector<Subnet> subnets;     // partition of the hosts, ordered by lowest host
  std::vector<Between> between;    // from < to, lexicographic
  std::vector<Uplink> uplinks;     // ascending subnet; absent where the subnet itself is the limit
  std::vector<Site>
      sites;  // of rail 0: what contains others comes before them; none where subnets are all there is
  std::vector<Rail> more_rails;  // beyond rail 0, which all the above describes
  // By name ("10.77.0.0/24"), rail 0 first, which all hosts have: the rails that were measured. Those that share a link with
  // one before are in no Rail.
  std::vector<std::string> rails;
  std::vector<RailPair> rail_pairs;  // what their description was derived from
  std::vector<ConcurrentTest> concurrent;
  Tree tree;                          // behind the subnets; without levels where nobody looked for it
  std::vector<ClassPLogP> plogp;      // empty unless asked for; no two of one class and direction
  std::vector<RailPLogP> rail_plogp;  // likewise, where hosts have several rails; no two of one rail
  double send_overhead_s = 0;         // CPU time a rank spends per message sent, received
  double receive_overhead_s = 0;
  double memory_latency_s = 0;    // between two ranks of one host
  double memory_bytes_per_s = 0;  // what all messages between ranks of one host get together
  // What one of them gets alone; 0: as much. The receiver's processor copies at the rate that makes up the difference. Where
  // one alone is faster, since two processors are its own, it is taken to get no more than all do.
  double memory_pair_bytes_per_s = 0;
  // What each message between ranks of one host takes of that host's processors, and what waking a rank takes that waited
  // for one, or for the call: 0 where each rank has a processor of its own.
  double memory_message_s = 0;
  double memory_wake_s = 0;
  double combine_bytes_per_s = 0;  // reduction speed of one rank
  double packet_bytes = 1448;  // payload of one packet: what store-and-forward hops add is one packet each
  double frame_bytes = 0;      // headers of one packet; the rates are those of full packets' payload
  double envelope_bytes = 0;   // the library's header of one message
  double reverse_share = 0;    // of a stream's bytes: what acknowledgements take of a link's other direction
  double common_message_s =
      0;  // what each message between hosts takes of something that all hosts have in common (the
          // processors of one machine, a switch that works packet by packet), 0 if nothing
  double common_wake_s =
      0;  // what waking a rank takes of it that waited for a message between hosts, or for the call
  std::string measured_at;  // ISO 8601
  std::string note;

  // Derived from the above by finish(); call it after filling or loading.
  std::vector<Resource> resources;
  std::vector<int> subnet_of_host;

  int n_hosts() const { return static_cast<int>(hosts.size()); }
  int n_rails() const { return 1 + static_cast<int>(more_rails.size()); }
  void finish();  // throws InvalidArgument if the parts contradict each other
  // What one rank copies by itself.
  double copy_bytes_per_s() const {
    return memory_pair_bytes_per_s > 0 ? memory_pair_bytes_per_s : memory_bytes_per_s;
  }
  // Bytes of the largest message that pairs were measured with, 0 if none were.
  std::size_t largest_size() const { return sizes.empty() ? 0 : sizes.back(); }
  // The largest message between hosts that leaves without its receiver's consent (of a library that lets none, 1); 0
  // where all that were measured do, or pLogP was not measured.
  std::size_t eager_bytes() const;
  // The same network, with the same fingerprint, without the evidence it was derived from (pairs, concurrent, samples of
  // pLogP) and without the tree, which grow with the hosts and their square: what ranks need of it.
  Network without_samples() const;
  bool has_rail(int host, int rail) const {
    return places_[static_cast<std::size_t>(rail)].subnet_of_host[static_cast<std::size_t>(host)] >= 0;
  }
  // Local. Hosts and rail in range; from == to gives the memory of that host. Rail 0's where one of them lacks that rail.
  Route route(int from, int to, int rail = 0) const;
  // What the fastest pair gets on a rail, for shares of a message: of a subnet, or between lone hosts. 0 for a host alone,
  // and without one.
  double rail_bytes_per_s(int rail) const;
  // What a message of so many bytes takes of a link, in bytes of the payload of full packets: with its envelope and the
  // headers of packets that are not full. 0 bytes take no more than these.
  double wire_bytes(std::size_t bytes) const;
  // Between these hosts; in the memory of one there are neither envelope nor headers.
  double wire_bytes(int from, int to, std::size_t bytes) const;
  // One message alone on the route, in seconds: the law that predictions and the fit of the latencies share, in wire
  // bytes,
  //   overheads + latency + sum over resources of (min(bytes, packet) / rate + message_s + wake_s)
  //   + (bytes - packet) / slowest rate + bytes * receiving_s_per_byte.
  double message_s(int from, int to, std::size_t bytes) const;
  // The pLogP parameters that hold from one host to another, of its own direction if both were measured; null if
  // the class was not measured.
  const ClassPLogP* plogp_between(int from, int to) const;
  // Short digest of the structure and of all rates and latencies, quantised to a quarter of an octave; a plan
  // computed for one fingerprint is not used for another. pLogP and the tree are not in it: they explain these numbers.
  std::string fingerprint() const;

 private:
  // Where the resources of one rail are.
  struct Places {
    std::vector<int> transmit;  // per host, -1 where a bus stands for it
    std::vector<int> receive;
    std::vector<int> bus;         // per subnet, -1 unless a bus
    std::vector<int> uplink_out;  // per subnet, -1 if none; equal to uplink_in when half duplex
    std::vector<int> uplink_in;
    std::vector<int> subnet_of_host;
    std::vector<int> position;   // per host: its place in its subnet
    std::vector<int> pair_base;  // per Between: its first pair resource, -1 where others explain its rate
  };

  struct SiteLink {
    int out;
    int in;  // equal when half duplex
  };

  const std::vector<Subnet>& subnets_of(int rail) const;
  const std::vector<Between>& between_of(int rail) const;
  const std::vector<Uplink>& uplinks_of(int rail) const;
  void place_rail(int rail);
  void place_sites();

  std::vector<Places> places_;        // per rail
  std::vector<int> memory_;           // per host
  std::vector<SiteLink> site_links_;  // of those that count
  std::vector<base::Few<int, kMostSiteLinks>>
      leaves_;  // per subnet: which of them it is behind, the innermost first
  int common_ = -1;
};

}  // namespace eco::net
