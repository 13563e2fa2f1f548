#include "eco/measure/rails.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <thread>

#include "eco/base/errors.h"
#include "eco/base/quantile.h"
#include "eco/measure/derive.h"
#include "eco/net/part.h"

namespace eco::measure {
namespace {

using transport::SendMode;
using transport::Status;
using transport::Ticket;

// Tags of the rails' streams follow those of what goes over rail 0.
constexpr int kRailOrderTag = 0;
constexpr int kRailDoneTag = 1;
constexpr int kFirstStreamTag = 2;
using transport::kMostRails;

constexpr std::size_t kOnRailBytes = 16384;
constexpr std::size_t kRailPingBytes = 8;
constexpr std::int64_t kFewestOnRail = 4;
// Within what one connection takes without asking (TcpOptions::credit_bytes).
constexpr std::int64_t kMostOnRail = 200;
constexpr double kStreamInJob_s = 0.02;
constexpr double kStreamOffline_s = 0.1;
// Of many messages and of one: nearer times tell no rate.
constexpr double kMoreTakeLonger = 1.2;
constexpr int kRailRepeats = 3;
constexpr std::size_t kMostPairsInJob = 3;
constexpr std::size_t kMostPairsOffline = 64;
// Two rails at once take so much longer than the slower of them alone where they share a link; rails of one rate that do
// take twice as long.
constexpr double kShares = 1.5;

// Of each rail so many messages of so many bytes; zeros end the measurement.
struct RailStream {
  std::int64_t bytes = 0;
  std::array<std::int64_t, kMostRails> count{};
};

// A host that takes part; a remembered network may be of more.
struct Taking {
  int host = 0;
  int rank = 0;  // its first
};
using BySubnet = std::vector<std::vector<Taking>>;

struct Opposite {
  Taking a;
  Taking b;
  bool inside = true;
  double bytes_per_s = 0;
  std::vector<std::size_t> rails{};  // that both have
};

// Two ranks, of which the first times and the second answers.
class Streams {
 public:
  Streams(transport::Transport& transport, const RailsOptions& options, int peer)
      : transport_(transport),
        options_(options),
        n_rails_(static_cast<std::size_t>(transport.n_rails())),
        peer_(peer) {
    std::vector<std::uint8_t> rails(kFirstStreamTag, 0);
    for (std::size_t rail = 0; rail < n_rails_; ++rail) rails.push_back(static_cast<std::uint8_t>(rail));
    transport_.set_rails(0, rails);
  }

  // Seconds from the first message to the word that all have come.
  double run(RailStream stream) {
    const auto order = std::as_bytes(std::span<const RailStream, 1>(&stream, 1));
    send(kRailOrderTag, order);
    wait_all();
    const double start_s = options_.clock();
    std::byte done{};
    post(transport_.post_recv(peer_, kRailDoneTag, {&done, 1}, 0));
    memory_.resize(std::max(memory_.size(), static_cast<std::size_t>(stream.bytes)));
    const std::int64_t longest = *std::max_element(stream.count.begin(), stream.count.end());
    for (std::int64_t i = 0; i < longest; ++i) {
      // In step, so that rails of different rates end together.
      for (std::size_t rail = 0; rail < n_rails_; ++rail) {
        const std::int64_t n = stream.count[rail];
        if ((i + 1) * n / longest == i * n / longest) continue;
        send(tag_of(rail), std::span(memory_).first(static_cast<std::size_t>(stream.bytes)));
      }
    }
    wait_all();
    return options_.clock() - start_s;
  }

  void follow() {
    for (;;) {
      RailStream stream;
      post(transport_.post_recv(peer_, kRailOrderTag,
                                std::as_writable_bytes(std::span<RailStream, 1>(&stream, 1)), 0));
      wait_all();
      if (stream.bytes == 0) return;
      const auto bytes = static_cast<std::size_t>(stream.bytes);
      memory_.resize(std::max(memory_.size(), bytes));
      for (std::size_t rail = 0; rail < n_rails_; ++rail) {
        for (std::int64_t i = 0; i < stream.count[rail]; ++i)
          post(transport_.post_recv(peer_, tag_of(rail), std::span(memory_).first(bytes), 0));
      }
      wait_all();
      const std::byte done{};
      send(kRailDoneTag, {&done, 1});
      wait_all();
    }
  }

  void end() {
    const RailStream last;
    send(kRailOrderTag, std::as_bytes(std::span<const RailStream, 1>(&last, 1)));
    wait_all();
  }

 private:
  static int tag_of(std::size_t rail) { return kFirstStreamTag + static_cast<int>(rail); }

