// What a collective would take, in one formula each: Tables 1, 2 and 3 of Barchet-Estefanel and Mounie (2004), and what
// follows directly from them.
//
//   const Call call{.n_ranks = 16, .bytes = 1 << 20, .segment_bytes = 8192};
//   broadcast_chain_segmented(net, call);                                   // seconds
//   const ClosedForm* form = form_of("broadcast/chain", call, eager_limit);  // the row for an algorithm of eco/algo
//   form->formula; seconds(*form, net, call);
//
// The formulas know one class of pairs: every message is between two hosts of one cluster, alone on its way. What
// several subnets, shared links or late ranks do to a schedule only the predictor says (eco/sim). They are cheap and
// can be read, so they check predictions and continue them to groups too large to walk. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "eco/coll/problem.h"
#include "eco/model/plogp.h"

namespace eco::model {

struct Call {
  int n_ranks = 1;                // P
  std::size_t bytes = 0;          // m: a broadcast's or a reduction's message; else the block of one rank
  std::size_t segment_bytes = 0;  // s; 0: the message is not cut
  double gamma = 0.4;             // of all-to-all: the network's signature (gamma.h); the paper's own was 2/5
  double combine_bytes_per_s = 0;  // of reductions; 0: combining costs nothing, as in the paper
};

// The m of a problem, whose `bytes` are those of the whole.
Call call_of(const coll::CommonProblem& problem, std::size_t segment_bytes = 0);

// k: how many segments the message has, at least one.
std::size_t n_segments(const Call& call);

// Table 1: broadcast. m bytes to all.
double broadcast_flat(const PLogP& net, const Call& call);
double broadcast_flat_rendezvous(const PLogP& net, const Call& call);
double broadcast_flat_segmented(const PLogP& net, const Call& call);
double broadcast_chain(const PLogP& net, const Call& call);
double broadcast_chain_rendezvous(const PLogP& net, const Call& call);
double broadcast_chain_segmented(const PLogP& net, const Call& call);
double broadcast_binary(const PLogP& net, const Call& call);
double broadcast_binomial(const PLogP& net, const Call& call);
double broadcast_binomial_rendezvous(const PLogP& net, const Call& call);
double broadcast_binomial_segmented(const PLogP& net, const Call& call);

// Table 2: scatter. m bytes to each.
double scatter_flat(const PLogP& net, const Call& call);
double scatter_chain(const PLogP& net, const Call& call);
double scatter_binomial(const PLogP& net, const Call& call);

// Table 3: all-to-all. m bytes from each to each.
double alltoall_lower(const PLogP& net, const Call& call);
double alltoall_upper(const PLogP& net, const Call& call);
double alltoall_expected(const PLogP& net, const Call& call);

// Not in the paper, but nothing more than it: a reduce is a broadcast, and a gather a scatter, with every message
// turned round; an allreduce over a tree is the one after the other; a barrier is an allreduce of one byte.
double reduce_flat(const PLogP& net, const Call& call);
double reduce_chain(const PLogP& net, const Call& call);
double reduce_chain_segmented(const PLogP& net, const Call& call);
double reduce_binomial(const PLogP& net, const Call& call);
double allreduce_flat(const PLogP& net, const Call& call);
double allreduce_chain(const PLogP& net, const Call& call);
double allreduce_binomial(const PLogP& net, const Call& call);
double allreduce_ring(const PLogP& net, const Call& call);
double allgather_chain(const PLogP& net, const Call& call);

enum class Protocol : std::uint8_t { eager, segmented, rendezvous };
enum class Says : std::uint8_t { estimate, at_most, at_least };

struct ClosedForm {
  std::string_view name;
  coll::Collective collective = coll::Collective::broadcast;
  std::string_view algorithm;  // in eco/algo's registry ("kary" with degree=2)
  Protocol protocol = Protocol::eager;
  Says says = Says::estimate;
  std::string_view formula;
  double (*of)(const PLogP&, const Call&) = nullptr;
};

std::span<const ClosedForm> closed_forms();

// 0 for one rank, which sends nothing.
double seconds(const ClosedForm& form, const PLogP& net, const Call& call);

// The row for an algorithm as this call would run it: in segments if it has several, with rendezvous where its messages
// are beyond the eager limit and there is such a row. Bounds are taken only where there is no estimate. Null if there
// is no formula for it.
const ClosedForm* form_of(std::string_view algorithm, const Call& call,
                          std::optional<std::size_t> eager_limit = std::nullopt);

}  // namespace eco::model
