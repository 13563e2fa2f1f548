// How the ranks of a job find each other: each says one line of text, where it listens, and hears everybody's.
//
//   FileStore store("/shared/job-17");
//   const auto transport = meet(store, rank, n_ranks, rail_addresses({"eth0", "eth1"}));
//
// Inside an MPI program the lines go through the library: meet(native, ...). Any key-value store will do otherwise. Rank
// 0's line holds the key that admits to the job, so whoever can read the store can join: it must be the job's own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "eco/transport/meeting.h"
#include "eco/transport/tcp/tcp_transport.h"

namespace eco::transport::tcp {

// Collective: rank r of n_ranks, listening on these addresses, one for each rail (empty: its host lacks that one). Throws
// InvalidArgument if an address is not this host's, Timeout if others do not come within so many seconds, TransportError.
std::unique_ptr<TcpTransport> meet(KeyValue& store, int rank, int n_ranks,
                                   const std::vector<std::string>& addresses, TcpOptions options = {},
                                   double timeout_s = 60);
// As meet(), over the library's collectives, of the ranks of `native`.
std::unique_ptr<TcpTransport> meet(Native& native, int rank, int n_ranks,
                                   const std::vector<std::string>& addresses, TcpOptions options = {});

}  // namespace eco::transport::tcp
