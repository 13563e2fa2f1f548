#include "eco/model/closed_forms.h"

#include <algorithm>
#include <array>

namespace eco::model {
namespace {

using coll::Collective;

// Estimates before bounds of the same algorithm: form_of takes the first that fits.
constexpr std::array kForms = {
    // Table 1
    ClosedForm{"broadcast flat", Collective::broadcast, "broadcast/flat", Protocol::eager, Says::estimate,
               "(P-1) g(m) + L", broadcast_flat},
    ClosedForm{"broadcast flat rendezvous", Collective::broadcast, "broadcast/flat", Protocol::rendezvous,
               Says::estimate, "(P-1) g(m) + 2 g(1) + 3 L", broadcast_flat_rendezvous},
    ClosedForm{"broadcast flat segmented", Collective::broadcast, "broadcast/flat", Protocol::segmented,
               Says::estimate, "(P-1) (g(s) k) + L", broadcast_flat_segmented},
    ClosedForm{"broadcast chain", Collective::broadcast, "broadcast/chain", Protocol::eager, Says::estimate,
               "(P-1) (g(m) + L)", broadcast_chain},
    ClosedForm{"broadcast chain rendezvous", Collective::broadcast, "broadcast/chain", Protocol::rendezvous,
               Says::estimate, "(P-1) (g(m) + 2 g(1) + 3 L)", broadcast_chain_rendezvous},
    ClosedForm{"broadcast chain segmented", Collective::broadcast, "broadcast/chain", Protocol::segmented,
               Says::estimate, "(P-1) (g(s) + L) + g(s) (k-1)", broadcast_chain_segmented},
    ClosedForm{"broadcast binary", Collective::broadcast, "broadcast/kary", Protocol::eager, Says::at_most,
               "<= ceil(log2 P) (2 g(m) + L)", broadcast_binary},
    ClosedForm{"broadcast binomial", Collective::broadcast, "broadcast/binomial", Protocol::eager,
               Says::estimate, "floor(log2 P) g(m) + ceil(log2 P) L", broadcast_binomial},
    ClosedForm{"broadcast binomial rendezvous", Collective::broadcast, "broadcast/binomial",
               Protocol::rendezvous, Says::estimate, "floor(log2 P) g(m) + ceil(log2 P) (2 g(1) + 3 L)",
               broadcast_binomial_rendezvous},
    ClosedForm{"broadcast binomial segmented", Collective::broadcast, "broadcast/binomial",
               Protocol::segmented, Says::estimate, "floor(log2 P) g(s) k + ceil(log2 P) L",
               broadcast_binomial_segmented},
    // Table 2
    ClosedForm{"scatter flat", Collective::scatter, "scatter/flat", Protocol::eager, Says::estimate,
               "(P-1) g(m) + L", scatter_flat},
    ClosedForm{"scatter chain", Collective::scatter, "scatter/chain", Protocol::eager, Says::estimate,
               "sum j=1..P-1 g(j m) + (P-1) L", scatter_chain},
    ClosedForm{"scatter binomial", Collective::scatter, "scatter/binomial", Protocol::eager, Says::estimate,
               "sum j=0..ceil(log2 P)-1 g(2^j m) + ceil(log2 P) L", scatter_binomial},
    // Table 3
    ClosedForm{"alltoall", Collective::alltoall, "alltoall/flat", Protocol::eager, Says::estimate,
               "lower + (upper - lower) gamma", alltoall_expected},
    ClosedForm{"alltoall lower", Collective::alltoall, "alltoall/flat", Protocol::eager, Says::at_least,
               "(P-1) os(m) + (P-1) or(m) + L", alltoall_lower},
    ClosedForm{"alltoall upper", Collective::alltoall, "alltoall/flat", Protocol::eager, Says::at_most,
               "(P-1) g(m) + (P-1) or(m) + L", alltoall_upper},
    // Derived
    ClosedForm{"reduce flat", Collective::reduce, "reduce/flat", Protocol::eager, Says::estimate,
               "(P-1) g(m) + L + c(m)", reduce_flat},
    ClosedForm{"reduce chain", Collective::reduce, "reduce/chain", Protocol::eager, Says::estimate,
               "(P-1) (g(m) + L + c(m))", reduce_chain},
    ClosedForm{"reduce chain segmented", Collective::reduce, "reduce/chain", Protocol::segmented,
               Says::estimate, "(P-1) (g(s) + L + c(s)) + g(s) (k-1)", reduce_chain_segmented},
    ClosedForm{"reduce binomial", Collective::reduce, "reduce/binomial", Protocol::eager, Says::estimate,
               "floor(log2 P) g(m) + ceil(log2 P) (L + c(m))", reduce_binomial},
    ClosedForm{"gather flat", Collective::gather, "gather/flat", Protocol::eager, Says::estimate,
               "(P-1) g(m) + L", scatter_flat},
    ClosedForm{"gather chain", Collective::gather, "gather/chain", Protocol::eager, Says::estimate,
               "sum j=1..P-1 g(j m) + (P-1) L", scatter_chain},
    ClosedForm{"gather binomial", Collective::gather, "gather/binomial", Protocol::eager, Says::estimate,
               "sum j=0..ceil(log2 P)-1 g(2^j m) + ceil(log2 P) L", scatter_binomial},
    ClosedForm{"allreduce flat", Collective::allreduce, "allreduce/flat", Protocol::eager, Says::estimate,
               "2 ((P-1) g(m) + L) + c(m)", allreduce_flat},
    ClosedForm{"allreduce chain", Collective::allreduce, "allreduce/chain", Protocol::eager, Says::estimate,
               "(P-1) (2 g(m) + 2 L + c(m))", allreduce_chain},
    ClosedForm{"allreduce binomial", Collective::allreduce, "allreduce/binomial", Protocol::eager,
               Says::estimate, "2 floor(log2 P) g(m) + ceil(log2 P) (2 L + c(m))", allreduce_binomial},
    ClosedForm{"allreduce ring", Collective::allreduce, "allreduce/ring", Protocol::eager, Says::estimate,
               "(P-1) (2 g(m/P) + 2 L + c(m/P))", allreduce_ring},
    ClosedForm{"barrier flat", Collective::barrier, "barrier/flat", Protocol::eager, Says::estimate,
               "2 ((P-1) g(1) + L)", allreduce_flat},
    ClosedForm{"barrier chain", Collective::barrier, "barrier/chain", Protocol::eager, Says::estimate,
               "2 (P-1) (g(1) + L)", allreduce_chain},
    ClosedForm{"barrier binomial", Collective::barrier, "barrier/binomial", Protocol::eager, Says::estimate,
               "2 floor(log2 P) g(1) + 2 ceil(log2 P) L", allreduce_binomial},
    ClosedForm{"allgather chain", Collective::allgather, "allgather/chain", Protocol::eager, Says::estimate,
               "(P-1) (g(m) + L)", allgather_chain},
};

const ClosedForm* row_of(std::string_view algorithm, Protocol protocol) {
  const auto found = std::find_if(kForms.begin(), kForms.end(), [&](const ClosedForm& form) {
    return form.algorithm == algorithm && form.protocol == protocol;
  });
  return found == kForms.end() ? nullptr : &*found;
}

}  // namespace

Call call_of(const coll::CommonProblem& problem, std::size_t segment_bytes) {
  Call call;
  call.n_ranks = problem.n_ranks;
  call.bytes = coll::is_blocked(problem.collective) ? problem.block_bytes() : coll::payload_bytes(problem);
  call.segment_bytes = segment_bytes;
  return call;
}

std::size_t n_segments(const Call& call) {
  if (call.segment_bytes == 0 || call.bytes <= call.segment_bytes) return 1;
  return (call.bytes + call.segment_bytes - 1) / call.segment_bytes;
}

std::span<const ClosedForm> closed_forms() { return kForms; }

double seconds(const ClosedForm& form, const PLogP& net, const Call& call) {
  return call.n_ranks > 1 ? form.of(net, call) : 0;
}

const ClosedForm* form_of(std::string_view algorithm, const Call& call,
                          std::optional<std::size_t> eager_limit) {
  if (n_segments(call) > 1) return row_of(algorithm, Protocol::segmented);
  const ClosedForm* rendezvous =
      eager_limit && call.bytes > *eager_limit ? row_of(algorithm, Protocol::rendezvous) : nullptr;
  return rendezvous != nullptr ? rendezvous : row_of(algorithm, Protocol::eager);
}

}  // namespace eco::model
