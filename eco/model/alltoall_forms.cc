// Table 3: bounds for all-to-all, and what lies between them; m is what one rank sends to one other.
#include "eco/model/closed_forms.h"

namespace eco::model {

// (P - 1) os(m) + (P - 1) or(m) + L: the network card takes every message at once.
double alltoall_lower(const PLogP& net, const Call& call) {
  return (call.n_ranks - 1) * (net.send_overhead(call.bytes) + net.receive_overhead(call.bytes)) +
         net.latency_s;
}

// (P - 1) g(m) + (P - 1) or(m) + L: messages leave one after the other, as the link is shared.
double alltoall_upper(const PLogP& net, const Call& call) {
  return (call.n_ranks - 1) * (net.gap(call.bytes) + net.receive_overhead(call.bytes)) + net.latency_s;
}

// T = Lower + (Upper - Lower) gamma
double alltoall_expected(const PLogP& net, const Call& call) {
  const double lower = alltoall_lower(net, call);
  return lower + (alltoall_upper(net, call) - lower) * call.gamma;
}

}  // namespace eco::model