  void post(Status status) {
    if (status != Status::ok) throw TransportError("a rail has failed");
    ++n_posted_;
  }
  void send(int tag, std::span<const std::byte> bytes) {
    post(transport_.post_send(peer_, tag, bytes, SendMode::eager, 0));
  }
  void wait_all() {
    const double until_s = options_.clock() + options_.give_up_s;
    std::array<Ticket, 16> done;
    while (n_posted_ > 0) {
      std::size_t n = 0;
      if (transport_.poll_some(done, n) != Status::ok) throw TransportError("a rail has failed");
      n_posted_ -= n;
      if (n > 0) continue;
      if (options_.clock() > until_s) throw TransportError("a rail carries nothing");
      std::this_thread::yield();
    }
  }

  transport::Transport& transport_;
  const RailsOptions& options_;
  std::size_t n_rails_;
  int peer_;
  std::size_t n_posted_ = 0;
  std::vector<std::byte> memory_;
};

double best_of(Streams& streams, const RailStream& stream) {
  double best_s = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRailRepeats; ++i) best_s = std::min(best_s, streams.run(stream));
  return best_s;
}

std::int64_t messages(double bytes_per_s, const RailsOptions& options) {
  const double seconds = options.in_job ? kStreamInJob_s : kStreamOffline_s;
  return std::clamp(static_cast<std::int64_t>(seconds * bytes_per_s / kOnRailBytes), kFewestOnRail,
                    kMostOnRail);
}

// On the first rank of a pair. A number for each rail, and of rates and latencies one each: rates, latencies, slow-downs.
void time_rails(Streams& streams, const Opposite& pair, const RailsOptions& options, std::size_t n_rails,
                std::span<double> found) {
  const auto on = [](std::size_t rail, std::size_t bytes, std::int64_t count) {
    RailStream stream{.bytes = static_cast<std::int64_t>(bytes)};
    stream.count[rail] = count;
    return stream;
  };
  std::vector<double> whole(n_rails, 0.0);  // bytes a second, the way there and back with them
  bool are_slopes = true;
  for (const std::size_t rail : pair.rails) {
    streams.run(on(rail, kRailPingBytes, 1));  // opens its connections
    found[n_rails + rail] = best_of(streams, on(rail, kRailPingBytes, 1)) / 2;
    const std::int64_t count = messages(pair.bytes_per_s, options);
    const double one_s = best_of(streams, on(rail, kOnRailBytes, 1));
    const double all_s = best_of(streams, on(rail, kOnRailBytes, count));
    found[rail] = stream_rate(kOnRailBytes, static_cast<int>(count), one_s, all_s);
    whole[rail] = static_cast<double>(kOnRailBytes) * static_cast<double>(count) / all_s;
    are_slopes = are_slopes && all_s >= kMoreTakeLonger * one_s;
  }
  // Rails are compared with each other: all by their slopes or, where a busy machine or a long way hides that of one, all by
  // their whole times.
  if (!are_slopes) std::copy(whole.begin(), whole.end(), found.begin());
  std::vector<RailStream> alone(n_rails);
  std::vector<double> alone_s(n_rails, 0.0);
  for (const std::size_t rail : pair.rails) {
    // Beside another rail it has as many messages as make both take as long.
    alone[rail] = on(rail, kOnRailBytes, messages(found[rail], options));
    alone_s[rail] = best_of(streams, alone[rail]);
  }
  for (const std::size_t rail : pair.rails) {
    for (const std::size_t other : pair.rails) {
      if (other >= rail) break;
      RailStream both = alone[rail];
      both.count[other] = alone[other].count[other];
      found[2 * n_rails + rail * n_rails + other] =
          best_of(streams, both) / std::max(alone_s[rail], alone_s[other]);
    }
  }
}

std::vector<std::size_t> rails_between(const transport::Transport& transport, int a, int b) {
  std::vector<std::size_t> rails;
  for (int rail = 0; rail < transport.n_rails(); ++rail) {
    if (transport.has_rail(a, rail) && transport.has_rail(b, rail))
      rails.push_back(static_cast<std::size_t>(rail));
  }
  return rails;
}

// The same on all ranks, as what follows.
BySubnet takers(const net::Network& network, const RailsOptions& options) {
  BySubnet all;
  for (const net::Subnet& subnet : network.subnets) {
    all.emplace_back();
    for (const int host : subnet.hosts) {
      const auto found = std::find(options.host_of_rank.begin(), options.host_of_rank.end(),
                                   network.hosts[static_cast<std::size_t>(host)]);
      if (found != options.host_of_rank.end())
        all.back().push_back({host, static_cast<int>(found - options.host_of_rank.begin())});
    }
  }
  return all;
}

// By the network's structure, of the hosts that have that rail.
std::vector<Opposite> pairs_on(int rail, const transport::Transport& transport, const net::Network& network,
                               BySubnet all, bool are_few, std::size_t most) {
  for (std::vector<Taking>& there : all)
    std::erase_if(there, [&](const Taking& each) { return !transport.has_rail(each.rank, rail); });
  std::vector<Opposite> pairs;
  const auto add = [&](const Taking& a, const Taking& b, bool inside, double bytes_per_s) {
    pairs.push_back({a, b, inside, bytes_per_s, rails_between(transport, a.rank, b.rank)});
  };
  std::size_t widest = 0;
  for (const std::vector<Taking>& there : all) widest = std::max(widest, there.size());
  // Neighbours, of every subnet the first ones before the next ones of any; the last of an odd number with its first.
  for (std::size_t i = 0; i < (are_few ? std::min<std::size_t>(widest, 2) : widest); i += 2) {
    for (std::size_t s = 0; s < all.size() && pairs.size() < most; ++s) {
      const std::vector<Taking>& there = all[s];
      if (there.size() < 2 || i >= there.size()) continue;
      const bool is_odd_one = i + 1 == there.size();
      add(there[is_odd_one ? 0 : i], there[is_odd_one ? i : i + 1], true, network.subnets[s].bytes_per_s);
    }
  }
  const std::size_t n_inside = pairs.size();
  for (const net::Between& pair : network.between) {
    const std::vector<Taking>& from = all[static_cast<std::size_t>(pair.from)];
    const std::vector<Taking>& to = all[static_cast<std::size_t>(pair.to)];
    if (!from.empty() && !to.empty() && pairs.size() < n_inside + most)
      add(from[0], to[0], false, pair.bytes_per_s);
  }
  return pairs;
}

// Of all hosts, and then one for each rail that none of these has, inside a subnet or between two.
std::vector<Opposite> pairs_of(const transport::Transport& transport, const net::Network& network,
                               const BySubnet& all, const RailsOptions& options) {
  const std::size_t most = options.in_job ? kMostPairsInJob : kMostPairsOffline;
  std::vector<Opposite> pairs = pairs_on(0, transport, network, all, options.in_job, most);
  for (int rail = 1; rail < transport.n_rails(); ++rail) {
    for (Opposite& pair : pairs_on(rail, transport, network, all, true, 1)) {
      const auto has_it = [&](const Opposite& other) {
        return other.inside == pair.inside && transport.has_rail(other.a.rank, rail) &&
               transport.has_rail(other.b.rank, rail);
      };
      if (std::none_of(pairs.begin(), pairs.end(), has_it)) pairs.push_back(std::move(pair));
    }
  }
  return pairs;
}

// By rail; nothing where all have it.
std::vector<std::optional<std::vector<int>>> hosts_on_rails(const transport::Transport& transport,
                                                            const BySubnet& all) {
  std::vector<std::optional<std::vector<int>>> hosts;
  for (int rail = 0; rail < transport.n_rails(); ++rail) {
    std::vector<int> having;
    std::size_t n_hosts = 0;
    for (const std::vector<Taking>& there : all) {
      n_hosts += there.size();
      for (const Taking& each : there) {
        if (transport.has_rail(each.rank, rail)) having.push_back(each.host);
      }
    }
    const bool have_all = having.size() == n_hosts;
    hosts.push_back(have_all ? std::nullopt : std::optional(std::move(having)));
  }
  return hosts;
}

}  // namespace

