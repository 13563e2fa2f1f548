#include "eco/runtime/rails.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "eco/base/json_file.h"

namespace eco::runtime {
namespace {

// Which of the transport's rails this one of the network is: by name, those of a file without names by number.
std::optional<std::uint8_t> place_of(const net::Network& network, std::size_t rail,
                                     const transport::Transport& transport) {
  std::string name = network.rails.empty() ? "" : network.rails.front();
  if (rail > 0) name = network.more_rails[rail - 1].name;
  std::size_t at = rail;
  if (!name.empty()) {
    const std::vector<std::string> names = transport.rail_names();
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return std::nullopt;
    at = static_cast<std::size_t>(found - names.begin());
  }
  if (at >= static_cast<std::size_t>(transport.n_rails())) return std::nullopt;
  return static_cast<std::uint8_t>(at);
}

bool is_of_all(const transport::Transport& transport, int rail) {
  for (int rank = 0; rank < transport.n_ranks(); ++rank) {
    if (!transport.has_rail(rank, rail)) return false;
  }
  return true;
}

}  // namespace

bool knows_rails(const net::Network& network, const transport::Transport& transport,
                 const std::vector<int>& host_of_rank) {
  if (transport.n_rails() < 2 || network.n_hosts() < 2) return true;
  const std::vector<std::string> names = transport.rail_names();
  std::vector<std::string> known;
  for (std::size_t rail = 0; rail < names.size(); ++rail) {
    std::set<int> having;
    for (std::size_t rank = 0; rank < host_of_rank.size(); ++rank) {
      if (transport.has_rail(static_cast<int>(rank), static_cast<int>(rail)))
        having.insert(host_of_rank[rank]);
    }
    const bool was_measured =
        std::find(network.rails.begin(), network.rails.end(), names[rail]) != network.rails.end();
    // Between two hosts at least, or there is nothing to measure.
    if (was_measured || having.size() > 1) known.push_back(names[rail]);
    for (int described = 1; described < network.n_rails(); ++described) {
      if (network.more_rails[static_cast<std::size_t>(described - 1)].name != names[rail]) continue;
      for (const int host : host_of_rank) {
        if (network.has_rail(host, described) != having.contains(host)) return false;
      }
    }
  }
  return network.rails == known;
}

std::string fit_rails(net::Network& network, transport::Transport& transport) {
  if (network.more_rails.empty()) return {};
  std::vector<net::Rail> kept;
  // Shares are of what rail 0 carries, and what goes over no other takes it.
  const std::optional<std::uint8_t> first = place_of(network, 0, transport);
  if (transport.n_rails() > 1 && first && is_of_all(transport, *first)) {
    for (std::size_t i = 0; i < network.more_rails.size(); ++i) {
      if (place_of(network, i + 1, transport)) kept.push_back(network.more_rails[i]);
    }
  }
  const bool has_lost = kept.size() < network.more_rails.size();
  if (has_lost) {
    network.more_rails = std::move(kept);
    network.finish();
  }
  choose_rails(network, transport);
  if (!has_lost) return {};
  return "; of its rails this job has " + std::to_string(network.more_rails.empty() ? 0 : network.n_rails());
}

bool choose_rails(const net::Network& network, transport::Transport& transport) {
  if (network.more_rails.empty()) return true;
  std::vector<std::uint8_t> chosen;
  for (std::size_t rail = 0; rail <= network.more_rails.size(); ++rail) {
    const std::optional<std::uint8_t> place = place_of(network, rail, transport);
    if (!place) return false;
    chosen.push_back(*place);
  }
  transport.choose_rails(std::move(chosen));
  return true;
}

transport::tcp::WantedRails wanted_rails(const Options& options, const net::HostId& host) {
  const std::string text = host.name + ";" + host.address + ";" + host.boot_id + ";" + host.net_namespace;
  std::string name = host.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  // One rail is no gain over the library's messages, but may be all that is wanted.
  return {.host = name + transport::tcp::kAfterHostName + base::digest(text),
          .wanted = options.rails,
          .fewest = options.is_beside_mpi() ? 1 : 2};
}

}  // namespace eco::runtime
