// Map: Look chooses the streams and pings, packs them into rounds of what shares no link, and judges the links from the times.
#include "eco/measure/ambient.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "eco/measure/conductor.h"

namespace eco::measure {
namespace {

constexpr std::size_t kMessageBytes = 4096;
constexpr std::size_t kShortest = 4 * kMessageBytes;  // the first arrival begins the time: three are timed
constexpr double kLongest = 65536;                    // bytes, or
constexpr double kLeast_s = 0.5e-3;                   // what takes so long: below, a clock sees nothing
constexpr double kStream_s = 10e-3;                   // aimed at, on slow links
constexpr int kMostMessages = 512;
constexpr int kAgain = 2;  // asked again, a stream or ping that is slow
// Where it was slow before too: once more, since TCP may have forgotten what an idle path bears, or never known it.
constexpr int kAgainWhereLoaded = 1;
constexpr std::size_t kMostFlows = 24;  // inside subnets, and between them
// A stream must take so much longer than it should: what schedulers do to one on a busy machine.
constexpr double kFloor_s = 1e-3;
// A ping is slow beyond this factor, and by more than this (as of sentinels).
constexpr double kFarther = 1.5;
constexpr double kPingFloor_s = 500e-6;
constexpr std::size_t kPingBytes = 1024;
// Trips of a ping, of which the one in the middle counts: a queue is there for all of them, and what a scheduler does for one.
constexpr int kTrips = 3;
// Streams between subnets go this many ways from each: to the next, to the one after it, ...
constexpr std::size_t kStrides = 3;
// What a stream should get is its slowest link's; others as slow, within this, are its limits too.
constexpr double kAsSlow = 1.1;

struct Probe {
  int from = 0;  // hosts
  int to = 0;
  net::Route route;
  double expected = 0;  // bytes a second
  int n_messages = 0;
  double best = 0;  // bytes a second; 0: not asked yet
};

struct Ping {
  int a = 0;
  int b = 0;
  int between = 0;
  double expected_s = 0;
  double best_s = 0;  // 0: not asked yet
};

// In rounds whose members `meet` no other of the round.
template <class Each, class Meet>
std::vector<std::vector<Each*>> rounds_of(std::vector<Each>& all, const Meet& meet,
                                          const std::function<bool(const Each&)>& wanted) {
  std::vector<std::vector<Each*>> rounds;
  for (Each& each : all) {
    if (!wanted(each)) continue;
    const auto fits = [&](const std::vector<Each*>& round) {
      return std::none_of(round.begin(), round.end(), [&](const Each* other) { return meet(each, *other); });
    };
    const auto round = std::find_if(rounds.begin(), rounds.end(), fits);
    if (round != rounds.end())
      round->push_back(&each);
    else
      rounds.push_back({&each});
  }
  return rounds;
}

// Of messages that came at these times. What came before its receiver looked came at once.
double rate_of(const std::vector<double>& times, double expected) {
  if (times.size() < 2) return expected;
  const double seconds = times.back() - times.front();
  const double bytes = static_cast<double>(kMessageBytes * (times.size() - 1));
  return seconds > 0 ? bytes / seconds : expected;
}

// Rank 0 asking.
class Look {
 public:
  Look(Conductor& conductor, const net::Network& network, const AmbientOptions& options)
      : conductor_(conductor), network_(network), options_(options) {
    std::vector<std::vector<int>> hosts(network.subnets.size());
    for (std::size_t rank = 0; rank < options.host_of_rank.size(); ++rank) {
      const int host = options.host_of_rank[rank];
      if (!rank_of_host_.emplace(host, static_cast<int>(rank)).second) continue;
      hosts[static_cast<std::size_t>(network.subnet_of_host[static_cast<std::size_t>(host)])].push_back(host);
    }
    for (std::size_t s = 0; s < hosts.size(); ++s) {
      if (hosts[s].empty()) continue;
      subnets_.push_back(static_cast<int>(s));
      hosts_.push_back(std::move(hosts[s]));
    }
  }

