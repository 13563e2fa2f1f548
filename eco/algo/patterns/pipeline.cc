#include "eco/algo/patterns/pipeline.h"

#include <algorithm>

namespace eco::algo {
namespace {

using sched::Buffer;
using sched::Emitter;
using sched::Region;
using sched::Schedule;

// Contributions of children may arrive this far ahead of their use; scratch memory is that times their number.
constexpr std::size_t kAheadBytes = std::size_t{256} << 10;
constexpr std::size_t kAheadSegments = 8;

void set_window(Schedule& schedule, const Params& params) {
  if (params.window > 0) schedule.window = {params.window, true};
}

// One rank's place in a tree.
struct Place {
  int parent;
  std::vector<int> children;
  std::size_t n_far;  // leading children that are in other subnets
};

Place place_in(const Tree& tree, int rank) {
  const auto at = static_cast<std::size_t>(rank);
  return {tree.parent[at], tree.children[at], static_cast<std::size_t>(tree.n_far[at])};
}

struct OwnerPlace {
  Place up;
  Place down;
};

}  // namespace

Schedule pipelined_broadcast(const coll::CommonProblem& problem, const Tree& tree, const Params& params,
                             int rank) {
  return pipelined_broadcast(problem, tree, tree, params, rank);
}

Schedule pipelined_broadcast(const coll::CommonProblem& problem, const Tree& tree, const Tree& head_tree,
                             const Params& params, int rank) {
  const Segments segments(problem, params.segment_bytes);
  const std::size_t n = segments.count();
  const std::size_t head = std::min(n, static_cast<std::size_t>(params.head));
  const std::size_t lag = rank == tree.root ? head : 0;
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = head > 0 ? 2 : 1;
  schedule.repeat(n + lag, [=, main = place_in(tree, rank), first = place_in(head_tree, rank)](std::size_t i,
                                                                                               Emitter& e) {
    if (i < n) {
      const Place& place = i < head ? first : main;
      const int channel = i < head ? 1 : 0;
      const Region segment = segments.region(Buffer::output, i);
      if (place.parent >= 0) e.recv(place.parent, segment, channel);
      for (std::size_t c = 0; c < place.n_far; ++c) e.send(place.children[c], segment, channel);
    }
    if (i >= lag) {
      const std::size_t j = i - lag;
      const Place& place = j < head ? first : main;
      const Region segment = segments.region(Buffer::output, j);
      for (std::size_t c = place.n_far; c < place.children.size(); ++c)
        e.send(place.children[c], segment, j < head ? 1 : 0);
    }
  });
  return schedule;
}

Schedule pipelined_allreduce(const coll::CommonProblem& problem, const std::vector<Owner>& owners,
                             const Params& params, int rank) {
  const Segments segments(problem, params.segment_bytes, owners.size());
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = 2 * static_cast<int>(owners.size());

  std::vector<OwnerPlace> places;
  std::size_t most_children = 0;
  for (const Owner& owner : owners) {
    places.push_back({place_in(owner.up, rank), place_in(owner.down, rank)});
    most_children = std::max(most_children, places.back().up.children.size());
  }
  // Scratch: `ahead` slots, each with room for one segment of every child. Reuse waits by itself: the slot's regions
  // are still being read.
  const std::size_t ahead = std::min(
      segments.count(), std::max(kAheadSegments, kAheadBytes / std::max<std::size_t>(segments.bytes(), 1)));
  const std::size_t slot_bytes = most_children * segments.bytes();
  schedule.scratch_bytes = ahead * slot_bytes;

  schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
    const std::size_t owner = j % places.size();
    const OwnerPlace& place = places[owner];
    const int up_channel = 2 * static_cast<int>(owner);
    const int down_channel = up_channel + 1;
    const Region mine = segments.region(Buffer::input, j);
    const Region result = segments.region(Buffer::output, j);

    const auto& contributors = place.up.children;
    for (std::size_t c = 0; c < contributors.size(); ++c) {
      const Region arrived{Buffer::scratch, (j % ahead) * slot_bytes + c * segments.bytes(), mine.bytes};
      e.recv(contributors[c], arrived, up_channel);
      if (c == 0) e.copy(mine, result);
      e.reduce(arrived, result);
    }
    if (contributors.empty() && place.up.parent < 0) e.copy(mine, result);  // alone
    if (place.up.parent >= 0) e.send(place.up.parent, contributors.empty() ? mine : result, up_channel);

    if (place.down.parent >= 0) e.recv(place.down.parent, result, down_channel);
    for (const int child : place.down.children) e.send(child, result, down_channel);
  });
  return schedule;
}

}  // namespace eco::algo
