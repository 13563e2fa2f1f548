#include "eco/measure/characterize.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>

#include "eco/base/errors.h"
#include "eco/measure/derive.h"
#include "eco/measure/find_tree.h"
#include "eco/measure/local_rates.h"
#include "eco/measure/plogp.h"
#include "eco/measure/probe.h"
#include "eco/measure/sharing.h"
#include "eco/measure/sweeps.h"
#include "eco/net/io.h"
#include "eco/structure/sampler.h"

namespace eco::measure {
namespace {

// Shares of a budget: pair times, then streams; the rest is left for sending the result and for error.
constexpr double kSweepShare = 0.65;
constexpr double kStreamShare = 0.92;

// Streams: eager messages, enough of them to last this long.
constexpr std::size_t kStreamBytes = 16384;
constexpr std::size_t kShortestStreamBytes = 2048;
constexpr double kStreamOffline_s = 0.03;
constexpr int kFewestMessages = 4;
constexpr int kMostMessages = 64;
constexpr int kRepeats = 3;
// Of a small message's whole time, what sending, and what receiving, can at most be.
constexpr double kMostOverhead = 0.3;
// More classes of pairs than this get their rate from the pair times alone.
constexpr std::size_t kMostClasses = 64;

struct Placement {
  std::vector<net::HostId> hosts;  // in order of their first rank
  std::vector<int> rank_of_host;   // the one that measures
  std::vector<Flow> neighbours;    // two ranks of one host, if there are
  std::vector<std::vector<int>> ranks_of_host;
};

Placement place(const std::vector<net::HostId>& host_of_rank) {
  Placement placement;
  for (std::size_t rank = 0; rank < host_of_rank.size(); ++rank) {
    const auto& known = placement.hosts;
    const auto found = std::find(known.begin(), known.end(), host_of_rank[rank]);
    if (found == known.end()) {
      placement.hosts.push_back(host_of_rank[rank]);
      placement.rank_of_host.push_back(static_cast<int>(rank));
      placement.ranks_of_host.push_back({static_cast<int>(rank)});
      continue;
    }
    const auto host = static_cast<std::size_t>(found - known.begin());
    placement.ranks_of_host[host].push_back(static_cast<int>(rank));
    if (placement.neighbours.empty()) {
      placement.neighbours.push_back({placement.rank_of_host[host], static_cast<int>(rank)});
    }
  }
  return placement;
}

// Rank 0 measuring everything.
class Session {
 public:
  Session(Conductor& conductor, const CharacterizeOptions& options)
      : conductor_(conductor),
        options_(options),
        placement_(place(options.host_of_rank)),
        start_s_(options.clock()) {}

  net::Network measure() {
    net::Network network;
    network.hosts = placement_.hosts;
    network.transport = options_.transport;
    network.measured_at = options_.measured_at;
    const bool by_tree = is_worth_a_tree(network) && find_tree_first(network);
    measure_pairs(network);
    measure_local(network);
    const net::Partition by_figure2 = find_subnets(network.n_hosts(), network.sizes, network.pairs);
    derive_classes(network, by_tree ? network.tree.subnets() : by_figure2);
    by_tree ? take_from_tree(network) : measure_subnets(network);
    network.frame_bytes = options_.frame_bytes;
    network.envelope_bytes = options_.envelope_bytes;
    network.reverse_share = reverse_share(network.concurrent);
    measure_common(network);
    fit_latencies(network);
    if (!network.tree.is_known()) find_tree_last(network);
    if (network.tree.is_known()) network.tree.verdict = verdict(network.tree, by_figure2, by_tree);
    if (options_.plogp) measure_curves(network);
    if (options_.progress) options_.progress("done", 1.0);
    return network;
  }

 private:
  double elapsed() const { return options_.clock() - start_s_; }
  bool in_time() const { return options_.budget_s <= 0 || elapsed() < kStreamShare * options_.budget_s; }

  // Whether pairs are so many that it pays to know first which are alike. A budget is for few hosts.
  bool is_worth_a_tree(const net::Network& network) const {
    constexpr int kMostPairs = 66;  // of 12 hosts
    const int n = network.n_hosts();
    return options_.budget_s <= 0 && options_.known.empty() && n * (n - 1) / 2 > kMostPairs;
  }

