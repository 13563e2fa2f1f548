#include "eco/runtime/rails.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "eco/base/json_file.h"

namespace eco::runtime {

bool knows_rails(const net::Network& network, const transport::Transport& transport) {
  return transport.n_rails() < 2 || network.n_hosts() < 2 || network.rails == transport.rail_names();
}

std::string fit_rails(net::Network& network, transport::Transport& transport) {
  if (network.more_rails.empty()) return {};
  const auto n_rails = static_cast<std::size_t>(transport.n_rails());
  const std::vector<std::string> names = transport.rail_names();
  std::vector<std::uint8_t> chosen;
  std::vector<net::Rail> kept;
  const auto choose = [&](const std::string& name, std::size_t number) {
    const std::size_t at =
        name.empty() ? number
                     : static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    if (at < n_rails) chosen.push_back(static_cast<std::uint8_t>(at));
    return at < n_rails;
  };
  // Shares are of what rail 0 carries.
  if (n_rails > 1 && choose(network.rails.empty() ? "" : network.rails.front(), 0)) {
    for (std::size_t i = 0; i < network.more_rails.size(); ++i) {
      if (choose(network.more_rails[i].name, i + 1)) kept.push_back(network.more_rails[i]);
    }
  }
  const bool has_lost = kept.size() < network.more_rails.size();
  if (has_lost) {
    network.more_rails = std::move(kept);
    network.finish();
  }
  if (chosen.size() > 1) transport.choose_rails(chosen);
  if (!has_lost) return {};
  return "; of its rails this job has " + std::to_string(network.more_rails.empty() ? 0 : network.n_rails());
}

transport::tcp::WantedRails wanted_rails(const Options& options, const net::HostId& host) {
  const std::string text = host.name + ";" + host.address + ";" + host.boot_id + ";" + host.net_namespace;
  // One rail is no gain over the library's messages, but may be all that is wanted.
  return {
      .host = base::digest(text), .wanted = options.rails, .fewest = options.carrier == Carrier::tcp ? 1 : 2};
}

}  // namespace eco::runtime
