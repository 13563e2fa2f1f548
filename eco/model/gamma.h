// Gamma: where between Table 3's bounds a network's all-to-all lies. The paper calls it the network's signature (2/5 on
// its switched ethernet); here it is fitted from measured times.
//
//   const auto gamma = fit_gamma(net, {{8, 1024, 0.8e-3}, {8, 8192, 4.1e-3}, {8, 32768, 15.5e-3}});
//   const double t = alltoall_expected(net, {.n_ranks = 24, .bytes = 4096, .gamma = gamma.value_or(0.4)});
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "eco/model/plogp.h"

namespace eco::model {

struct MeasuredExchange {
  int n_ranks = 0;
  std::size_t bytes = 0;  // from each rank to each other
  double seconds = 0;
};

// Pure. The median over the measurements of (T - lower) / (upper - lower): one that was disturbed does not move it. Not
// cut at 0 and 1: beyond 1 the network loses more to contention than serialising would. Nothing where no measurement
// has bounds that are apart.
std::optional<double> fit_gamma(const PLogP& net, std::span<const MeasuredExchange> measured);

}  // namespace eco::model
