// What follows from Tables 1 and 2 by turning messages round or doing one operation after the other. The paper has none
// of these; it says that a gather is a scatter's mirror. Combining is charged where it lies on the longest path.
#include "eco/model/closed_forms.h"
#include "eco/model/logarithms.h"

namespace eco::model {
namespace {

double combine_s(const Call& call, std::size_t bytes) {
  return call.combine_bytes_per_s > 0 ? static_cast<double>(bytes) / call.combine_bytes_per_s : 0;
}

}  // namespace

// (P - 1) g(m) + L + c(m): the root combines each message while the next one comes (c < g), all but the last.
double reduce_flat(const PLogP& net, const Call& call) {
  return broadcast_flat(net, call) + combine_s(call, call.bytes);
}

// (P - 1) (g(m) + L + c(m))
double reduce_chain(const PLogP& net, const Call& call) {
  return broadcast_chain(net, call) + (call.n_ranks - 1) * combine_s(call, call.bytes);
}

// (P - 1) (g(s) + L + c(s)) + g(s) (k - 1): combining hides behind the gap, but for the first segment.
double reduce_chain_segmented(const PLogP& net, const Call& call) {
  return broadcast_chain_segmented(net, call) + (call.n_ranks - 1) * combine_s(call, call.segment_bytes);
}

// floor(log2 P) g(m) + ceil(log2 P) (L + c(m))
double reduce_binomial(const PLogP& net, const Call& call) {
  return broadcast_binomial(net, call) + ceil_log2(call.n_ranks) * combine_s(call, call.bytes);
}

// A reduce and a broadcast over the same tree.
double allreduce_flat(const PLogP& net, const Call& call) {
  return reduce_flat(net, call) + broadcast_flat(net, call);
}
double allreduce_chain(const PLogP& net, const Call& call) {
  return reduce_chain(net, call) + broadcast_chain(net, call);
}
double allreduce_binomial(const PLogP& net, const Call& call) {
  return reduce_binomial(net, call) + broadcast_binomial(net, call);
}

// (P - 1) (2 g(b) + 2 L + c(b)), b = ceil(m / P): P - 1 steps combine blocks round the ring, P - 1 hand them round.
double allreduce_ring(const PLogP& net, const Call& call) {
  const auto n_ranks = static_cast<std::size_t>(call.n_ranks);
  const std::size_t block = (call.bytes + n_ranks - 1) / n_ranks;
  return (call.n_ranks - 1) * (2 * net.gap(block) + 2 * net.latency_s + combine_s(call, block));
}

// (P - 1) (g(m) + L): in each of P - 1 steps every rank passes on the block that it got last.
double allgather_chain(const PLogP& net, const Call& call) {
  return (call.n_ranks - 1) * (net.gap(call.bytes) + net.latency_s);
}

}  // namespace eco::model
