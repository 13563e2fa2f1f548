// Rates that can be relied on: each round of streams repeated until its times are confirmed.
//
//   Streams streams(probe, sampler);
//   const std::vector<double> together = streams.rates({{0, 1}, {2, 3}});
#pragma once

#include <vector>

#include "eco/structure/probe.h"
#include "eco/structure/sampler.h"

namespace eco::structure {

class Streams {
 public:
  Streams(Probe& probe, Sampler& sampler) : probe_(probe), sampler_(sampler) {}

  // Of each flow, all at the same time.
  std::vector<double> rates(const std::vector<Pair>& flows);
  double alone(Pair flow) { return rates({flow}).front(); }

 private:
  Probe& probe_;
  Sampler& sampler_;
};

}  // namespace eco::structure
