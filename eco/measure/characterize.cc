#include "eco/measure/characterize.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "eco/base/errors.h"
#include "eco/measure/common.h"
#include "eco/measure/conductor.h"
#include "eco/measure/derive.h"
#include "eco/measure/find_tree.h"
#include "eco/measure/local_rates.h"
#include "eco/measure/one_host.h"
#include "eco/measure/plogp.h"
#include "eco/measure/sharing.h"
#include "eco/measure/subnet_rates.h"
#include "eco/measure/sweeps.h"
#include "eco/net/io.h"
#include "eco/structure/sampler.h"

namespace eco::measure {
namespace {

// Shares of a budget: pair times, then streams; the rest is left for sending the result and for error.
constexpr double kSweepShare = 0.65;
constexpr double kStreamShare = 0.92;

constexpr int kProbeRepeats = 3;
// Of a small message's whole time, what sending, and what receiving, can at most be.
constexpr double kMostOverhead = 0.3;
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
        remembered_(known_times()),
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
    const net::Tree tree = by_tree ? network.tree : tree_of_samples(network);
    const net::Partition subnets = by_tree ? tree.subnets() : settled_subnets(network, by_figure2, tree);
    derive_classes(network, subnets);
    // What leaves a site is held up by its link too: no proof that a subnet's uplink is slow.
    network.sites = sites_of(tree, network.subnets);
    limit_site_links(network.sites);
    SubnetRates rates(conductor_, subnet_rates());
    by_tree ? rates.take_from_tree(network) : rates.measure(network);
    network.frame_bytes = options_.frame_bytes;
    network.envelope_bytes = options_.envelope_bytes;
    network.reverse_share = reverse_share(network.concurrent);
    say("what all hosts have in common", 0.95);
    const Common common =
        measure_common(conductor_, network, placement_.rank_of_host, [this] { return in_time(); });
    network.common_message_s = common.message_s;
    network.common_wake_s = common.wake_s;
    measure_fullest_host(network);
    if (!network.tree.is_known()) {
      find_tree_last(network);
    } else if (!by_tree) {
      derive_site_links(network);  // a tree that is not believed says nothing of them either
    }
    fit_latencies(network);
    if (network.tree.is_known()) network.tree.verdict = verdict(network.tree, by_figure2, subnets);
    keep_if_hurried(network);
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
    return options_.budget_s <= 0 && remembered_.empty() && n * (n - 1) / 2 > kMostPairs;
  }

  // A job needs its time for trials of plans; nor is more asked where pairs are remembered.
  bool asks_no_more() const { return options_.budget_s > 0 || !remembered_.empty(); }

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

