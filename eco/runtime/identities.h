// Who sits on which host: every rank tells all others.
//
//   IdentityRoom room;                            // on every rank, and agreed that all have it
//   room.make(n_ranks);
//   const std::vector<net::HostId> hosts = tell_identities(steps, native, identity.host, room);
#pragma once

#include <array>
#include <vector>

#include "eco/net/network.h"
#include "eco/runtime/steps.h"
#include "eco/transport/native.h"

namespace eco::runtime {

// Asked for before the exchange, which a rank without it could not take part in.
class IdentityRoom {
 public:
  // Local. Throws std::bad_alloc.
  void make(int n_ranks) { records_.resize(static_cast<std::size_t>(n_ranks)); }

 private:
  friend std::vector<net::HostId> tell_identities(Steps&, transport::Native&, const net::HostId&,
                                                  IdentityRoom&);
  // One rank's identity in fixed room. Longer texts (nobody's host is called so) are kept as their digest.
  struct Record {
    std::array<char, 128> name{};
    std::array<char, 64> address{};
    std::array<char, 64> boot_id{};
    std::array<char, 64> net_namespace{};
  };
  std::vector<Record> records_;
};

// Collective: the hosts of all ranks. Their memory is given up as soon as they are told; what fails on one rank afterwards
// ends the next step (Steps::alone).
std::vector<net::HostId> tell_identities(Steps& steps, transport::Native& native, const net::HostId& mine,
                                         IdentityRoom& room);

}  // namespace eco::runtime
