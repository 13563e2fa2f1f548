// Proves the whole repertoire: every algorithm of the registry, on every kind of group, at every root, as data.
//
//   for (const ProofTask& task : proof_tasks({2, 3, 4}, {}, ""))
//     for (const std::string& fault : prove(task, {.seed = 1}).faults) complain(fault);
//
// A task is one algorithm on so many ranks from one root; tasks know nothing of each other, so that a caller can share
// them out over threads and show progress. A task's cases are views (proof_views) times problems times parameters:
//
//   few elements   1, 2, ... of them, with segments of 0 to 3 elements and send windows: odd counts, fewer elements than
//                  ranks, last segments that are shorter. The parameters are those that a long message would have
//                  (trees, orders, heads) with the segments exchanged, so that the machine of the verifier stays small
//   compositions   few elements, with every part exchanged for some algorithm of its collective
//   as planned     candidates that the planner would predict, at sizes about a packet and above
//   large          so many large segments that scratch memory is used again
//   long           more operations than the Executor looks ahead over
//
// each where the operation commutes and where it does not, and in place where the collective can be. Above 17 ranks every
// root but the first has one of the views, all in turn. Which parameters are picked follows from the seed. Cases whose
// schedules are those of an earlier case of the task count and are not proved again. Pure, local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/net/group_view.h"

namespace eco::algo {

// A synthetic network (see net/synthetic.h) with ranks dealt over its hosts: rank r on host r * stride.
net::GroupView dealt_view(const std::string& network, int n_ranks, int stride = 1);

// Groups of `n_ranks` of every kind: one subnet, two, three unequal ones, buses, lone hosts, several ranks on a host;
// with ranks in a row and scattered. Few for few ranks.
std::vector<net::GroupView> proof_views(int n_ranks);
// The same of hosts with several NICs: two rails alike, two and three of different rates; for algorithms on rails.
std::vector<net::GroupView> proof_views_with_rails(int n_ranks);

// Problems of no, one and few elements, odd counts among them, commutative and not; bytes where nothing is combined.
std::vector<coll::CommonProblem> small_problems(coll::Collective collective, int n_ranks, int root);

// Graphs of so many ranks: a line with nobody at its ends, a closed ring, a torus of pairs (every neighbour twice), random
// ones, with several edges between two ranks, edges to oneself and ranks alone. For collectives that follow none: null.
std::vector<std::shared_ptr<const coll::Neighborhood>> proof_graphs(coll::Collective collective, int n_ranks);

struct ProofTask {
  std::string algorithm;
  int n_ranks = 2;
  int root = 0;
};

// Largest first, so that threads that share them end together. No collectives: all; no algorithm: all of them. Throws
// InvalidArgument if there is no such algorithm, or a number of ranks below 1.
std::vector<ProofTask> proof_tasks(const std::vector<int>& n_ranks,
                                   const std::vector<coll::Collective>& collectives,
                                   const std::string& algorithm);

struct ProofOptions {
  std::uint64_t seed = 1;
  // Parameters picked for each problem on each view; 0: all of them.
  std::size_t picks = 2;
};

struct Proof {
  std::size_t n_cases = 0;     // recipe, problem, view, in place or not: accepted by why_not and proved
  std::size_t n_distinct = 0;  // different sets of schedules among them
  std::size_t n_ordered = 0;   // cases of operations that do not commute
  std::size_t n_in_place = 0;
  std::size_t n_composed = 0;       // cases of compositions with parts that were picked by seed
  std::size_t n_native = 0;         // cases in which islands' collectives are the library's
  std::size_t n_refused = 0;        // problems that the algorithm does not serve, on a view
  std::vector<std::string> faults;  // what went wrong, where; at most kMostFaults
  static constexpr std::size_t kMostFaults = 20;
};

// Throws InvalidArgument if there is no such algorithm.
Proof prove(const ProofTask& task, const ProofOptions& options = {});

}  // namespace eco::algo
