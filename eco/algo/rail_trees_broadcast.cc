// Broadcast over hosts with two NICs: each half of the message goes down its own binary tree over half of a subnet's
// ranks, and who has no child hands its half across to the other tree, or on to the next subnet.
//
//   steps            n/2s + log2(P), each of one segment s on every rail both ways; as many more for each further subnet
//   bytes per link   n/2 out of and into every rank on each rail; n/2 from subnet to subnet on each rail
//   model            (n/2s + log2(P)) * (alpha + s/B) with B the rate of one rail: log2(P) alpha + n/2B
//   order            none (data movement)
//   source           Chiba, Endo and Matsuoka, "MPI Collective Operations Algorithm by using Multirails", 2007, section 3
//
// A tree's positions are those of a heap: i has the children 2i + 1, over rail 0, and 2i + 2, over rail 1. So each rail of a
// rank sends n/2, and its half comes over one rail; the other half has to come over the other. Who has fewer than two
// children has rails to spare, and a tree has one more of these than it has ranks: enough for the other tree, and
// of both rails alike if the left tree's last child, where it has no sibling, comes over rail 1.
//
//   P = 7, root 0        halves: left, down 1 -> 2, 3; right, down 4 -> 5, 6
//   rail 0               left  0 -> 1 -> 2;  2 -> 4, 3 -> 6       right 4 -> 5;  5 -> 3
//   rail 1               left  1 -> 3;  2 -> 5                    right 0 -> 4 -> 6;  5 -> 1, 6 -> 2
//
// What is to spare after that, here rail 1 of 3 and rail 0 of 6, feeds the next subnet.
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/segments.h"

namespace eco::algo {
namespace {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

constexpr std::size_t kHalves = 2;

struct Port {
  int rank;
  std::size_t rail;
};

// One half's way from rank to rank.
struct Leg {
  std::size_t half;
  Port from;
  int to;
};

// Takes one of the wanted rail out, or any if there is none of that.
Port take(std::vector<Port>& ports, std::size_t rail) {
  auto found = std::find_if(ports.begin(), ports.end(), [&](const Port& port) { return port.rail == rail; });
  if (found == ports.end()) found = ports.begin();
  const Port taken = *found;
  ports.erase(found);
  return taken;
}

// Which rail a child of a half's tree of n ranks is served over; positions from n on are of children that are not there.
std::size_t rail_of_child(std::size_t half, std::size_t n, std::size_t position) {
  const std::size_t usual = position % 2 == 1 ? 0 : 1;
  const bool is_last_pair = half == 0 && n % 2 == 0 && (position == n - 1 || position == n);
  return is_last_pair ? 1 - usual : usual;
}

// All legs of one subnet, which the halves enter from `entries`; leaves in `entries` where they go on from.
void add_subnet(const std::vector<int>& members, std::array<Port, kHalves>& entries, std::vector<Leg>& legs) {
  const auto middle = members.begin() + static_cast<std::ptrdiff_t>((members.size() + 1) / 2);
  const std::array<std::vector<int>, kHalves> trees = {std::vector<int>(members.begin(), middle),
                                                       std::vector<int>(middle, members.end())};
  std::array<std::vector<Port>, kHalves> spare;
  for (std::size_t half = 0; half < kHalves; ++half) {
    const std::vector<int>& tree = trees[half];
    // A rank that is alone gets both halves from outside.
    legs.push_back({half, entries[half], tree.empty() ? trees[1 - half][0] : tree[0]});
    for (std::size_t child = 1; !tree.empty() && child <= 2 * tree.size(); ++child) {
      const Port parent{tree[(child - 1) / 2], rail_of_child(half, tree.size(), child)};
      if (child < tree.size()) {
        legs.push_back({half, parent, tree[child]});
      } else {
        spare[half].push_back(parent);
      }
    }
  }
  for (std::size_t half = 0; half < kHalves; ++half) {
    if (trees[half].empty()) continue;
    const std::size_t other = 1 - half;
    const std::vector<int>& takers = trees[other];
    for (std::size_t i = 0; i < takers.size(); ++i) {
      const std::size_t own = i == 0 ? entries[other].rail : rail_of_child(other, takers.size(), i);
      legs.push_back({half, take(spare[half], 1 - own), takers[i]});
    }
  }
  // Every rank has both halves in the end, so either tree's ports will do for either half.
  std::vector<Port> left = spare[0];
  left.insert(left.end(), spare[1].begin(), spare[1].end());
  for (std::size_t half = 0; half < kHalves; ++half) entries[half] = take(left, half);
}

}  // namespace

Schedule build_broadcast_rail_trees(const CommonProblem& problem, const GroupView& view, const Params& params,
                                    int rank) {
  std::vector<Leg> legs;
  std::array<Port, kHalves> entries = {Port{problem.root, 0}, Port{problem.root, 1}};
  const int root_subnet = view.subnet_of_rank[static_cast<std::size_t>(problem.root)];
  for (const int subnet : subnets_from(view, root_subnet, params.order)) {
    std::vector<int> members = view.subnets[static_cast<std::size_t>(subnet)].ranks;
    const auto root = std::find(members.begin(), members.end(), problem.root);
    if (root != members.end()) {
      std::rotate(members.begin(), root, members.end());
      members.erase(members.begin());
    }
    if (!members.empty()) add_subnet(members, entries, legs);
  }
  struct End {
    int peer;
    int channel;  // one for each rail
  };
  struct Part {
    std::vector<End> from;  // one, but at the root
    std::vector<End> to;
  };
  std::array<Part, kHalves> parts;
  for (const Leg& leg : legs) {
    const int channel = static_cast<int>(leg.from.rail);
    if (rank == leg.from.rank) parts[leg.half].to.push_back({leg.to, channel});
    if (rank == leg.to) parts[leg.half].from.push_back({leg.from.rank, channel});
  }

  const Segments cut(problem, params.segment_bytes, kHalves);
  const std::size_t n_left = (cut.count() + 1) / 2;
  const std::array<std::size_t, kHalves> counts = {n_left, cut.count() - n_left};
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = 2;
  schedule.rails = {0, 1};
  schedule.repeat(n_left, [=](std::size_t j, Emitter& e) {
    for (std::size_t half = 0; half < kHalves; ++half) {
      if (j >= counts[half]) continue;
      const Region segment = cut.region(Buffer::output, half * counts[0] + j);
      for (const End& from : parts[half].from) e.recv(from.peer, segment, from.channel);
      for (const End& to : parts[half].to) e.send(to.peer, segment, to.channel);
    }
  });
  return schedule;
}

}  // namespace eco::algo