MeasuredRails measure_rails(transport::Transport& transport, transport::Native& native,
                            const net::Network& network, const RailsOptions& options) {
  const auto n_rails = static_cast<std::size_t>(transport.n_rails());
  if (n_rails > kMostRails) {
    throw Unsupported(std::to_string(n_rails) + " rails are more than are measured; name up to " +
                      std::to_string(kMostRails));
  }
  const BySubnet all = takers(network, options);
  const std::vector<Opposite> pairs = pairs_of(transport, network, all, options);
  const std::size_t width = 2 * n_rails + n_rails * n_rails;
  std::vector<double> found(pairs.size() * width, 0.0);
  std::array<std::int64_t, 1> good{1};
  for (std::size_t i = 0; i < pairs.size() && good[0] != 0; ++i) {
    const Opposite& pair = pairs[i];
    try {
      if (transport.rank() == pair.a.rank) {
        Streams streams(transport, options, pair.b.rank);
        time_rails(streams, pair, options, n_rails, std::span(found).subspan(i * width, width));
        streams.end();
      } else if (transport.rank() == pair.b.rank) {
        Streams(transport, options, pair.a.rank).follow();
      }
    } catch (const TransportError&) {
      transport.abandon();  // the other side is not to wait for more
      good[0] = 0;
    }
    // One pair after the other.
    native.allreduce_min(good);
  }
  // Tags are nobody's rails any more.
  const std::vector<std::uint8_t> none(static_cast<std::size_t>(kFirstStreamTag) + n_rails,
                                       transport::kNoRail);
  transport.set_rails(0, none);
  if (good[0] == 0) throw TransportError("a rail fails while it is measured");
  if (!found.empty()) native.allreduce_max(found);

  MeasuredRails measured;
  measured.hosts = hosts_on_rails(transport, all);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto at = found.begin() + static_cast<std::ptrdiff_t>(i * width);
    const auto n = static_cast<std::ptrdiff_t>(n_rails);
    const auto of_pair = RailTimes{{at, at + n},
                                   {at + n, at + 2 * n},
                                   {at + 2 * n, at + 2 * n + n * n},
                                   pairs[i].a.host,
                                   pairs[i].b.host};
    (pairs[i].inside ? measured.inside : measured.between).push_back(of_pair);
  }
  return measured;
}

