// What one step of a program is predicted to take under a mapping: all messages of its graph at once.
//
//   const Exchange exchange(graph, view, {1024, 65536});
//   exchange.seconds(mapping)                   // of each size
//
//   Loads loads(exchange, mapping);             // for those who change a mapping little by little
//   loads.swap(3, 7);                           // nodes 3 and 7 change ranks
//   if (loads.cost() < before) ...
//
// All messages go at the same time, so what counts is not their sum but the busiest resource (a host's port in one
// direction, a bus or an uplink of one lane in both, memory): the step takes as long as that is held, plus the latency
// of the message that has the longest way, plus the processor's time of the busiest node, which no mapping changes.
// Local and pure.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "eco/map/graph.h"
#include "eco/map/mapping.h"
#include "eco/net/group_view.h"

namespace eco::map {

// Less is better: first by the time, then by all that it holds, which tells apart mappings with equal bottlenecks.
struct Cost {
  double time = 0;  // of the identity's: the mean over the sizes
  double load = 0;  // of the identity's, summed over all resources
};
// By more than what adding the same numbers in another order makes of them.
bool operator<(const Cost& a, const Cost& b);

class Exchange {
 public:
  // `sizes`: bytes of a message of weight 1; of a graph that is no grid weights are relative, so there of one of mean
  // weight. Graph and view must outlive it. Throws InvalidArgument: no sizes, more nodes than ranks.
  Exchange(const Graph& graph, const net::GroupView& view, std::vector<std::size_t> sizes);

  // By size.
  std::vector<double> seconds(const Mapping& mapping) const;
  Cost cost(const Mapping& mapping) const;

  const Graph& graph() const { return graph_; }
  const net::GroupView& view() const { return view_; }
  const std::vector<std::size_t>& sizes() const { return sizes_; }

 private:
  friend class Loads;
  // What one message holds, by size: seconds that any resource of this rate is held are bytes / rate + message_s.
  struct Sending {
    int from, to;  // nodes
    std::vector<double> wire_bytes;
    std::vector<double> memory_bytes;
  };
  const net::Route& route(int from_host, int to_host) const;

  const Graph& graph_;
  const net::GroupView& view_;
  std::vector<std::size_t> sizes_;
  std::vector<Sending> messages_;
  std::vector<std::vector<int>> messages_of_node_;
  double processor_s_ = 0;  // of the node that sends and receives most
  std::vector<double> identity_s_;
  std::vector<double> identity_load_;
  mutable std::vector<std::unique_ptr<const net::Route>> routes_;  // from * hosts + to, as they are asked for
};

// The loads of one mapping, kept while it changes.
class Loads {
 public:
  Loads(const Exchange& exchange, Mapping mapping);

  void swap(int node, int other);
  Cost cost() const;
  std::vector<double> seconds() const;
  const Mapping& mapping() const { return mapping_; }
  // Nodes whose messages are what the step waits for, at some size; ascending.
  std::vector<int> busiest_nodes() const;
  // About how many numbers a swap and the cost after it look at.
  std::size_t work(int node, int other) const;

 private:
  friend class Exchange;
  void add(std::size_t message, double sign);
  int host_of_node(int node) const;
  std::vector<double> load_sums() const;

  const Exchange& exchange_;
  Mapping mapping_;
  std::vector<std::vector<double>> held_s_;  // by size, resource
  std::vector<double> latency_s_;            // by message
};

}  // namespace eco::map
