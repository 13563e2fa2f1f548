// What ECO remembers between jobs: networks and plan tables, one file each, in a cache directory.
//
//   Store store(options.cache_dir);
//   auto found = store.find_network(hosts, transport);       // found.network, or found.reason
//   auto reason = store.remember_network(network);           // nothing if it was written
//
// Local; one rank reads and sends on. Nothing here throws for the state of the disk: what can't be read or
// written is a reason, and the job goes on without it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eco/net/network.h"

namespace eco::net {

struct FoundNetwork {
  std::optional<Network> network;
  std::string reason;  // why there is none
  std::string path;    // where it is or would be
};

struct FoundText {
  std::optional<std::string> text;
  std::string reason;
  std::string path;
};

// What a plan table depends on; with any of it changed, the table is another one.
struct PlanKey {
  std::string fingerprint;  // of the network
  std::vector<int> host_of_rank;
  std::string library;  // "Open MPI 5.0.11"
  std::string eco_version;
};

class Store {
 public:
  // An empty directory name switches remembering off: nothing is found, nothing is written.
  explicit Store(std::string cache_dir);

  // The network of these hosts (in any order, repeated or not) over this transport: of exactly these or of more. Among
  // them the one that was measured with the largest messages, then of the fewest hosts, then the newest. A network of
  // exactly these hosts measured up to kLargestPairBytes ends the search; else the 64 newest files are read.
  FoundNetwork find_network(const std::vector<HostId>& hosts, std::string_view transport) const;
  [[nodiscard]] std::optional<std::string> remember_network(const Network& network) const;

  // Plan tables as text: what is in them is the planner's business.
  FoundText find_plan(const PlanKey& key) const;
  [[nodiscard]] std::optional<std::string> remember_plan(const PlanKey& key, std::string_view text) const;

  // Every remembered network file, sorted by path; empty if there are none or the directory can't be read.
  std::vector<std::string> network_files() const;

 private:
  FoundNetwork read_network(const std::string& path, const std::vector<HostId>& hosts,
                            std::string_view transport) const;
  std::vector<std::string> newest_network_files() const;
  std::string network_path(const std::vector<HostId>& hosts, std::string_view transport) const;
  std::string plan_path(const PlanKey& key) const;

  std::string cache_dir_;
};

}  // namespace eco::net
