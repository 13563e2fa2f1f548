#include "eco/map/exchange.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "eco/base/errors.h"

namespace eco::map {
namespace {

// Of a cost: sums of thousands of numbers in another order differ by less.
constexpr double kRounding = 1e-9;

double mean_weight(const Graph& graph) {
  if (graph.messages.empty() || !graph.dims.empty()) return 1;
  double sum = 0;
  for (const Message& message : graph.messages) sum += message.weight;
  return sum / static_cast<double>(graph.messages.size());
}

double largest(const std::vector<double>& list) {
  return list.empty() ? 0 : *std::max_element(list.begin(), list.end());
}

// Of two numbers of which the second may be nothing, where a graph without messages costs nothing.
double share(double part, double whole) { return whole > 0 ? part / whole : 1; }

}  // namespace

bool operator<(const Cost& a, const Cost& b) {
  const double slack = kRounding * std::max(a.time, b.time);
  if (std::abs(a.time - b.time) > slack) return a.time < b.time;
  return a.load < b.load - kRounding * std::max(a.load, b.load);
}

Exchange::Exchange(const Graph& graph, const net::GroupView& view, std::vector<std::size_t> sizes)
    : graph_(graph), view_(view), sizes_(std::move(sizes)) {
  if (sizes_.empty()) throw InvalidArgument("an exchange of messages of no size");
  if (graph.n_nodes > view.n_ranks()) {
    throw InvalidArgument("a graph of " + std::to_string(graph.n_nodes) + " nodes on " +
                          std::to_string(view.n_ranks()) + " ranks; give at least as many ranks");
  }
  const net::Network& network = *view.network;
  const double unit = mean_weight(graph);
  const auto n_ranks = static_cast<std::size_t>(view.n_ranks());
  messages_of_node_.resize(n_ranks);
  std::vector<double> processor_s(n_ranks, 0.0);
  for (const Message& message : graph.messages) {
    Sending& sending = messages_.emplace_back(Sending{message.from, message.to, {}, {}});
    for (const std::size_t size : sizes_) {
      const double bytes = std::max(1.0, std::round(static_cast<double>(size) * message.weight / unit));
      sending.wire_bytes.push_back(network.wire_bytes(static_cast<std::size_t>(bytes)));
      sending.memory_bytes.push_back(bytes);
    }
    const int number = static_cast<int>(messages_.size()) - 1;
    messages_of_node_[static_cast<std::size_t>(message.from)].push_back(number);
    messages_of_node_[static_cast<std::size_t>(message.to)].push_back(number);
    processor_s[static_cast<std::size_t>(message.from)] += network.send_overhead_s;
    processor_s[static_cast<std::size_t>(message.to)] += network.receive_overhead_s;
  }
  processor_s_ = largest(processor_s);
  routes_.resize(network.hosts.size() * network.hosts.size());
  const Loads loads(*this, identity(view.n_ranks()));
  identity_s_ = loads.seconds();
  identity_load_ = loads.load_sums();
}

const net::Route& Exchange::route(int from_host, int to_host) const {
  auto& known = routes_[static_cast<std::size_t>(from_host) * view_.network->hosts.size() +
                        static_cast<std::size_t>(to_host)];
  if (known == nullptr) known = std::make_unique<const net::Route>(view_.network->route(from_host, to_host));
  return *known;
}

std::vector<double> Exchange::seconds(const Mapping& mapping) const {
  return Loads(*this, mapping).seconds();
}
Cost Exchange::cost(const Mapping& mapping) const { return Loads(*this, mapping).cost(); }

Loads::Loads(const Exchange& exchange, Mapping mapping)
    : exchange_(exchange),
      mapping_(std::move(mapping)),
      held_s_(exchange.sizes_.size(), std::vector<double>(exchange.view_.network->resources.size(), 0.0)),
      latency_s_(exchange.messages_.size(), 0.0) {
  for (std::size_t m = 0; m < latency_s_.size(); ++m) add(m, 1);
}

int Loads::host_of_node(int node) const {
  const int rank = mapping_[static_cast<std::size_t>(node)];
  return exchange_.view_.host_of(rank);
}

void Loads::add(std::size_t message, double sign) {
  const net::Network& network = *exchange_.view_.network;
  const Exchange::Sending& sending = exchange_.messages_[message];
  const int from = host_of_node(sending.from);
  const int to = host_of_node(sending.to);
  const net::Route& route = exchange_.route(from, to);
  const std::vector<double>& bytes = from == to ? sending.memory_bytes : sending.wire_bytes;
  for (const int r : route.resources) {
    const net::Resource& resource = network.resources[static_cast<std::size_t>(r)];
    for (std::size_t s = 0; s < held_s_.size(); ++s) {
      held_s_[s][static_cast<std::size_t>(r)] +=
          sign * (bytes[s] / resource.bytes_per_s + resource.message_s + resource.wake_s);
      if (resource.reverse < 0) continue;
      // Acknowledgements, on the link's other direction.
      const double back = network.resources[static_cast<std::size_t>(resource.reverse)].bytes_per_s;
      held_s_[s][static_cast<std::size_t>(resource.reverse)] +=
          sign * network.reverse_share * bytes[s] / back;
    }
  }
  latency_s_[message] = route.latency_s;
}

void Loads::swap(int node, int other) {
  std::vector<int> touched = exchange_.messages_of_node_[static_cast<std::size_t>(node)];
  for (const int m : exchange_.messages_of_node_[static_cast<std::size_t>(other)]) {
    // What they send each other is in both lists.
    const Exchange::Sending& sending = exchange_.messages_[static_cast<std::size_t>(m)];
    if (sending.from != node && sending.to != node) touched.push_back(m);
  }
  for (const int m : touched) add(static_cast<std::size_t>(m), -1);
  std::swap(mapping_[static_cast<std::size_t>(node)], mapping_[static_cast<std::size_t>(other)]);
  for (const int m : touched) add(static_cast<std::size_t>(m), 1);
}

std::vector<double> Loads::seconds() const {
  const double apart_s = largest(latency_s_) + (latency_s_.empty() ? 0 : exchange_.processor_s_);
  std::vector<double> seconds;
  for (const std::vector<double>& held : held_s_) seconds.push_back(apart_s + largest(held));
  return seconds;
}

std::vector<double> Loads::load_sums() const {
  const double latencies_s = std::accumulate(latency_s_.begin(), latency_s_.end(), 0.0);
  std::vector<double> sums;
  for (const std::vector<double>& held : held_s_) {
    sums.push_back(std::accumulate(held.begin(), held.end(), latencies_s));
  }
  return sums;
}

Cost Loads::cost() const {
  const std::vector<double> now_s = seconds();
  const std::vector<double> load = load_sums();
  const auto n = static_cast<double>(now_s.size());
  Cost cost;
  for (std::size_t s = 0; s < now_s.size(); ++s) {
    cost.time += share(now_s[s], exchange_.identity_s_[s]) / n;
    cost.load += share(load[s], exchange_.identity_load_[s]) / n;
  }
  return cost;
}

std::vector<int> Loads::busiest_nodes() const {
  const double slowest_s = largest(latency_s_);
  std::set<int> busiest;
  for (const std::vector<double>& held : held_s_) {
    busiest.insert(static_cast<int>(std::max_element(held.begin(), held.end()) - held.begin()));
  }
  std::set<int> nodes;
  for (std::size_t m = 0; m < latency_s_.size(); ++m) {
    const Exchange::Sending& sending = exchange_.messages_[m];
    const net::Route& route = exchange_.route(host_of_node(sending.from), host_of_node(sending.to));
    const bool waited_for =
        latency_s_[m] == slowest_s || std::any_of(route.resources.begin(), route.resources.end(),
                                                  [&](int r) { return busiest.contains(r); });
    if (waited_for) nodes.insert({sending.from, sending.to});
  }
  return {nodes.begin(), nodes.end()};
}

std::size_t Loads::work(int node, int other) const {
  constexpr std::size_t kHops = 5;  // of a route
  const auto degree = [&](int of) {
    return exchange_.messages_of_node_[static_cast<std::size_t>(of)].size();
  };
  const std::size_t sizes = held_s_.size();
  return 2 * kHops * sizes * (degree(node) + degree(other)) + 2 * sizes * held_s_.front().size() +
         2 * latency_s_.size();
}

}  // namespace eco::map