  // Where links were loaded those are asked alone, by a stream for each, and all others if they are free.
  net::Ambient find(const net::Ambient& was) {
    start_s_ = options_.clock();
    choose_inside();
    choose_across();
    if (!was.is_quiet()) {
      const std::set<std::pair<int, int>> speak = speakers(was);
      net::Ambient still =
          asked_of([&](const Probe& probe) { return speak.contains({probe.from, probe.to}); },
                   [&](const Ping& ping) { return goes(ping, was); }, kAgainWhereLoaded);
      // Of the others on these streams' ways nothing else was asked.
      std::erase_if(still.links, [&](const auto& link) { return !names(was, link.resource); });
      // Some of several links may just now be within kFree, and that is no other traffic.
      if (!still.is_quiet()) return with(still, was);
    }
    const net::Ambient ambient =
        asked_of([](const Probe&) { return true; }, [](const Ping&) { return true; }, kAgain);
    const bool is_loaded = !ambient.ways.empty() ||
                           std::any_of(ambient.links.begin(), ambient.links.end(),
                                       [](const auto& link) { return link.left_permille < 1000 * kLoaded; });
    return is_loaded || !was.is_quiet() ? ambient : net::Ambient{};
  }

 private:
  net::Ambient asked_of(const std::function<bool(const Probe&)>& streams,
                        const std::function<bool(const Ping&)>& pings, int most_again) {
    ping(pings,
         most_again);  // first: queues that are long show in little time, and streams behind them take long
    const bool is_far = std::any_of(pings_.begin(), pings_.end(), [](const Ping& p) { return is_slow(p); });
    stream(streams, is_far ? 0 : most_again);
    net::Ambient ambient;
    judge_links(ambient);
    judge_ways(ambient);
    return ambient;
  }

  // Those of `was`, as they are now where that is known.
  static net::Ambient with(const net::Ambient& now, net::Ambient was) {
    for (net::Ambient::Link& link : was.links) {
      for (const net::Ambient::Link& known : now.links) {
        if (known.resource == link.resource) link = known;
      }
    }
    for (net::Ambient::Way& way : was.ways) {
      for (const net::Ambient::Way& known : now.ways) {
        if (known.between == way.between) way = known;
      }
    }
    return was;
  }
  static bool names(const net::Ambient& ambient, int resource) {
    return std::any_of(ambient.links.begin(), ambient.links.end(),
                       [&](const auto& link) { return link.resource == resource; });
  }
  static bool crosses(const Probe& probe, int resource) {
    return std::find(probe.route.resources.begin(), probe.route.resources.end(), resource) !=
           probe.route.resources.end();
  }
  // The hosts of one stream over each of these links, as far as there is one: beside traffic each is slow.
  std::set<std::pair<int, int>> speakers(const net::Ambient& ambient) const {
    std::set<std::pair<int, int>> speak;
    for (const net::Ambient::Link& link : ambient.links) {
      const Probe* mine = nullptr;
      bool is_spoken_for = false;
      for (const Probe& probe : probes_) {
        const double rate = network_.resources.at(static_cast<std::size_t>(link.resource)).bytes_per_s;
        if (!crosses(probe, link.resource) || !(rate <= kAsSlow * probe.expected)) continue;
        is_spoken_for = is_spoken_for || speak.contains({probe.from, probe.to});
        if (mine == nullptr) mine = &probe;
      }
      if (mine != nullptr && !is_spoken_for) speak.emplace(mine->from, mine->to);
    }
    return speak;
  }
  static bool goes(const Ping& ping, const net::Ambient& ambient) {
    return std::any_of(ambient.ways.begin(), ambient.ways.end(),
                       [&](const auto& way) { return way.between == ping.between; });
  }

  // A host of this one of the job's subnets, another one each turn.
  int host_of(std::size_t subnet, std::size_t turn) const {
    const std::vector<int>& hosts = hosts_[subnet];
    return hosts[(turn + options_.turn) % hosts.size()];
  }

