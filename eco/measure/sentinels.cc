#include "eco/measure/sentinels.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "eco/measure/conductor.h"
#include "eco/measure/long_ways.h"

namespace eco::measure {
namespace {

// A pair is off if its time is beyond this factor of what is remembered, either way, and by more than what schedulers
// and interrupts do to a message. Half again: the pairs of a bus and those across its bridge differ by a factor of two
// (networks/recorded/eco-1995.json, 1 KiB), and remembered times are minima, which single pings of quiet hosts exceed
// by 5 to 20 % (recorded/*.json).
constexpr double kFactor = 1.5;
constexpr double kSlowerBy_s = 200e-6;

// Where only a slow link parts subnets, instead of the small one.
constexpr std::size_t kLarge = 16384;

constexpr std::size_t kFewestSlow = 6;  // a pair is slow after so many pings of which not one was in time,
constexpr std::size_t kFewestFast = 2;  // and fast after two: nothing makes a message early
constexpr std::chrono::milliseconds kSecondOpinion{100};
constexpr int kRounds = 12;
constexpr std::size_t kFewestToCompare = 4;  // pairs, for the others to say how busy the hosts are
constexpr std::size_t kMostPairs = 24;       // of each stage
constexpr double kFirstRound_s = 0.2;        // for the first pings of a stage,
constexpr double kMost_s = 0.5;              // for all of it,
constexpr double kMostOpen_s = 1;  // and for pairs that are slow and were not asked often enough to say so.
// All looks together, and so many times the longest way between subnets: where that leaves no time for the second, others'
// traffic is on the links, and nobody is accused.
constexpr double kMostOfAll_s = 2;
constexpr double kMostWays = 100;

struct PairProbe {
  int a = 0;  // hosts
  int b = 0;
  std::size_t bytes = 0;
  double expected_s = 0;
  bool accuses = false;  // asked because of its hosts: says nothing about how busy all are
  std::vector<double> seconds = {};
};

double lowest(const PairProbe& probe) {
  return *std::min_element(probe.seconds.begin(), probe.seconds.end());
}

bool is_beyond(double large_s, double small_s) {
  return large_s > kFactor * small_s && large_s - small_s > kSlowerBy_s;
}

// How much slower than remembered pairs are in general: the median, the lower of two.
double general_slowdown(std::vector<double> ratios) {
  if (ratios.size() < kFewestToCompare) return 1;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>((ratios.size() - 1) / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return std::max(1.0, *middle);
}

bool is_slow(const PairProbe& probe, double slowdown) {
  return is_beyond(lowest(probe), slowdown * probe.expected_s);
}
// One ping that is too quick may be a clock that jumped: another has to be as quick.
bool is_fast(const PairProbe& probe) {
  std::vector<double> sorted = probe.seconds;
  std::sort(sorted.begin(), sorted.end());
  return is_beyond(probe.expected_s, sorted[std::min<std::size_t>(1, sorted.size() - 1)]);
}

using Edge = std::pair<int, int>;

// The fewest whose being elsewhere explains all edges, near enough: the one with the most edges first. Where an edge
// says nothing about which of its two it is, both.
std::set<int> accused(std::vector<Edge> edges) {
  std::set<int> nodes;
  while (!edges.empty()) {
    std::map<int, int> degree;
    for (const auto& [a, b] : edges) {
      ++degree[a];
      ++degree[b];
    }
    const auto most = std::max_element(degree.begin(), degree.end(),
                                       [](const auto& x, const auto& y) { return x.second < y.second; });
    if (most->second == 1) {
      nodes.insert({edges.front().first, edges.front().second});
    } else {
      nodes.insert(most->first);
    }
    std::erase_if(edges, [&](const Edge& e) { return nodes.contains(e.first) || nodes.contains(e.second); });
  }
  return nodes;
}

double longest_way_s(const net::Network& network) {
  double longest_s = 0;
  for (const net::Between& pair : network.between) longest_s = std::max(longest_s, pair.latency_s);
  return longest_s;
}

// Rank 0 asking.
class Sentinels {
 public:
  Sentinels(Conductor& conductor, const net::Network& network, const SentinelOptions& options)
      : conductor_(conductor),
        network_(network),
        options_(options),
        random_(options.seed),
        deadline_s_(options.clock() + kMostOfAll_s + kMostWays * longest_way_s(network)),
        is_far_(longest_way_s(network) > kLongWay_s) {
    for (const net::PairTimes& pair : network.pairs) pairs_[{pair.a, pair.b}] = &pair;
    hosts_of_subnet_.resize(network.subnets.size());
    for (std::size_t rank = 0; rank < options.host_of_rank.size(); ++rank) {
      const int host = options.host_of_rank[rank];
      if (!rank_of_host_.emplace(host, static_cast<int>(rank)).second) continue;
      hosts_of_subnet_[static_cast<std::size_t>(network.subnet_of_host[static_cast<std::size_t>(host)])]
          .push_back(host);
    }
    std::erase_if(hosts_of_subnet_, [](const std::vector<int>& hosts) { return hosts.empty(); });
    // Whom chance takes first differs from job to job, so that in the end every pair is looked at.
    for (std::vector<int>& hosts : hosts_of_subnet_) std::shuffle(hosts.begin(), hosts.end(), random_);
  }

  // Whom two looks accuse, some time apart: a busy machine delays now these hosts and now those. The second look asks the
  // pairs inside subnets that the first one found off, and no others: whom it accuses may be another of the same two.
  std::set<int> moved() {
    prepare_inside_subnets();
    if (is_far_) ask_across_meanwhile();
    const Suspects first = look();
    if (first.hosts.empty() && first.subnets.empty()) return {};
    std::this_thread::sleep_for(kSecondOpinion);
    if (options_.clock() + kMost_s > deadline_s_) return {};  // it would be the first look's pings again
    earlier_ratios_.clear();
    const Suspects again = look();
    std::set<int> found = again.hosts;
    for (const int subnet : again.subnets) {
      if (!first.subnets.contains(subnet)) continue;
      for (const int host : hosts_of_subnet_[static_cast<std::size_t>(subnet)]) found.insert(host);
    }
    return found;
  }

 private:
  struct Suspects {
    std::set<int> hosts;    // out of their subnets
    std::set<int> subnets;  // as a whole
  };
  Suspects look() {
    Suspects found;
    found.hosts = moved_out_of_subnets();
    found.subnets = accused(off_across(found.hosts));
    return found;
  }

  void prepare_inside_subnets() {
    for (const std::vector<int>& hosts : hosts_of_subnet_) {
      const std::size_t bytes = telling_size(hosts);
      for (std::size_t i = 0; i + 1 < hosts.size(); i += 2) {
        inside_.push_back(probe(hosts[i], hosts[i + 1], bytes));
      }
      if (hosts.size() > 1 && hosts.size() % 2 == 1) inside_.push_back(probe(hosts.back(), hosts[0], bytes));
    }
    sample(inside_);
  }

  std::set<int> moved_out_of_subnets() {
    std::vector<Edge> edges = off(inside_);
    if (!edges.empty()) {
      for (PairProbe& witnessed : witnesses(inside_, edges)) inside_.push_back(std::move(witnessed));
      edges = off(inside_);
    }
    for (const PairProbe& probe : inside_) {
      if (!probe.accuses) earlier_ratios_.push_back(lowest(probe) / probe.expected_s);
    }
    return accused(std::move(edges));
  }

  // Each host of a pair that is off with another host of its subnet, which is in no such pair.
  std::vector<PairProbe> witnesses(const std::vector<PairProbe>& probes, const std::vector<Edge>& edges) {
    std::set<int> questioned;
    for (const auto& [a, b] : edges) questioned.insert({a, b});
    const auto asked = [&](int a, int b) {
      return std::any_of(probes.begin(), probes.end(), [&](const PairProbe& probe) {
        return (probe.a == a && probe.b == b) || (probe.a == b && probe.b == a);
      });
    };
    std::vector<PairProbe> more;
    for (const std::vector<int>& hosts : hosts_of_subnet_) {
      const auto witness =
          std::find_if(hosts.begin(), hosts.end(), [&](int host) { return !questioned.contains(host); });
      if (witness == hosts.end()) continue;
      for (const int host : hosts) {
        if (questioned.contains(host) && !asked(host, *witness))
          more.push_back(probe(host, *witness, telling_size(hosts), true));
      }
    }
    return more;
  }

  // Where rank 0 is far from some, an order and its answer take longer than the ping that they are about: a round between
  // subnets is ordered with one inside them.
  void ask_across_meanwhile() {
    across_ = pairs_of_leaders({});
    sample(across_);
    std::vector<PairProbe*> inside = waiting_of(inside_);
    std::vector<PairProbe*> across = waiting_of(across_);
    if (inside.empty() || across.empty()) return;
    const std::vector<PairProbe*> first = take_round(inside);
    if (first.front()->bytes == net::kSmallPairBytes) ping({first, take_round(across)});
  }

  struct Leader {
    int host;
    int subnet;  // its number among those of this job
  };
  // Of each subnet the first host that has not moved.
  std::vector<Leader> leaders(const std::set<int>& moved) const {
    std::vector<Leader> found;
    for (std::size_t s = 0; s < hosts_of_subnet_.size(); ++s) {
      const auto& hosts = hosts_of_subnet_[s];
      const auto leader =
          std::find_if(hosts.begin(), hosts.end(), [&](int host) { return !moved.contains(host); });
      if (leader != hosts.end()) found.push_back({*leader, static_cast<int>(s)});
    }
    return found;
  }

  std::vector<PairProbe> pairs_of_leaders(const std::set<int>& moved) const {
    std::vector<PairProbe> probes;
    const std::vector<Leader> all = leaders(moved);
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j)
        probes.push_back(probe(all[j].host, all[i].host, net::kSmallPairBytes));
    }
    return probes;
  }