  // Where all pairs were timed anyway.
  void find_tree_last(net::Network& network) {
    if (network.n_hosts() < 2) return;
    if (asks_no_more()) {
      network.tree = tree_of_samples(network);
      derive_site_links(network);
      return;
    }
    find_tree(network, 0.97, probe_samples(network));
    network.sites = sites_of(network.tree, network.subnets);
    limit_site_links(network.sites);
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

  SubnetRatesOptions subnet_rates() {
    SubnetRatesOptions how;
    how.rank_of_host = placement_.rank_of_host;
    if (options_.budget_s > 0) how.stream_s = std::min(how.stream_s, 0.002 * options_.budget_s);
    how.in_time = [this] {
      is_hurried_ = is_hurried_ || !in_time();
      return !is_hurried_;
    };
    how.say = [this](const std::string& what, double fraction) { say(what, fraction); };
    return how;
  }

  int rank_of(int host) const { return placement_.rank_of_host[static_cast<std::size_t>(host)]; }

  Pinger pinger() const {
    return [this](const std::vector<structure::Pair>& pairs, std::size_t bytes, int trips) {
      std::vector<std::vector<double>> seconds =
          conductor_.trips(flows_of(pairs, placement_.rank_of_host), bytes, trips);
      for (std::vector<double>& of_pair : seconds) {
        for (double& trip : of_pair) trip /= 2;  // one way
      }
      return seconds;
    };
  }

  SweepOptions in_budget() const {
    SweepOptions sweep;
    sweep.budget_s = kSweepShare * options_.budget_s;
    sweep.most_s = options_.most_s;
    sweep.clock = options_.clock;
    if (options_.budget_s > 0 && options_.keep) {
      sweep.keep = [this](const std::vector<KnownTimes>& kept) {
        options_.keep(of_hosts(with_remembered(kept)), false);
      };
    }
    return sweep;
  }

  // A network that does not say what is shared serves the job that had no time for more.
  void keep_if_hurried(const net::Network& network) const {
    if (options_.budget_s <= 0 || !options_.keep || !is_hurried_) return;
    const auto are_enough = [](const std::vector<double>& samples) { return samples.size() >= 2; };
    options_.keep(of_hosts(with_remembered(picked_times(network.sizes, network.pairs, are_enough))),
                  n_measured_ == 0);
  }

  // And what was known before, of other pairs and at other sizes.
  std::vector<KnownTimes> with_remembered(std::vector<KnownTimes> times) const {
    std::map<std::pair<int, int>, std::size_t> place_of;
    for (std::size_t i = 0; i < times.size(); ++i) place_of[{times[i].a, times[i].b}] = i;
    for (const KnownTimes& known : remembered_) {
      const auto [place, is_new] = place_of.insert({{known.a, known.b}, times.size()});
      if (is_new) times.push_back({known.a, known.b, {}});
      times[place->second].samples.insert(known.samples.begin(), known.samples.end());
    }
    return times;
  }

  std::vector<net::KnownPair> of_hosts(const std::vector<KnownTimes>& times) const {
    const auto host = [this](int number) { return placement_.hosts[static_cast<std::size_t>(number)]; };
    std::vector<net::KnownPair> pairs;
    for (const KnownTimes& known : times) {
      net::KnownPair& pair = pairs.emplace_back(net::KnownPair{host(known.a), host(known.b), {}, {}});
      for (const auto& [bytes, samples] : known.samples) {
        pair.sizes.push_back(bytes);
        pair.samples.push_back(samples);
      }
    }
    return pairs;
  }

  void measure_pairs(net::Network& network) {
    SweepOptions sweep = in_budget();
    sweep.sweeps = options_.sweeps;
    sweep.progress = [this](const std::string& what, double fraction) { say(what, 0.8 * fraction); };
    // Where the tree is not believed, neither are the times that it was made of.
    sweep.known = is_tree_used_ ? times_of_tree() : remembered_;
    if (is_tree_used_) sweep.level_of_host = network.tree.level_of_host();
    PairSamples samples = sweep_pairs(network.n_hosts(), pinger(), sweep);
    network.sizes = std::move(samples.sizes);
    network.pairs = std::move(samples.pairs);
    n_measured_ = samples.measured;
    if (!remembered_.empty()) {
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

  // Of host 0's pairs, which come first.
  static const net::PairTimes& nearest_pair(const net::Network& network) {
    return *std::min_element(network.pairs.begin(), network.pairs.begin() + network.n_hosts() - 1,
                             [](const net::PairTimes& x, const net::PairTimes& y) {
                               return x.seconds.front() < y.seconds.front();
                             });
  }

  void measure_local(net::Network& network) {
    network.combine_bytes_per_s = combine_rate(options_.clock);
    network.memory_bytes_per_s = copy_rate(options_.clock);
    network.memory_latency_s = kOrdinaryOverhead_s;
    network.send_overhead_s = kOrdinaryOverhead_s;
    network.receive_overhead_s = kOrdinaryOverhead_s;
    std::optional<Flow> probe;
    if (network.n_hosts() > 1) {
      probe = Flow{rank_of(0), rank_of(nearest_pair(network).b)};
    } else if (!placement_.neighbours.empty()) {
      probe = placement_.neighbours.front();
    }
    if (probe && in_time()) measure_overheads(network, *probe);
    if (!placement_.neighbours.empty() && in_time()) {
      measure_memory(conductor_, network, placement_.neighbours.front());
    }
  }

  // Send: what posting one small message takes. Receive: the gap between small messages of a stream, which is what the
  // slower end needs for each. Where it is the network that is slow, what they leave of a small message's time bounds them.
  void measure_overheads(net::Network& network, const Flow& probe) {
    constexpr int kMessages = 64;
    double alone = conductor_.ping(probe.from, probe.to, 8, 3);
    if (!network.pairs.empty()) alone = std::min(alone, nearest_pair(network).seconds.front());
    double posting = alone;
    double one = alone;
    double all = 1e300;
    for (int i = 0; i < kProbeRepeats; ++i) {
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

  // The host with the most ranks tells for all.
  void measure_fullest_host(net::Network& network) {
    const auto& ranks_of_host = placement_.ranks_of_host;
    const auto fullest = std::max_element(
        ranks_of_host.begin(), ranks_of_host.end(),
        [](const std::vector<int>& a, const std::vector<int>& b) { return a.size() < b.size(); });
    if (std::ssize(*fullest) < net::kFewestWhoShare || !in_time()) return;
    say("what the ranks of one host share", 0.96);
    const int host = static_cast<int>(fullest - ranks_of_host.begin());
    measure_host(conductor_, network, host, *fullest, [this] { return in_time(); });
  }

  // Of the progress, where pLogP is measured too: that takes longer than everything before it.
  static constexpr double kCharacterizeShare = 0.3;
  static constexpr double kOrdinaryOverhead_s = 1e-6;  // where there is nobody to measure with

  Conductor& conductor_;
  const CharacterizeOptions& options_;
  Placement placement_;
  std::vector<KnownTimes> remembered_;  // of these hosts
  double start_s_;
  ProbeSamples samples_;  // that finding the tree took
  bool is_tree_used_ = false;
  std::size_t n_measured_ = 0;  // pairs
  bool is_hurried_ = false;     // there was no time for some test of what is shared
};

// The result as text, behind one letter that says which: N a network, E an Unsupported's message.
net::Network unpack(const std::string& text) {
  if (text.starts_with('E')) throw Unsupported(text.substr(1));
  return net::parse_network(std::string_view(text).substr(1), "the measured network");
}

// `whole` is rank 0's, the text all ranks'. Both are read from what was written, so that they are equal to the last digit.
std::string conduct(Conductor& conductor, const CharacterizeOptions& options, net::Network& whole) {
  try {
    whole = net::parse_network(net::to_json(Session(conductor, options).measure()), "the measured network");
    return "N" + net::to_json(whole.without_samples());
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
  net::Network whole;
  const std::string text = conducted(
      transport, native, options.clock,
      [&](Conductor& conductor) { return conduct(conductor, options, whole); }, options.pause);
  const bool is_measured_here = transport.rank() == 0 && !whole.hosts.empty();
  return is_measured_here ? std::move(whole) : unpack(text);
}

}  // namespace eco::measure
