// What structure's finder asks (structure/probe.h), asked of the ranks of a job, over whatever transport they have.
//
//   LiveProbe probe(conductor, rank_of_host, clock);
//   const structure::Found found = structure::find_structure(probe);
//
// A latency is half a round trip of kProbeBytes: one packet, so that what every hop takes of it, storing and
// forwarding, adds up along the tree, and long enough that a slow hop shows. A rate is what came to a receiver while
// all streams of the round flowed: from the first message of whoever began last to the last message of whoever ended
// first. How many messages a stream needs for its time is known from the last one of that pair.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "eco/measure/conductor.h"
#include "eco/structure/probe.h"

namespace eco::measure {

inline constexpr std::size_t kProbeBytes = 1024;

// One-way times of kProbeBytes between hosts.
using ProbeSamples = std::unordered_map<std::uint64_t, std::vector<double>>;  // by structure::pair_key

// Rank 0's. Throws TransportError like the conductor.
class LiveProbe final : public structure::Probe {
 public:
  // `asked` is called before whatever is measured: it may throw to stop. Samples that are known already are given out first, each once.
  LiveProbe(Conductor& conductor, std::vector<int> rank_of_host, Clock clock, std::function<void()> asked,
            const ProbeSamples& known = {});

  int n_hosts() const override { return static_cast<int>(rank_of_host_.size()); }
  std::vector<std::vector<double>> latencies(const std::vector<structure::Round>& rounds, int samples,
                                             structure::Pace pace) override;
  std::vector<double> rates(const std::vector<structure::Pair>& flows, double seconds) override;
  structure::Cost cost() const override { return cost_; }

  // All that was measured.
  const ProbeSamples& samples() const { return samples_; }

 private:
  struct Shape {
    std::size_t bytes;
    int count;
  };
  std::vector<double> known(const structure::Pair& pair, int samples);
  Shape shape(const structure::Pair& flow, double seconds) const;
  std::vector<double> stream(const std::vector<structure::Pair>& flows, double seconds, double& lasted_s);
  std::uint64_t way(const structure::Pair& flow) const;

  Conductor& conductor_;
  std::vector<int> rank_of_host_;
  Clock clock_;
  std::function<void()> asked_;
  ProbeSamples known_;          // not given out yet
  ProbeSamples samples_;        // measured here
  double farthest_trip_s_ = 0;  // there and back, of all that were asked for more than a glance
  std::unordered_map<std::uint64_t, double> expected_;  // bytes a second of each way, as it was last
  structure::Cost cost_;
};

// What a round of pairs of hosts is between their ranks.
std::vector<Flow> flows_of(const std::vector<structure::Pair>& pairs, const std::vector<int>& rank_of_host);

// Of messages of so many bytes that came at these times: bytes a second between two moments. 0 if none flowed.
double rate_within(const std::vector<double>& times, std::size_t bytes, double from_s, double to_s);

}  // namespace eco::measure
