// Table 1: communication models for broadcast. The paper's formula stands above each.
#include "eco/model/closed_forms.h"
#include "eco/model/logarithms.h"

namespace eco::model {
namespace {

double others(const Call& call) { return call.n_ranks - 1; }

// What a rendezvous adds to every message: a request and a grant of one byte go before the data.
//   2 g(1) + 3 L, of which one L is the message's own
double rendezvous_s(const PLogP& net) { return 2 * net.gap(1) + 3 * net.latency_s; }

}  // namespace

// (P - 1) g(m) + L
double broadcast_flat(const PLogP& net, const Call& call) {
  return others(call) * net.gap(call.bytes) + net.latency_s;
}

// (P - 1) g(m) + 2 g(1) + 3 L: the requests of all receivers overlap, so they count once.
double broadcast_flat_rendezvous(const PLogP& net, const Call& call) {
  return others(call) * net.gap(call.bytes) + rendezvous_s(net);
}

// (P - 1) (g(s) k) + L
double broadcast_flat_segmented(const PLogP& net, const Call& call) {
  const double k = static_cast<double>(n_segments(call));
  return others(call) * (net.gap(call.segment_bytes) * k) + net.latency_s;
}

// (P - 1) (g(m) + L)
double broadcast_chain(const PLogP& net, const Call& call) {
  return others(call) * (net.gap(call.bytes) + net.latency_s);
}

// (P - 1) (g(m) + 2 g(1) + 3 L)
double broadcast_chain_rendezvous(const PLogP& net, const Call& call) {
  return others(call) * (net.gap(call.bytes) + rendezvous_s(net));
}

// (P - 1) (g(s) + L) + g(s) (k - 1): the first segment goes all the way, then one arrives every gap.
double broadcast_chain_segmented(const PLogP& net, const Call& call) {
  const double k = static_cast<double>(n_segments(call));
  const double g = net.gap(call.segment_bytes);
  return others(call) * (g + net.latency_s) + g * (k - 1);
}

// <= ceil(log2 P) (2 g(m) + L): an upper bound in the paper too. Every level costs two sends only to the second child;
// and a tree of ceil(log2 P) levels below the root holds up to 2^(levels + 1) - 1 ranks, more than P.
double broadcast_binary(const PLogP& net, const Call& call) {
  return ceil_log2(call.n_ranks) * (2 * net.gap(call.bytes) + net.latency_s);
}

// floor(log2 P) g(m) + ceil(log2 P) L. As printed: between powers of two the longest path has ceil(log2 P) messages,
// of which one g(m) is left out, so there it says too little.
double broadcast_binomial(const PLogP& net, const Call& call) {
  return floor_log2(call.n_ranks) * net.gap(call.bytes) + ceil_log2(call.n_ranks) * net.latency_s;
}

// floor(log2 P) g(m) + ceil(log2 P) (2 g(1) + 3 L)
double broadcast_binomial_rendezvous(const PLogP& net, const Call& call) {
  return floor_log2(call.n_ranks) * net.gap(call.bytes) + ceil_log2(call.n_ranks) * rendezvous_s(net);
}

// floor(log2 P) g(s) k + ceil(log2 P) L: the root alone is busy so long, since it sends every segment log2 P times.
double broadcast_binomial_segmented(const PLogP& net, const Call& call) {
  const double k = static_cast<double>(n_segments(call));
  return floor_log2(call.n_ranks) * net.gap(call.segment_bytes) * k + ceil_log2(call.n_ranks) * net.latency_s;
}

}  // namespace eco::model