  // Pairs of subnets whose leaders are off.
  std::vector<Edge> off_across(const std::set<int>& moved) {
    std::vector<PairProbe> probes = std::exchange(across_, {});
    const bool are_leaders = std::none_of(probes.begin(), probes.end(), [&](const PairProbe& probe) {
      return moved.contains(probe.a) || moved.contains(probe.b);
    });
    if (probes.empty() || !are_leaders) {
      probes = pairs_of_leaders(moved);
      sample(probes);
    }
    std::map<int, int> subnet_of_leader;
    for (const Leader& leader : leaders(moved)) subnet_of_leader.emplace(leader.host, leader.subnet);
    std::vector<Edge> subnets;
    for (const auto& [a, b] : off(probes))
      subnets.emplace_back(subnet_of_leader.at(a), subnet_of_leader.at(b));
    return subnets;
  }

  // The size at which a host of this subnet would be seen to have left for the nearest other.
  std::size_t telling_size(const std::vector<int>& hosts) const {
    if (hosts.size() < 2) return net::kSmallPairBytes;
    const auto tells = [&](std::size_t bytes) {
      double nearest_s = std::numeric_limits<double>::infinity();
      for (const std::vector<int>& others : hosts_of_subnet_) {
        if (others[0] != hosts[0]) nearest_s = std::min(nearest_s, expected_s(hosts[0], others[0], bytes));
      }
      return is_beyond(nearest_s, kFactor * expected_s(hosts[0], hosts[1], bytes));
    };
    return !tells(net::kSmallPairBytes) && tells(kLarge) ? kLarge : net::kSmallPairBytes;
  }

