#include "eco/model/gamma.h"

#include <algorithm>

#include "eco/model/closed_forms.h"

namespace eco::model {
namespace {

// Bounds closer than this, relative to the lower one, tell noise apart and nothing else.
constexpr double kApart = 0.05;

}  // namespace

std::optional<double> fit_gamma(const PLogP& net, std::span<const MeasuredExchange> measured) {
  std::vector<double> gammas;
  for (const MeasuredExchange& exchange : measured) {
    const Call call{.n_ranks = exchange.n_ranks, .bytes = exchange.bytes};
    const double lower = alltoall_lower(net, call);
    const double upper = alltoall_upper(net, call);
    if (upper - lower > kApart * lower) gammas.push_back((exchange.seconds - lower) / (upper - lower));
  }
  if (gammas.empty()) return std::nullopt;
  std::sort(gammas.begin(), gammas.end());
  const std::size_t middle = gammas.size() / 2;
  return gammas.size() % 2 == 1 ? gammas[middle] : (gammas[middle - 1] + gammas[middle]) / 2;
}

}  // namespace eco::model
