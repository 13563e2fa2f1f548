#include "eco/structure/capacities.h"

#include <algorithm>
#include <limits>

namespace eco::structure {
namespace {

using net::Level;
using net::SubnetKind;
using net::Tree;

// A flow that n flows on one medium slow n-fold is halfway there at (1 + n) / 2; below 1.3 nothing was shared.
constexpr double kOfSwitch = 1.3;
// An uplink holds its hosts up if less than this share of what all else could carry comes out.
constexpr double kLimits = 0.87;
// Both directions together carry twice as much if they do not share.
constexpr double kBothWays = 1.4;

std::vector<Pair> medium_flows(const std::vector<int>& h) {
  if (h.size() >= 4) return {{h[0], h[1]}, {h[2], h[3]}};
  if (h.size() == 3) return {{h[0], h[1]}, {h[1], h[2]}};
  if (h.size() == 2) return {{h[0], h[1]}, {h[1], h[0]}};
  return {};
}

SubnetKind kind_of(double slower, std::size_t n_flows) {
  if (slower >= (1 + static_cast<double>(n_flows)) / 2) return SubnetKind::bus;
  return slower <= kOfSwitch ? SubnetKind::switched : SubnetKind::unknown;
}

// A level's own hosts and medium are no other's: all levels at once.
void find_kinds(Tree& tree, Streams& streams) {
  std::vector<Streams::Group> flows;
  std::size_t most = 0;
  for (Level& level : tree.levels) {
    flows.push_back(medium_flows(level.hosts));
    most = std::max(most, flows.back().size());
    if (level.hosts.size() == 1) level.kind = SubnetKind::lone;
  }
  if (most == 0) return;
  std::vector<double> alone(flows.size(), 0);
  for (std::size_t i = 0; i < most; ++i) {
    std::vector<Streams::Group> now(flows.size());
    for (std::size_t l = 0; l < flows.size(); ++l) {
      if (i < flows[l].size()) now[l] = {flows[l][i]};
    }
    const std::vector<double> rates = streams.totals_of_groups(now);
    for (std::size_t l = 0; l < flows.size(); ++l) alone[l] += rates[l];
  }
  const std::vector<double> together = streams.totals_of_groups(flows);
  for (std::size_t l = 0; l < flows.size(); ++l) {
    if (!flows[l].empty()) tree.levels[l].kind = kind_of(alone[l] / together[l], flows[l].size());
  }
}

// What each host's port carries: each sends to its neighbour in a ring, on all levels at once, and has what the fastest of all
// its streams says. A host without neighbours has its level's rate.
std::vector<double> find_ports(const Tree& tree, std::size_t n_hosts, Streams& streams) {
  std::vector<Streams::Group> rings;
  for (const Level& level : tree.levels) {
    const std::size_t n = level.hosts.size();
    Streams::Group& ring = rings.emplace_back();
    if (level.kind == SubnetKind::bus) continue;
    for (std::size_t i = 0; n > 1 && i < n; ++i) ring.push_back({level.hosts[i], level.hosts[(i + 1) % n]});
  }
  streams.rates_of_groups(rings);
  std::vector<double> ports(n_hosts, 0);
  for (const Level& level : tree.levels) {
    for (const int host : level.hosts) {
      const bool by_level = level.hosts.size() == 1 || level.kind == SubnetKind::bus;
      ports[host] = by_level ? level.bytes_per_s : streams.fastest(host);
    }
  }
  return ports;
}

// Streams out of a level, chosen so that nothing that is known holds them up; what they could carry, and what they did.
struct Sent {
  std::vector<Pair> flows;
  double could = 0;
  double did = 0;
};

// First all uplinks count as wide: what holds streams up is then found where it is and also behind. From then on each is asked
// again, from the lowest up, with streams that all others known to be narrow have room for; if these are held up it is this
// uplink, and if not it counts as wide again.
class Uplinks {
 public:
  Uplinks(Tree& tree, Streams& streams)
      : tree_(tree), streams_(streams), carries_(tree.levels.size(), kWide) {
    level_of_.assign(tree.hosts_below(0).size(), 0);
    for (int level = 0; level < n_levels(); ++level) {
      for (const int host : tree.levels[level].hosts) level_of_[host] = level;
    }
    ports_ = find_ports(tree, level_of_.size(), streams);
  }

  void run() {
    std::vector<Sent> sent(tree_.levels.size());
    for (int pass = 0; pass < kPasses; ++pass) {
      std::vector<double> found = carries_;
      for (int level = n_levels() - 1; level > 0; --level) {
        sent[level] = send_out_of(level, sent[level]);
        const bool is_held_up = sent[level].did < kLimits * sent[level].could;
        (pass == 0 ? found : carries_)[level] = is_held_up ? sent[level].did : kWide;
      }
      if (pass == 0) carries_ = std::move(found);
    }
    for (int level = 1; level < n_levels(); ++level) {
      if (carries_[level] < kWide) describe(level, sent[level]);
    }
  }

 private:
  static constexpr int kPasses = 4;
  static constexpr double kWide = std::numeric_limits<double>::infinity();

