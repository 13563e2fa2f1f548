// How the ranks of a job find each other: each says one line of text, where it listens, and hears everybody's.
//
//   FileStore store("/shared/job-17");
//   const auto transport = meet(store, rank, n_ranks, rail_addresses({"eth0", "eth1"}));
//
// Inside an MPI program the lines go through the library: meet(native, ...). Any key-value store will do otherwise. Rank
// 0's line holds the key that admits to the job, so whoever can read the store can join: it must be the job's own.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "eco/transport/native.h"
#include "eco/transport/tcp/tcp_transport.h"

namespace eco::transport::tcp {

// What a bootstrap needs of a store. Thread-safe. Throws TransportError if the store can't be used.
class KeyValue {
 public:
  virtual ~KeyValue() = default;
  virtual void put(const std::string& key, const std::string& value) = 0;
  // Nothing: not there yet.
  virtual std::optional<std::string> get(const std::string& key) = 0;
};

// For ranks that are threads of one process.
class MemoryStore final : public KeyValue {
 public:
  void put(const std::string& key, const std::string& value) override;
  std::optional<std::string> get(const std::string& key) override;

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> values_;
};

// A directory that all ranks see, one file a key, readable by its user alone. Of one job: keys of an earlier one would
// be taken for this one's.
class FileStore final : public KeyValue {
 public:
  // Makes the directory if it is not there.
  explicit FileStore(std::string directory);
  void put(const std::string& key, const std::string& value) override;
  std::optional<std::string> get(const std::string& key) override;

 private:
  std::string directory_;
};

// Collective: rank r of n_ranks, listening on these addresses, one for each rail. Throws InvalidArgument if an address is not
// this host's, Timeout if others do not come within so many seconds, TransportError.
std::unique_ptr<TcpTransport> meet(KeyValue& store, int rank, int n_ranks,
                                   const std::vector<std::string>& addresses, TcpOptions options = {},
                                   double timeout_s = 60);
// Collective: every rank's line, by rank.
std::vector<std::string> gather_lines(Native& native, int n_ranks, const std::string& mine);
// As meet(), over the library's collectives, of the ranks of `native`.
std::unique_ptr<TcpTransport> meet(Native& native, int rank, int n_ranks,
                                   const std::vector<std::string>& addresses, TcpOptions options = {});

}  // namespace eco::transport::tcp
