// What ECO remembers between jobs: networks, pairs of hosts that are none yet, and plan tables, one file each, in two
// directories. The cache is the user's own, read and written. The site directory is everybody's: networks only, read, and
// written where it lets us.
//
//   Store store(options.cache_dir, options.site_dir);
//   auto found = store.find_network(hosts, transport);       // found.network, or found.reason
//   auto known = store.known_pairs(hosts, transport);        // if there is none: what needs no measuring
//   auto kept = store.remember_network(network);             // kept.failure: why not
//
// Local; one rank reads and sends on. Nothing here throws for the state of the disk: what can't be read or
// written is a reason, and the job goes on without it. Jobs may write at the same time: a file is replaced whole, and
// its name says of which hosts it is and with which messages they were measured, so that none takes another's place
// that knows more.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eco/net/network.h"
#include "eco/net/pairs.h"

namespace eco::net {

struct FoundNetwork {
  std::optional<Network> network;
  std::string reason;  // why there is none
  std::string path;    // the file that this is about, if there is one
};

struct Remembered {
  std::optional<std::string> failure;       // why it is remembered nowhere
  std::optional<std::string> site_failure;  // why the site directory, which is there, did not take it
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
  // An empty name switches a directory off; a site directory that does not exist is not made.
  explicit Store(std::string cache_dir, std::string site_dir = {});

  // The network of these hosts (in any order, repeated or not) over this transport: of exactly these or of more. Among
  // them the one that was measured with the largest messages, then of the fewest hosts, then with the most sizes, then
  // the newest. A network of exactly these hosts measured up to kLargestPairBytes ends the search; else the 64 newest
  // files are read.
  FoundNetwork find_network(const std::vector<HostId>& hosts, std::string_view transport) const;
  // The pairs among these hosts that the 64 newest files have samples of, each from the newest that has it; the others as
  // remember_pairs() left them, of any hosts. Files that can't be used have none.
  std::vector<KnownPair> known_pairs(const std::vector<HostId>& hosts, std::string_view transport) const;
  // `instead`: the network has changed, so what was remembered of exactly these hosts is removed.
  [[nodiscard]] Remembered remember_network(const Network& network, bool instead = false) const;

  // Of jobs that had not the time for a network of these hosts: in place of what such a job left before, until there is a
  // network of them or there are 16 newer files. Why not, if not.
  [[nodiscard]] std::optional<std::string> remember_pairs(const std::vector<HostId>& hosts,
                                                          std::string_view transport,
                                                          const std::vector<KnownPair>& pairs) const;
  // Whether that may be expected to succeed: else what is begun for later jobs would be lost.
  bool takes_pairs() const;

  // Plan tables as text: what is in them is the planner's business. Never from the site directory: they are run as
  // they are found, so only the user's own are.
  FoundText find_plan(const PlanKey& key) const;
  [[nodiscard]] std::optional<std::string> remember_plan(const PlanKey& key, std::string_view text) const;
  // Of all groups, the newest first, as many as can be read in little time.
  std::vector<FoundText> newest_plans() const;
  // The file's name in the folder of plans.
  static std::string plan_name(const PlanKey& key);

  // Every remembered network file of both directories, sorted by path; those that can't be read have none.
  std::vector<std::string> network_files() const;

 private:
  std::vector<std::string> newest_network_files() const;
  std::string pairs_path(const std::vector<HostId>& hosts, std::string_view transport) const;

  std::string cache_dir_;
  std::string site_dir_;
};

}  // namespace eco::net