  void find_tree(net::Network& network, double progress, ProbeSamples known) {
    TreeSearch search{placement_.rank_of_host, options_.clock};
    search.asked = [this, progress] { say("tree of subnets", progress); };
    search.known = std::move(known);
    TreeFound found = measure::find_tree(conductor_, search);
    network.tree = std::move(found.tree);
    samples_ = std::move(found.samples);
  }

  // True if all its levels are confirmed, and Figure 2 says the same of the times it has: what follows may rest on them.
  bool find_tree_first(net::Network& network) {
    find_tree(network, 0.1, {});
    is_tree_used_ = network.tree.is_sure() && says_the_same(samples_, network.n_hosts(), network.tree);
    return is_tree_used_;
  }

  // Where all pairs were timed anyway. A job needs its time for trials of plans, and asks nothing more.
  void find_tree_last(net::Network& network) {
    if (network.n_hosts() < 2) return;
    if (options_.budget_s > 0) {
      network.tree = tree_of_samples(network);
    } else {
      find_tree(network, 0.97, probe_samples(network));
    }
  }

  // Rates, kinds and uplinks, by tests with several pairs at once.
  void measure_subnets(net::Network& network) {
    measure_rates(network);
    run_tests(network, tests_inside(partition_of(network)));
    set_kinds(network);
    const std::vector<SharingTest> across = tests_across(network.subnets, network.between);
    run_tests(network, across);
    derive_uplinks(network, across);
  }

  // The same from the tree; left to measure are rates between subnets, and what both directions cost each other.
  void take_from_tree(net::Network& network) {
    const std::vector<int> level_of_host = network.tree.level_of_host();
    for (net::Subnet& subnet : network.subnets) {
      const int host = subnet.hosts.front();
      const auto level = static_cast<std::size_t>(level_of_host[static_cast<std::size_t>(host)]);
      subnet.kind = network.tree.levels[level].kind;
      if (subnet.hosts.size() > 1) subnet.bytes_per_s = network.tree.levels[level].bytes_per_s;
    }
    measure_rates_between(network);
    std::vector<SharingTest> tests = tests_inside(partition_of(network));
    std::erase_if(tests, [&](const SharingTest& test) {
      const bool is_ring = test.flows.back().to == test.flows.front().from;
      return !is_ring ||
             network.subnets[static_cast<std::size_t>(test.subnet)].kind != net::SubnetKind::switched;
    });
    std::stable_sort(tests.begin(), tests.end(), [&](const SharingTest& x, const SharingTest& y) {
      const auto rate = [&](const SharingTest& test) {
        return network.subnets[static_cast<std::size_t>(test.subnet)].bytes_per_s;
      };
      return rate(x) > rate(y);
    });
    if (tests.size() > 1) tests.resize(1);  // the fastest
    run_tests(network, tests);
    network.uplinks = uplinks_of(network.tree, network.subnets);
  }

  // Pair times take most of the time; what follows them shares the last fifth.
  void say(const std::string& what, double fraction) const {
    if (options_.progress) options_.progress(what, fraction * (options_.plogp ? kCharacterizeShare : 1));
  }

  void measure_curves(net::Network& network) {
    PlogpOptions how;
    how.ranks_of_host = placement_.ranks_of_host;
    how.budget_s = options_.budget_s;
    how.clock = options_.clock;
    if (options_.progress) {
      how.progress = [this](const std::string& what, double fraction) {
        options_.progress(what, kCharacterizeShare + (1 - kCharacterizeShare) * fraction);
      };
    }
    network.plogp = measure_plogp(network, conductor_, how);
  }

  static net::Partition partition_of(const net::Network& network) {
    net::Partition partition;
    for (const net::Subnet& subnet : network.subnets) partition.push_back(subnet.hosts);
    return partition;
  }

  int rank_of(int host) const { return placement_.rank_of_host[static_cast<std::size_t>(host)]; }

  void measure_pairs(net::Network& network) {
    SweepOptions sweep;
    sweep.budget_s = kSweepShare * options_.budget_s;
    sweep.sweeps = options_.sweeps;
    sweep.clock = options_.clock;
    sweep.progress = [this](const std::string& what, double fraction) { say(what, 0.8 * fraction); };
    sweep.known = network.tree.is_known() ? times_of_tree() : known_times();
    const bool is_known = !options_.known.empty();
    if (is_tree_used_) sweep.level_of_host = network.tree.level_of_host();
    const Ping ping = [this](int a, int b, std::size_t bytes, int trips) {
      return conductor_.ping(rank_of(a), rank_of(b), bytes, trips);
    };
    PairSamples samples = sweep_pairs(network.n_hosts(), ping, sweep);
    network.sizes = std::move(samples.sizes);
    network.pairs = std::move(samples.pairs);
    if (is_known) {
      network.note = std::to_string(samples.measured) + " of " + std::to_string(network.pairs.size()) +
                     " pairs measured, the others known";
    }
  }

