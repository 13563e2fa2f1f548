// Transport over UCX, one context and worker per rail: for NICs that TCP does not reach (InfiniBand), and where UCX is
// preferred.
//
//   if (const Usable ucx = usable(); !ucx.reason.empty()) ...            // no libucp, or none that we know
//   std::unique_ptr<RailTransport> transport = meet(store, rank, n_ranks, {"eth0", "eth1"});
//   transport->set_rails(0, rails_of_channels);
//
// A rail is one device of this host as UCX names it ("eth0", "mlx5_0:1"), in the same order on all: interfaces of the
// kernel are driven over TCP, others over InfiniBand's transports. Endpoints open with the first message that needs
// them. What is early, late, long or too much is as with plain TCP (docs/adr/0018), except that a message that waits for
// its receive is fetched by UCX's rendezvous. Progress is made inside posting, waiting, testing and look(), on the
// workers of this transport alone.
//
// What no rank of the job says is dropped and counted; a rank that says what no rank says ends it with Status::failed. A
// peer that is gone, or a rail that carries nothing while the peer answers on another, ends it with Status::lost_peer:
// unlike TCP, messages are not moved to other rails (docs/adr/0028).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "eco/transport/meeting.h"
#include "eco/transport/native.h"
#include "eco/transport/rail_transport.h"

namespace eco::transport::ucx {

// The first two have to be the same on all ranks.
struct UcxOptions {
  std::size_t eager_bytes = std::size_t{1} << 18;   // as TcpOptions
  std::size_t credit_bytes = std::size_t{1} << 22;  // likewise
  // Seconds after which a rail that carries nothing is lost, if the peer answers on another; 0: never. What is under way
  // on it gets more (kSlowest_bytes_per_s). Longer than TCP's: what waits inside of UCX can't be seen.
  double rail_lost_after_s = 10;
  // How long the destructor waits for peers to say that they have everything.
  double farewell_s = 5;
};

struct Usable {
  std::string version;  // "1.20"
  std::string path;
  std::string reason;  // why UCX can't be used; empty: it can
};
// Local. Loads libucp if the process has none.
Usable usable();

// Collective: rank r of n_ranks, with these devices, one for each rail. Throws Unsupported where UCX can't be used,
// TransportError where a device is none of UCX's, Timeout if others do not come within so many seconds.
std::unique_ptr<RailTransport> meet(KeyValue& store, int rank, int n_ranks,
                                    const std::vector<std::string>& devices, UcxOptions options = {},
                                    double timeout_s = 60);
// As meet(), over the library's collectives, of the ranks of `native`: what one can't throws on all alike, but for a rail
// on which it sees no way to the next rank: that throws there alone.
std::unique_ptr<RailTransport> meet(Native& native, int rank, int n_ranks,
                                    const std::vector<std::string>& devices, UcxOptions options = {});

}  // namespace eco::transport::ucx
