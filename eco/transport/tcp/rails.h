// Which of the hosts' NICs are the job's rails, and TCP over them (eco/transport/open_rails.h asks UCX first, where that is
// wanted).
//
//   MetOnRails met = meet_on_rails(native, rank, n_ranks, {.host = "...", .wanted = {}, .fewest = 2});    // collective
//   if (!met.transport) say(met.reason);
//
// Found: the IP networks in which every host has an address of its own ("10.77.0.0/24"), one NIC each, in the order of
// rank 0's interfaces' names, and after them those in which some hosts have one, two at least (docs/adr/0033): numbers of rails are
// the same on all ranks. Named ("eth0,eth1", or addresses): these, on every host. Either way every host is reached from
// another over each that it has before it is used: a network of this name that is not one (containers' bridges have the
// same addresses on all hosts), or that does not join the hosts that have it, is no rail, and `reason` says so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "eco/transport/native.h"
#include "eco/transport/tcp/tcp_transport.h"

namespace eco::transport::tcp {

// A NIC that may be a rail, as one host has it.
struct Nic {
  std::string rail;     // its network, or how it was named
  std::string address;  // empty: no interface of the kernel, "mlx5_0:1"
  std::string device;   // the interface
};

// A rail as all ranks know it.
struct CommonRail {
  std::string name;
  std::vector<std::string> lacking{};  // the names of the hosts without it
};
std::vector<std::string> names_of(const std::vector<CommonRail>& rails);
// "not on h6, h7, h8 and 2 more"; empty where all have it.
std::string who_lacks(const CommonRail& rail);

// What follows a host's name in WantedRails::host.
inline constexpr char kAfterHostName = '#';

// Local: of the names (interfaces or addresses), else all that are up and not the loopback, by interface name, one for
// each network. `are_devices`: a name that is none of these is a device's that others than TCP drive. Throws
// InvalidArgument, TransportError.
std::vector<Nic> nics(const std::vector<std::string>& wanted, bool are_devices = false);

struct WantedRails {
  std::string host;                 // the same for ranks of one host, and no other: one word, NAME#WHATEVER
  std::vector<std::string> wanted;  // the same on all ranks
  int fewest = 2;                   // below, there is no transport
  bool are_devices = false;         // names may be devices that others than TCP drive
  bool of_all_hosts = false;        // none that some hosts lack
};

// How many NICs the host with fewest has, and the one with most.
struct NicCounts {
  std::int64_t fewest = 0;
  std::int64_t most = 0;
};
// Pure: why such hosts, most of which have one, need not go on; empty: they may have what is wanted.
std::string why_too_few(const WantedRails& wanted, const NicCounts& counts);

// What all ranks know of the rails once they have spoken of them.
struct AgreedRails {
  std::vector<CommonRail> rails;  // none on all ranks alike
  std::vector<Nic> mine;          // this host's, one for each; of one that it lacks it is not there
  std::string reason;             // why there is none, or what is no rail; the same on all ranks
};

struct MetOnRails {
  std::unique_ptr<RailTransport> transport;  // null on all ranks alike
  std::vector<CommonRail> rails;             // its
  std::string reason;                        // as AgreedRails, and why a transport could not be opened
};

// Pure: what all ranks say ("HOST RAIL ADDRESS RAIL ADDRESS ...") makes these rails, those that all hosts have first, with
// the reasons for others in `reason`.
std::vector<CommonRail> common_rails(const std::vector<std::string>& lines, std::string& reason);

// Collective over the ranks of `native`, as what follows. Throws TransportError where the library itself fails.
AgreedRails agree_on_rails(Native& native, int rank, int n_ranks, const WantedRails& wanted);
// What `open` makes on the agreed rails: null on all ranks alike, with the reason, where it throws on one of them.
MetOnRails open_on(Native& native, AgreedRails agreed,
                   const std::function<std::unique_ptr<RailTransport>(const std::vector<Nic>&)>& open);
MetOnRails meet_on_rails(Native& native, int rank, int n_ranks, const WantedRails& wanted,
                         TcpOptions options = {});

}  // namespace eco::transport::tcp