  // What finding the tree measured already.
  std::vector<KnownTimes> times_of_tree() const {
    std::vector<KnownTimes> known;
    const int n = static_cast<int>(placement_.hosts.size());
    for (int a = 0; a < n; ++a) {
      for (int b = a + 1; b < n; ++b) {
        const auto found = samples_.find(structure::pair_key(a, b));
        if (found != samples_.end()) known.push_back({a, b, {{kProbeBytes, found->second}}});
      }
    }
    return known;
  }

  // What is known of the pairs among these hosts, by their numbers.
  std::vector<KnownTimes> known_times() const {
    const auto number = [this](const net::HostId& host) {
      return static_cast<int>(std::find(placement_.hosts.begin(), placement_.hosts.end(), host) -
                              placement_.hosts.begin());
    };
    std::vector<KnownTimes> known;
    for (const net::KnownPair& pair : options_.known) {
      const auto [a, b] = std::minmax({number(pair.a), number(pair.b)});
      if (a == b || b == static_cast<int>(placement_.hosts.size())) continue;
      KnownTimes times{a, b, {}};
      for (std::size_t i = 0; i < pair.sizes.size(); ++i) times.samples[pair.sizes[i]] = pair.samples[i];
      known.push_back(std::move(times));
    }
    return known;
  }

  void measure_local(net::Network& network) {
    network.combine_bytes_per_s = combine_rate(options_.clock);
    network.memory_bytes_per_s = copy_rate(options_.clock);
    network.memory_latency_s = kOrdinaryOverhead_s;
    network.send_overhead_s = kOrdinaryOverhead_s;
    network.receive_overhead_s = kOrdinaryOverhead_s;
    std::optional<Flow> probe;
    if (network.n_hosts() > 1) {
      probe = Flow{rank_of(0), rank_of(1)};
    } else if (!placement_.neighbours.empty()) {
      probe = placement_.neighbours.front();
    }
    if (probe && in_time()) measure_overheads(network, *probe);
    if (!placement_.neighbours.empty() && in_time()) measure_memory(network, placement_.neighbours.front());
  }

  // Send: what posting one small message takes. Receive: the gap between small messages of a stream, which is what the
  // slower end needs for each. Where it is the network that is slow, what they leave of a small message's time bounds them.
  void measure_overheads(net::Network& network, const Flow& probe) {
    constexpr int kMessages = 64;
    double alone = conductor_.ping(probe.from, probe.to, 8, 3);
    if (!network.pairs.empty()) alone = std::min(alone, network.pairs.front().seconds.front());
    double posting = alone;
    double one = alone;
    double all = 1e300;
    for (int i = 0; i < kRepeats; ++i) {
      alone = std::min(alone, conductor_.ping(probe.from, probe.to, 8, 3));
      one = std::min(one, conductor_.streams({probe}, 8, 1)[0].elapsed_s);
      const Answer many = conductor_.streams({probe}, 8, kMessages)[0];
      all = std::min(all, many.elapsed_s);
      posting = std::min(posting, many.posting_s / kMessages);
    }
    const double gap = std::max(0.0, all - one) / (kMessages - 1);
    network.send_overhead_s = std::min(posting, kMostOverhead * alone);
    network.receive_overhead_s = std::min(gap, kMostOverhead * alone);
  }

  void measure_memory(net::Network& network, const Flow& neighbours) {
    constexpr std::size_t kLarge = 65536;
    double small = 1e300;
    double large = 1e300;
    for (int i = 0; i < kRepeats; ++i) {
      small = std::min(small, conductor_.ping(neighbours.from, neighbours.to, 8, 3));
      large = std::min(large, conductor_.ping(neighbours.from, neighbours.to, kLarge, 3));
    }
    const double overheads = network.send_overhead_s + network.receive_overhead_s;
    network.memory_latency_s = std::max(0.0, small - overheads);
    if (large > small) network.memory_bytes_per_s = static_cast<double>(kLarge - 8) / (large - small);
  }

  struct StreamShape {
    std::size_t bytes;
    int count;
  };

