#include "eco/measure/rail_plogp.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "eco/measure/conductor.h"
#include "eco/measure/plogp.h"

namespace eco::measure {
namespace {

// What is measured there: the hosts without that rail are in no subnet.
net::Network seen_on(const net::Network& network, std::size_t rail) {
  net::Network seen;
  seen.hosts = network.hosts;
  seen.subnets = rail == 0 ? network.subnets : network.more_rails[rail - 1].subnets;
  seen.between = rail == 0 ? network.between : network.more_rails[rail - 1].between;
  return seen;
}

// While it lives, what is measured goes over that rail, and all else over rail 0: who loses its rails is missed there, as it would not
// be in the library's own messages.
class OnRail {
 public:
  OnRail(transport::Transport& transport, std::size_t rail) : transport_(transport) {
    std::vector<std::uint8_t> rails(kProbeTags, 0);
    std::fill_n(rails.begin() + kFirstMeasuredTag, kMeasuredTags, static_cast<std::uint8_t>(rail));
    transport_.set_rails(0, rails);
  }
  ~OnRail() { transport_.set_rails(0, std::vector<std::uint8_t>(kProbeTags, transport::kNoRail)); }
  OnRail(const OnRail&) = delete;
  OnRail& operator=(const OnRail&) = delete;

 private:
  transport::Transport& transport_;
};

std::vector<std::vector<int>> one_rank_of_each_host(const net::Network& network,
                                                    const std::vector<net::HostId>& host_of_rank) {
  std::vector<std::vector<int>> ranks;
  for (const net::HostId& host : network.hosts) {
    const auto first = std::find(host_of_rank.begin(), host_of_rank.end(), host);
    ranks.push_back({static_cast<int>(first - host_of_rank.begin())});
  }
  return ranks;
}

}  // namespace

std::vector<net::RailPLogP> measure_plogp_on_rails(transport::Transport& transport, transport::Native& native,
                                                   const net::Network& network, const std::string& kind,
                                                   const CharacterizeOptions& options) {
  std::vector<net::RailPLogP> measured;
  if (network.rails.empty()) return measured;
  const std::vector<std::string> names = transport.rail_names();
  const auto n_rails = static_cast<std::size_t>(network.n_rails());
  PlogpOptions how;
  how.ranks_of_host = one_rank_of_each_host(network, options.host_of_rank);
  how.budget_s = options.budget_s / static_cast<double>(n_rails);
  how.clock = options.clock;
  for (std::size_t rail = 0; rail < n_rails; ++rail) {
    const std::string& name = rail == 0 ? network.rails.front() : network.more_rails[rail - 1].name;
    const auto at = std::find(names.begin(), names.end(), name) - names.begin();
    if (options.progress) {
      how.progress = [&](const std::string& what, double fraction) {
        options.progress(what + " over " + name,
                         (static_cast<double>(rail) + fraction) / static_cast<double>(n_rails));
      };
    }
    const OnRail on_rail(transport, static_cast<std::size_t>(at));
    conducted(
        transport, native, options.clock,
        [&](Conductor& conductor) {
          measured.push_back({name, kind, measure_plogp(seen_on(network, rail), conductor, how)});
          return std::string();
        },
        options.pause);
  }
  return measured;
}

}  // namespace eco::measure
