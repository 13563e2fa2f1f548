// The job's transport over several NICs: UCX where that is wanted and can be, else TCP.
//
//   tcp::MetOnRails met = open_rails(native, rank, n_ranks, wanted, true);    // collective
//   met.transport->kind()           "UCX"; "TCP", and met.reason says why
//
// UCX can be where every rank has a libucp that we know, all of one version (they exchange addresses), and it drives all
// the rails.
#pragma once

#include "eco/transport/native.h"
#include "eco/transport/tcp/rails.h"

namespace eco::transport {

// Collective over the ranks of `native`. Throws TransportError where the library itself fails.
tcp::MetOnRails open_rails(Native& native, int rank, int n_ranks, tcp::WantedRails wanted, bool over_ucx);

}  // namespace eco::transport