  // Long enough that what all streams share (orders that arrive one after the other, latency) matters little, on slow
  // links of shorter messages.
  StreamShape shape(double bytes_per_s) const {
    double seconds = kStreamOffline_s;
    if (options_.budget_s > 0) seconds = std::min(seconds, 0.002 * options_.budget_s);
    const double total = seconds * bytes_per_s;
    std::size_t bytes = kStreamBytes;
    while (bytes > kShortestStreamBytes && static_cast<double>(bytes) * kFewestMessages > total) bytes /= 2;
    const double messages = total / static_cast<double>(bytes);
    return {bytes, static_cast<int>(std::clamp(messages, static_cast<double>(kFewestMessages),
                                               static_cast<double>(kMostMessages)))};
  }

  // The rate of one pair by streams, or `otherwise` if there is no time left or the times make no sense.
  double measured_rate(int a, int b, double otherwise) {
    const Flow flow{rank_of(a), rank_of(b)};
    const auto [bytes, count] = shape(otherwise);
    double one = 1e300;
    double all = 1e300;
    for (int i = 0; i < kRepeats && in_time(); ++i) {
      one = std::min(one, conductor_.streams({flow}, bytes, 1)[0].elapsed_s);
      all = std::min(all, conductor_.streams({flow}, bytes, count)[0].elapsed_s);
    }
    const double rate = stream_rate(bytes, count, one, all);
    return rate > 0 ? rate : otherwise;
  }

  void measure_rates(net::Network& network) {
    for (std::size_t s = 0; s < std::min(network.subnets.size(), kMostClasses); ++s) {
      net::Subnet& subnet = network.subnets[s];
      if (subnet.hosts.size() == 1) continue;
      say("rates inside subnets", 0.8);
      subnet.bytes_per_s = measured_rate(subnet.hosts[0], subnet.hosts[1], subnet.bytes_per_s);
    }
    measure_rates_between(network);
  }

  void measure_rates_between(net::Network& network) {
    std::vector<double> best_outside(network.subnets.size(), 0);
    for (std::size_t i = 0; i < network.between.size(); ++i) {
      net::Between& pair = network.between[i];
      const auto from = static_cast<std::size_t>(pair.from);
      const auto to = static_cast<std::size_t>(pair.to);
      if (i < kMostClasses) {
        say("rates between subnets", 0.85);
        pair.bytes_per_s =
            measured_rate(network.subnets[from].hosts[0], network.subnets[to].hosts[0], pair.bytes_per_s);
      }
      for (const std::size_t end : {from, to})
        best_outside[end] = std::max(best_outside[end], pair.bytes_per_s);
    }
    for (std::size_t s = 0; s < network.subnets.size(); ++s) {
      net::Subnet& subnet = network.subnets[s];
      if (subnet.hosts.size() == 1) subnet.bytes_per_s = best_outside[s];
    }
  }

  double rate_of(const net::Network& network, const HostFlow& flow) const {
    for (std::size_t s = 0; s < network.subnets.size(); ++s) {
      const auto& hosts = network.subnets[s].hosts;
      const bool has_from = std::find(hosts.begin(), hosts.end(), flow.from) != hosts.end();
      const bool has_to = std::find(hosts.begin(), hosts.end(), flow.to) != hosts.end();
      if (has_from && has_to) return network.subnets[s].bytes_per_s;
    }
    double slowest = 1e300;
    for (const net::Between& pair : network.between) slowest = std::min(slowest, pair.bytes_per_s);
    return slowest;
  }

  // Each flow alone, all together, three times over; kept is the quietest of each. A test that the budget leaves no
  // room for is not made: the network then says `unknown`.
  void run_tests(net::Network& network, const std::vector<SharingTest>& tests) {
    for (const SharingTest& asked : tests) {
      if (!in_time()) return;
      say("sharing: " + asked.what(), 0.9);
      std::vector<Flow> flows;
      net::ConcurrentTest test;
      test.what = asked.what();
      for (const HostFlow& flow : asked.flows) {
        flows.push_back({rank_of(flow.from), rank_of(flow.to)});
        test.pairs.push_back({flow.from, flow.to});
      }
      const auto [bytes, count] = shape(rate_of(network, asked.flows.front()));
      test.bytes = bytes * static_cast<std::size_t>(count);
      test.alone_s.assign(flows.size(), 1e300);
      for (int i = 0; i < kRepeats; ++i) {
        for (std::size_t f = 0; f < flows.size(); ++f) {
          const double seconds = conductor_.streams({flows[f]}, bytes, count)[0].elapsed_s;
          test.alone_s[f] = std::min(test.alone_s[f], seconds);
        }
        std::vector<double> together;
        for (const Answer& answer : conductor_.streams(flows, bytes, count))
          together.push_back(answer.elapsed_s);
        const auto last = [](const std::vector<double>& seconds) {
          return *std::max_element(seconds.begin(), seconds.end());
        };
        if (test.together_s.empty() || last(together) < last(test.together_s))
          test.together_s = std::move(together);
      }
      network.concurrent.push_back(std::move(test));
    }
  }