  int n_levels() const { return static_cast<int>(tree_.levels.size()); }

  // What is left of everything between a host and a level (not its uplink).
  struct Left {
    std::vector<double> ports;
    std::vector<double> uplinks;
    std::vector<double> buses;
  };
  Left everything() const {
    Left left{ports_, carries_, {}};
    for (const Level& level : tree_.levels) {
      left.buses.push_back(level.kind == SubnetKind::bus ? level.bytes_per_s
                                                         : std::numeric_limits<double>::infinity());
    }
    return left;
  }

  // Calls with each thing that a stream passes on its way from a host up to, and with, a level's medium.
  template <class Use>
  void way_up(Left& left, int host, int top, const Use& use) const {
    use(left.ports[host]);
    for (int level = level_of_[host];; level = tree_.levels[level].parent) {
      use(left.buses[level]);
      if (level == top) return;
      use(left.uplinks[level]);
    }
  }
  // From outside of a level to the medium of its parent.
  template <class Use>
  void way_in(Left& left, int host, int level, const Use& use) const {
    std::vector<int> above;
    for (int at = tree_.levels[level].parent; at >= 0; at = tree_.levels[at].parent) above.push_back(at);
    int top = level_of_[host];
    while (std::find(above.begin(), above.end(), top) == above.end()) top = tree_.levels[top].parent;
    way_up(left, host, top, use);
    for (const int at : above) {
      if (at == top) return;
      use(left.uplinks[at]);
      use(left.buses[at]);
    }
  }

  // Of the hosts the one with the most room, which is then taken out of them.
  template <class Room>
  static int take_roomiest(std::vector<int>& hosts, const Room& room) {
    auto best = hosts.begin();
    double most = -1;
    for (auto host = hosts.begin(); host != hosts.end(); ++host) {
      const double of_host = room(*host);
      if (of_host > most) {
        most = of_host;
        best = host;
      }
    }
    const int chosen = *best;
    hosts.erase(best);
    return chosen;
  }

  // `before`: what was sent last. The same streams again would say the same.
  Sent send_out_of(int level, const Sent& before) {
    std::vector<int> inside = tree_.hosts_below(level);
    std::vector<int> outside;
    for (int host = 0; host < static_cast<int>(level_of_.size()); ++host) {
      if (!std::binary_search(inside.begin(), inside.end(), host)) outside.push_back(host);
    }
    Left left = everything();
    // A root of two is a place on one link, whose other half this is.
    const Level& root = tree_.levels[0];
    if (tree_.levels[level].parent == 0 && root.hosts.empty() && root.children.size() == 2) {
      for (const int child : root.children) left.uplinks[child] = kWide;
    }
    const auto room_up = [&](int host) {
      double room = std::numeric_limits<double>::infinity();
      way_up(left, host, level, [&](double& of) { room = std::min(room, of); });
      return room;
    };
    const auto room_in = [&](int host) {
      double room = std::numeric_limits<double>::infinity();
      way_in(left, host, level, [&](double& of) { room = std::min(room, of); });
      return room;
    };
    Sent sent;
    while (!inside.empty() && !outside.empty()) {
      const int from = take_roomiest(inside, room_up);
      const int to = take_roomiest(outside, room_in);
      const double rate = std::min(room_up(from), room_in(to));
      // Where no room is left, more streams would only take it from others.
      if (!sent.flows.empty() && rate < kLittle * sent.could / static_cast<double>(sent.flows.size())) break;
      way_up(left, from, level, [&](double& of) { of -= rate; });
      way_in(left, to, level, [&](double& of) { of -= rate; });
      sent.flows.push_back({from, to});
      sent.could += rate;
    }
    sent.did = sent.flows == before.flows ? before.did : streams_.total(sent.flows);
    return sent;
  }

  void describe(int number, const Sent& sent) {
    Level& level = tree_.levels[number];
    level.uplink_bytes_per_s = carries_[number];
    level.oversubscription = supply(number) / carries_[number];
    std::vector<Pair> both = sent.flows;
    for (const Pair& flow : sent.flows) both.push_back({flow.to, flow.from});
    level.half_duplex = streams_.total(both) < kBothWays * sent.did;
  }

  // What all below could send.
  double supply(int number) const {
    const Level& level = tree_.levels[number];
    double all = 0;
    for (const int host : level.hosts) all += ports_[host];
    for (const int child : level.children) all += std::min(carries_[child], supply(child));
    return level.kind == SubnetKind::bus ? std::min(all, level.bytes_per_s) : all;
  }

  // Of the streams' mean: a stream with less room than this is not worth starting.
  static constexpr double kLittle = 0.02;

  Tree& tree_;
  Streams& streams_;
  std::vector<double> carries_;  // each uplink
  std::vector<int> level_of_;
  std::vector<double> ports_;
};

}  // namespace

void find_shared(Tree& tree, Streams& streams) {
  find_kinds(tree, streams);
  Uplinks(tree, streams).run();
}

}  // namespace eco::structure
