#include "eco/runtime/rails.h"

#include <algorithm>
#include <cstdint>
#include <optional>
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

}  // namespace

bool knows_rails(const net::Network& network, const transport::Transport& transport) {
  return transport.n_rails() < 2 || network.n_hosts() < 2 || network.rails == transport.rail_names();
}

std::string fit_rails(net::Network& network, transport::Transport& transport) {
  if (network.more_rails.empty()) return {};
  std::vector<net::Rail> kept;
  // Shares are of what rail 0 carries.
  if (transport.n_rails() > 1 && place_of(network, 0, transport)) {
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
  // One rail is no gain over the library's messages, but may be all that is wanted.
  return {.host = base::digest(text), .wanted = options.rails, .fewest = options.is_beside_mpi() ? 1 : 2};
}

}  // namespace eco::runtime