  // All hosts, or as many of them, evenly chosen: what they have in common shows where many speak at once.
  void measure_common(net::Network& network) {
    constexpr std::size_t kMostHosts = 12;
    constexpr int kRounds = 4;
    network.finish();
    const auto n = static_cast<std::size_t>(network.n_hosts());
    if (n < 3) return;
    std::vector<int> hosts;
    for (std::size_t i = 0; i < std::min(n, kMostHosts); ++i) {
      hosts.push_back(static_cast<int>(i * n / std::min(n, kMostHosts)));
    }
    const net::PairTimes* slowest = nullptr;
    for (const net::PairTimes& pair : network.pairs) {
      const auto takes_part = [&](int host) { return std::binary_search(hosts.begin(), hosts.end(), host); };
      if (!takes_part(pair.a) || !takes_part(pair.b)) continue;
      if (slowest == nullptr || pair.seconds.front() > slowest->seconds.front()) slowest = &pair;
    }
    if (slowest == nullptr) return;
    std::vector<int> ranks;
    for (const int host : hosts) ranks.push_back(rank_of(host));
    double two_s = 1e300;
    double all_s = 1e300;
    say("what all hosts have in common", 0.95);
    for (int i = 0; i < kRepeats && in_time(); ++i) {
      two_s = std::min(
          two_s, conductor_.exchange({rank_of(slowest->a), rank_of(slowest->b)}, kExchangedBytes, kRounds));
      all_s = std::min(all_s, conductor_.exchange(ranks, kExchangedBytes, kRounds));
    }
    if (all_s < 1e300) network.common_message_s = common_message(network, hosts, two_s, all_s);
  }

  static void set_kinds(net::Network& network) {
    for (std::size_t s = 0; s < network.subnets.size(); ++s) {
      const std::string what = SharingTest{Question::bus, static_cast<int>(s), {}}.what();
      const auto found = std::find_if(network.concurrent.begin(), network.concurrent.end(),
                                      [&](const net::ConcurrentTest& test) { return test.what == what; });
      net::Subnet& subnet = network.subnets[s];
      subnet.kind = kind_from(subnet.hosts.size(), found == network.concurrent.end() ? nullptr : &*found);
    }
  }

  // Of the progress, where pLogP is measured too: that takes longer than everything before it.
  static constexpr double kCharacterizeShare = 0.3;
  static constexpr double kOrdinaryOverhead_s = 1e-6;  // where there is nobody to measure with

  Conductor& conductor_;
  const CharacterizeOptions& options_;
  Placement placement_;
  double start_s_;
  ProbeSamples samples_;  // that finding the tree took
  bool is_tree_used_ = false;
};

// The result as text, behind one letter that says which: N a network, E an Unsupported's message.
net::Network unpack(const std::string& text) {
  if (text.starts_with('E')) throw Unsupported(text.substr(1));
  return net::parse_network(std::string_view(text).substr(1), "the measured network");
}

std::string conduct(Conductor& conductor, const CharacterizeOptions& options) {
  try {
    return "N" + net::to_json(Session(conductor, options).measure());
  } catch (const Unsupported& error) {
    return std::string("E") + error.what();
  }
}

}  // namespace

Clock monotonic_clock() {
  return [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
}

Pause sleeping_pause() {
  return [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); };
}

net::Network characterize(transport::Transport& transport, transport::Native& native,
                          const CharacterizeOptions& options) {
  if (options.host_of_rank.size() != static_cast<std::size_t>(transport.n_ranks())) {
    throw InvalidArgument("characterize: " + std::to_string(options.host_of_rank.size()) +
                          " host identities for " + std::to_string(transport.n_ranks()) +
                          " ranks; give one for each rank");
  }
  return unpack(conducted(
      transport, native, options.clock, [&](Conductor& conductor) { return conduct(conductor, options); },
      options.pause));
}

}  // namespace eco::measure
