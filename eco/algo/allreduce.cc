// Allreduce: every owner's segments are combined up its tree and distributed down again, all segments in flight at once.
// Every rank receives what one rank has computed, so all obtain the same expression.
//
//   steps            n/s + 2 * depth, each of one segment s
//   bytes per link   K owners, one for each of K subnets: an uplink carries n (K-1)/K out for segments that others own
//                    and n/K (K-1) out for its own results: 2 n (K-1)/K each way, what a ring over the subnets would
//                    carry. Every rank an owner on a ring: 2 (P-1)/P n per rank, optimal on one switch
//   model            2 (K-1)/K n / B(uplink) + (depth up + depth down) * (alpha + s/B) + n gamma
//   order            an element is combined along one tree, its owner's: any if the operation commutes, else one owner,
//                    rank 0, with a tree of runs
//   source           Lowekamp and Beguelin, CMU-CS-95-191, section 5 (up and down the broadcast pattern); owners in turn
//                    instead of one root: its section 7. Ring: Patarasuk and Yuan, JPDC 69 (2009). Binomial: Vadhiyar,
//                    Fagg and Dongarra, SC 2000
//
// allreduce/subnets on {0 1} {2 3}, between = flat, inside = chain; even segments belong to subnet 0, odd ones to 1:
//
//   even segment:  1 -> 0 <- 2 <- 3   then   0 -> 2 -> 3,  0 -> 1
//   odd segment:   3 -> 2 <- 0 <- 1   then   2 -> 0 -> 1,  2 -> 3
//
// Of the segments of one turn a subnet takes first the one that the subnet after it owns, last its own: all send to
// different ones at any time, and no downlink waits for two at once while another has nothing to carry.
//
// A barrier is the allreduce of one token by one owner.
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_allreduce(const CommonProblem& problem, const std::vector<Owner>& owners, const Params& params,
                         int rank, std::size_t first) {
  std::vector<Owner> places = owners;
  std::size_t most_children = 0;
  for (Owner& place : places) {
    if (!problem.commutative) place.up.children = ascending(place.up.children);
    most_children = std::max(most_children, place.up.children.size());
  }
  const Segments segments(problem, params.segment_bytes, owners.size());
  const Slots slots(segments, most_children, params, 0, owners.size());
  const std::size_t first_here = slots.hold(std::min(owners.size(), segments.count())) ? first : 0;
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = 2 * static_cast<int>(owners.size());
  schedule.scratch_bytes = slots.bytes();
  schedule.repeat(segments.count(), [=, n = segments.count()](std::size_t i, Emitter& e) {
    const std::size_t turn = i % places.size();
    const std::size_t begin = i - turn;
    const std::size_t j = begin + (turn + first_here) % std::min(places.size(), n - begin);
    const std::size_t owner = j % places.size();
    const Owner& place = places[owner];
    const int up_channel = 2 * static_cast<int>(owner);
    const int down_channel = up_channel + 1;
    const Region result = segments.region(Buffer::output, j);
    combine_upwards(e, place.up, segments.region(Buffer::input, j), result, slots, j, up_channel);
    if (place.down.parent >= 0) e.recv(place.down.parent, result, down_channel);
    for (const int child : place.down.children) e.send(child, result, down_channel);
  });
  return schedule;
}

}  // namespace eco::algo