  // As measured, or else as the model has it.
  double expected_s(int a, int b, std::size_t bytes) const {
    const auto pair = pairs_.find(std::minmax(a, b));
    const auto size = std::find(network_.sizes.begin(), network_.sizes.end(), bytes);
    if (pair != pairs_.end() && size != network_.sizes.end()) {
      return pair->second->seconds[static_cast<std::size_t>(size - network_.sizes.begin())];
    }
    return network_.message_s(a, b, bytes);
  }

  PairProbe probe(int a, int b, std::size_t bytes, bool accuses = false) const {
    return {a, b, bytes, expected_s(a, b, bytes), accuses};
  }

  double slowdown_of_all(const std::vector<PairProbe>& probes) const {
    std::vector<double> ratios = earlier_ratios_;
    for (const PairProbe& probe : probes) {
      if (!probe.accuses) ratios.push_back(lowest(probe) / probe.expected_s);
    }
    return general_slowdown(std::move(ratios));
  }

  void sample(std::vector<PairProbe>& probes) {
    std::shuffle(probes.begin(), probes.end(), random_);
    probes.resize(std::min(probes.size(), kMostPairs));
  }

  // The pair that waits longest; where it takes longest to tell hosts what to do, with all that can ping beside it.
  std::vector<PairProbe*> take_round(std::vector<PairProbe*>& waiting) const {
    std::vector<PairProbe*> round;
    std::vector<PairProbe*> later;
    std::set<int> busy;
    for (PairProbe* const probe : waiting) {
      const bool fits = round.empty() || (is_far_ && probe->bytes == net::kSmallPairBytes &&
                                          round.front()->bytes == net::kSmallPairBytes &&
                                          !busy.contains(probe->a) && !busy.contains(probe->b));
      (fits ? round : later).push_back(probe);
      if (fits) busy.insert({probe->a, probe->b});
    }
    waiting = std::move(later);
    return round;
  }