  void add(int from, int to) {
    Probe probe{from, to, network_.route(from, to), 0, 0, 0};
    double slowest = 0;
    for (const int r : probe.route.resources) {
      const double rate = network_.resources[static_cast<std::size_t>(r)].bytes_per_s;
      if (std::isfinite(rate) && rate > 0 && (slowest == 0 || rate < slowest)) slowest = rate;
    }
    if (slowest == 0) return;  // nothing is known of it
    probe.expected = slowest;
    const double most = std::max(kLongest, kLeast_s * slowest);
    const double bytes = std::clamp(kStream_s * slowest, static_cast<double>(kShortest), most);
    probe.n_messages =
        std::min(kMostMessages, static_cast<int>(std::ceil(bytes / static_cast<double>(kMessageBytes))));
    probes_.push_back(std::move(probe));
  }

  void choose_inside() {
    for (std::size_t s = 0; s < hosts_.size(); ++s) {
      const std::size_t n = hosts_[s].size();
      if (n < 2) continue;
      const bool is_bus =
          network_.subnets[static_cast<std::size_t>(subnets_[s])].kind == net::SubnetKind::bus;
      for (std::size_t i = 0; i < (is_bus ? 1 : n); ++i) {
        if (probes_.size() < kMostFlows) add(host_of(s, i), host_of(s, i + 1));
      }
    }
  }

  void choose_across() {
    const std::size_t n = hosts_.size();
    const std::size_t n_inside = probes_.size();
    for (std::size_t stride = 1; stride < n && stride <= kStrides; ++stride) {
      for (std::size_t s = 0; s < n && probes_.size() - n_inside < kMostFlows; ++s)
        add(host_of(s, stride), host_of((s + stride) % n, stride + 1));
    }
    std::vector<std::size_t> n_pings(n);  // of each subnet
    for (std::size_t i = 0; i < network_.between.size() && pings_.size() < kMostFlows; ++i) {
      const net::Between& between = network_.between[i];
      const auto place = [&](int subnet) {
        return std::find(subnets_.begin(), subnets_.end(), subnet) - subnets_.begin();
      };
      const auto from = static_cast<std::size_t>(place(between.from));
      const auto to = static_cast<std::size_t>(place(between.to));
      if (from == n || to == n) continue;
      // Other hosts than those of pings before, which go at once then.
      const int a = host_of(from, n_pings[from]++);
      const int b = host_of(to, n_pings[to]++);
      pings_.push_back({a, b, static_cast<int>(i), network_.message_s(a, b, kPingBytes), 0});
    }
  }

  bool time_is_up() const { return options_.clock() - start_s_ >= options_.most_s; }
  Flow ranks_of(int from, int to) const { return {rank_of_host_.at(from), rank_of_host_.at(to)}; }

  static bool is_slow(const Probe& probe) {
    const double bytes = static_cast<double>(kMessageBytes) * (probe.n_messages - 1);
    return probe.best < kFree * probe.expected && bytes / probe.best - bytes / probe.expected > kFloor_s;
  }
  static bool is_slow(const Ping& ping) {
    return ping.best_s > kFarther * ping.expected_s && ping.best_s - ping.expected_s > kPingFloor_s;
  }

  // One stream says nothing of which of its two hosts is busy; others with a third host of their subnet do.
  void add_witnesses() {
    const std::size_t n = probes_.size();
    for (std::size_t i = 0; i < n; ++i) {
      const int from = probes_[i].from;
      const int to = probes_[i].to;
      if (probes_[i].best == 0 || !is_slow(probes_[i])) continue;
      for (const std::vector<int>& hosts : hosts_) {
        const auto is_here = [&](int host) {
          return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
        };
        if (!is_here(from) || !is_here(to)) continue;
        const auto third = std::find_if(hosts.begin(), hosts.end(), [&](int host) {
          return host != from && host != to && !is_suspect(host, n);
        });
        if (third == hosts.end()) continue;
        add(from, *third);
        add(*third, to);
      }
    }
  }
  bool is_suspect(int host, std::size_t n) const {
    return std::any_of(probes_.begin(), probes_.begin() + static_cast<std::ptrdiff_t>(n),
                       [&](const Probe& probe) {
                         return (probe.from == host || probe.to == host) && probe.best > 0 && is_slow(probe);
                       });
  }

