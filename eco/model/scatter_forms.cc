// Table 2: communication models for scatter; m is what one rank receives. The paper's formula stands above each.
#include "eco/model/closed_forms.h"
#include "eco/model/logarithms.h"

namespace eco::model {

// (P - 1) g(m) + L
double scatter_flat(const PLogP& net, const Call& call) {
  return (call.n_ranks - 1) * net.gap(call.bytes) + net.latency_s;
}

// sum over j = 1 .. P - 1 of g(j m)  +  (P - 1) L: each rank passes on what all those behind it get.
double scatter_chain(const PLogP& net, const Call& call) {
  double seconds = (call.n_ranks - 1) * net.latency_s;
  for (int j = 1; j < call.n_ranks; ++j) seconds += net.gap(static_cast<std::size_t>(j) * call.bytes);
  return seconds;
}

// sum over j = 0 .. ceil(log2 P) - 1 of g(2^j m)  +  ceil(log2 P) L: half of all blocks, then half of that, ... As
// printed; between powers of two the largest halves are smaller than 2^j blocks, so there it says too much.
double scatter_binomial(const PLogP& net, const Call& call) {
  double seconds = ceil_log2(call.n_ranks) * net.latency_s;
  for (int j = 0; j < ceil_log2(call.n_ranks); ++j) seconds += net.gap(call.bytes << j);
  return seconds;
}

}  // namespace eco::model