  // One trip each, all of a round at the same time; of all rounds one size.
  void ping(const std::vector<std::vector<PairProbe*>>& rounds) {
    std::vector<std::vector<Flow>> flows;
    for (const std::vector<PairProbe*>& round : rounds) {
      auto& pairs = flows.emplace_back();
      for (const PairProbe* const probe : round)
        pairs.push_back({rank_of_host_.at(probe->a), rank_of_host_.at(probe->b)});
    }
    const auto trips = conductor_.trips_in_rounds(flows, rounds.front().front()->bytes, 1);
    for (std::size_t r = 0; r < rounds.size(); ++r) {
      for (std::size_t i = 0; i < rounds[r].size(); ++i)
        rounds[r][i]->seconds.push_back(trips[r][i].front() / 2);
    }
  }

  static std::vector<PairProbe*> waiting_of(std::vector<PairProbe>& probes) {
    std::vector<PairProbe*> waiting;
    for (PairProbe& probe : probes) {
      if (probe.seconds.empty()) waiting.push_back(&probe);
    }
    return waiting;
  }

  // Pings every pair that was not, and then again those that are off; returns those that stay so.
  std::vector<Edge> off(std::vector<PairProbe>& probes) {
    const double start_s = options_.clock();
    const auto elapsed = [&] { return options_.clock() - start_s; };
    const double left_s = deadline_s_ - start_s;
    std::vector<PairProbe*> waiting = waiting_of(probes);
    while (!waiting.empty() && elapsed() < std::min(kFirstRound_s, left_s)) ping({take_round(waiting)});
    std::erase_if(probes, [](const PairProbe& probe) { return probe.seconds.empty(); });
    // Whatever is slower than remembered is asked as often, be it as slow as all or slower: of pairs that are asked once and
    // of others that are asked until they are quick, nothing follows about how busy the hosts are.
    for (int round = 1; round < kRounds; ++round) {
      const double slowdown = slowdown_of_all(probes);
      for (PairProbe& probe : probes) {
        if (!is_slow(probe, 1) && !is_fast(probe)) continue;
        const bool is_open = probe.seconds.size() < kFewestSlow && is_slow(probe, slowdown);
        if (elapsed() < std::min(is_open ? kMostOpen_s : kMost_s, left_s)) ping({{&probe}});
      }
    }
    const double slowdown = slowdown_of_all(probes);
    std::vector<Edge> edges;
    for (const PairProbe& probe : probes) {
      const std::size_t n = probe.seconds.size();
      if ((n >= kFewestSlow && is_slow(probe, slowdown)) || (n >= kFewestFast && is_fast(probe)))
        edges.emplace_back(probe.a, probe.b);
    }
    return edges;
  }

  Conductor& conductor_;
  const net::Network& network_;
  const SentinelOptions& options_;
  std::mt19937 random_;
  double deadline_s_;
  bool is_far_;  // from rank 0, or from each other
  std::map<std::pair<int, int>, const net::PairTimes*> pairs_;
  std::map<int, int> rank_of_host_;
  std::vector<PairProbe> inside_;                  // subnets; of both looks
  std::vector<PairProbe> across_;                  // between subnets, as far as they were asked meanwhile
  std::vector<double> earlier_ratios_;             // to what is remembered, of the pairs inside subnets
  std::vector<std::vector<int>> hosts_of_subnet_;  // of this job
};

}  // namespace

std::vector<int> find_moved(transport::Transport& transport, transport::Native& native,
                            const net::Network& network, const SentinelOptions& options) {
  const std::string text = conducted(transport, native, options.clock, [&](Conductor& conductor) {
    std::string hosts;
    for (const int host : Sentinels(conductor, network, options).moved()) hosts += std::to_string(host) + " ";
    return hosts;
  });
  std::istringstream words(text);
  std::vector<int> hosts;
  for (int host = 0; words >> host;) hosts.push_back(host);
  return hosts;
}

}  // namespace eco::measure