  void stream(const std::function<bool(const Probe&)>& asked, int most_again) {
    int again = 0;
    const auto meet = [&](const Probe& a, const Probe& b) {
      if (again > 0 || a.from == b.from || a.to == b.to) return true;
      return std::any_of(a.route.resources.begin(), a.route.resources.end(), [&](int r) {
        return std::isfinite(network_.resources[static_cast<std::size_t>(r)].bytes_per_s) &&
               std::find(b.route.resources.begin(), b.route.resources.end(), r) != b.route.resources.end();
      });
    };
    for (; again <= most_again; ++again) {
      const auto wanted = [&](const Probe& probe) {
        return asked(probe) && (probe.best == 0 || (again > 0 && is_slow(probe)));
      };
      if (again == 1) add_witnesses();
      for (const auto& round : rounds_of<Probe>(probes_, meet, wanted)) {
        if (time_is_up()) return;
        std::vector<Stream> streams;
        for (const Probe* probe : round)
          streams.push_back({ranks_of(probe->from, probe->to), kMessageBytes, probe->n_messages});
        const auto times = conductor_.arrivals(streams);
        for (std::size_t i = 0; i < round.size(); ++i)
          round[i]->best = std::max(round[i]->best, rate_of(times[i], round[i]->expected));
      }
    }
  }

  void ping(const std::function<bool(const Ping&)>& asked, int most_again) {
    const auto meet = [](const Ping& a, const Ping& b) {
      return a.a == b.a || a.a == b.b || a.b == b.a || a.b == b.b;
    };
    for (int again = 0; again <= most_again; ++again) {
      const auto wanted = [&](const Ping& ping) {
        return asked(ping) && (ping.best_s == 0 || (again > 0 && is_slow(ping)));
      };
      for (const auto& round : rounds_of<Ping>(pings_, meet, wanted)) {
        if (time_is_up()) return;
        std::vector<Flow> flows;
        for (const Ping* ping : round) flows.push_back(ranks_of(ping->a, ping->b));
        auto times = conductor_.trips(flows, kPingBytes, kTrips);
        for (std::size_t i = 0; i < round.size(); ++i) {
          const auto middle = times[i].begin() + kTrips / 2;
          std::nth_element(times[i].begin(), middle, times[i].end());
          const double seconds = *middle / 2;
          round[i]->best_s = round[i]->best_s == 0 ? seconds : std::min(round[i]->best_s, seconds);
        }
      }
    }
  }

  // What is left of a link is what the best of those streams got whose limit it should be.
  void judge_links(net::Ambient& ambient) const {
    std::map<int, double> left;
    std::set<int> slow;
    for (const Probe& probe : probes_) {
      if (probe.best == 0) continue;
      for (const int r : probe.route.resources) {
        const double rate = network_.resources[static_cast<std::size_t>(r)].bytes_per_s;
        if (!(rate <= kAsSlow * probe.expected)) continue;
        const double share = probe.best / rate;
        const auto known = left.emplace(r, share).first;
        known->second = std::max(known->second, share);
        if (is_slow(probe)) slow.insert(r);
      }
    }
    for (const auto& [resource, share] : left) {
      if (share < kFree && slow.contains(resource))
        ambient.links.push_back({resource, static_cast<int>(std::lround(1000 * share))});
    }
  }

  void judge_ways(net::Ambient& ambient) const {
    for (const Ping& ping : pings_) {
      if (ping.best_s > 0 && is_slow(ping))
        ambient.ways.push_back(
            {ping.between, static_cast<int>(std::lround(1e6 * (ping.best_s - ping.expected_s)))});
    }
  }

  Conductor& conductor_;
  const net::Network& network_;
  const AmbientOptions& options_;
  double start_s_ = 0;
  std::map<int, int> rank_of_host_;
  std::vector<int> subnets_;             // of this job, by their numbers in the network
  std::vector<std::vector<int>> hosts_;  // of each of them
  std::vector<Probe> probes_;
  std::vector<Ping> pings_;
};

}  // namespace

net::Ambient find_ambient(transport::Transport& transport, transport::Native& native,
                          const net::Network& network, const net::Ambient& was,
                          const AmbientOptions& options) {
  return net::Ambient::parse(conducted(transport, native, options.clock, [&](Conductor& conductor) {
    return Look(conductor, network, options).find(was).text();
  }));
}

}  // namespace eco::measure