namespace {

// By most of the pairs that have both: one of many is disturbed. Inside subnets as between them: rails that only meet on the
// way to others are two inside.
bool shares_a_link(const MeasuredRails& measured, std::size_t n_rails, std::size_t rail, std::size_t other) {
  bool was_asked = false;
  for (const std::vector<RailTimes>* pairs : {&measured.inside, &measured.between}) {
    std::vector<double> slowdowns;
    for (const RailTimes& times : *pairs) {
      if (const double slowdown = times.slowdown[rail * n_rails + other]; slowdown > 0)
        slowdowns.push_back(slowdown);
    }
    if (slowdowns.empty()) continue;
    if (base::median(std::move(slowdowns)) < kShares) return false;
    was_asked = true;
  }
  return was_asked;
}

// What a rail carries of what rail 0 does, in the middle of the pairs that have it; nothing without any.
std::optional<double> share_of(const std::vector<RailTimes>& pairs, std::size_t rail) {
  std::vector<double> shares;
  for (const RailTimes& pair : pairs) {
    if (pair.bytes_per_s[rail] > 0) shares.push_back(pair.bytes_per_s[rail] / pair.bytes_per_s[0]);
  }
  return shares.empty() ? std::nullopt : std::optional(base::median(shares));
}

double more_latency(const std::vector<RailTimes>& pairs, std::size_t rail) {
  std::vector<double> more;
  for (const RailTimes& pair : pairs) {
    if (pair.bytes_per_s[rail] > 0) more.push_back(pair.latency_s[rail] - pair.latency_s[0]);
  }
  return more.empty() ? 0 : std::max(0.0, base::median(more));
}

// Of the rails that are known by name now.
void add_pairs(net::Network& network, const std::vector<std::string>& names,
               const std::vector<RailTimes>& pairs) {
  for (const RailTimes& times : pairs) {
    net::RailPair& pair = network.rail_pairs.emplace_back(net::RailPair{times.a, times.b, {}, {}});
    for (const std::string& known : network.rails) {
      const auto rail =
          static_cast<std::size_t>(std::find(names.begin(), names.end(), known) - names.begin());
      pair.bytes_per_s.push_back(times.bytes_per_s[rail]);
      pair.latency_s.push_back(times.latency_s[rail]);
    }
  }
}

}  // namespace

void add_rails(net::Network& network, const std::vector<std::string>& names, const MeasuredRails& measured) {
  if (measured.inside.empty() && measured.between.empty()) return;
  network.rails = {names[0]};
  network.more_rails.clear();
  network.rail_plogp.clear();  // of the rails that there were
  std::vector<std::size_t> kept{0};
  for (std::size_t rail = 1; rail < names.size(); ++rail) {
    const auto inside = share_of(measured.inside, rail);
    const auto between = share_of(measured.between, rail);
    if (!inside && !between) continue;
    network.rails.push_back(names[rail]);
    const auto shares = [&](std::size_t other) { return shares_a_link(measured, names.size(), rail, other); };
    if (std::any_of(kept.begin(), kept.end(), shares)) continue;
    kept.push_back(rail);
    net::Rail& described = network.more_rails.emplace_back(
        net::Rail{network.subnets, network.between, network.uplinks, names[rail]});
    if (rail < measured.hosts.size() && measured.hosts[rail])
      described = net::rail_of(described, *measured.hosts[rail]);
    const double within = inside ? *inside : *between;
    const double across = between ? *between : *inside;
    for (net::Subnet& subnet : described.subnets) {
      subnet.bytes_per_s *= within;
      if (subnet.hosts.size() > 1) subnet.latency_s += more_latency(measured.inside, rail);
    }
    for (net::Between& pair : described.between) {
      pair.bytes_per_s *= across;
      pair.latency_s += more_latency(measured.between, rail);
    }
    for (net::Uplink& uplink : described.uplinks) uplink.bytes_per_s *= across;
  }
  network.rail_pairs.clear();
  add_pairs(network, names, measured.inside);
  add_pairs(network, names, measured.between);
  network.finish();
}

}  // namespace eco::measure
