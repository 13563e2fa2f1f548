// All-to-all by lanes, for short blocks: a subnet's messages to one rank of another travel together, and every member collects
// those for some of the ranks there. Nobody leads: work and links inside are shared, as evenly as counts of ranks allow.
//
//   steps            2: inside, then to the members of other subnets; one crossing of the slow links, with one message from
//                    every other subnet to every rank, where every pair directly takes one for each member
//   bytes per link   the least there is between subnets; inside, nearly everything once more
//   model            alpha(inside) + n / B(NIC) + alpha(between) + bytes across / B(uplink), for subnets of one size
//   order            none (data movement)
//   source           Traff and Hunold, Decomposing MPI collectives for exploiting multi-lane communication, CLUSTER 2020, for
//                    subnets of one size; here of any
//
// {0 1} {2 3}:   1 -> 0 (its blocks for 0 and 2), 0 -> 1 (its for 1 and 3)   then   0 -> 2 (of 0 1), 1 -> 3 (of 0 1)
#include <algorithm>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"

namespace eco::algo {
namespace {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

// Blocks of several ranks, one after the other in scratch memory, that travel to a peer or come from one.
struct Bundle {
  int peer;
  std::vector<int> ranks;
  std::size_t offset;
};

// The ranks of each other subnet, the next one first, for whom this subnet's member at `place` collects: every n_members-th,
// counted on from subnet to subnet, so that small ones are shared out too.
std::vector<std::vector<int>> collected_for(const GroupView& view, std::size_t subnet, std::size_t place) {
  const std::size_t n_members = view.subnets[subnet].ranks.size();
  std::vector<std::vector<int>> ranks;
  std::size_t first = place;  // of the next subnet, as far as there are so many
  for (std::size_t i = 1; i < view.subnets.size(); ++i) {
    const std::vector<int>& there = view.subnets[(subnet + i) % view.subnets.size()].ranks;
    ranks.emplace_back();
    for (; first < there.size(); first += n_members) ranks.back().push_back(there[first]);
    first -= there.size();
  }
  return ranks;
}

}  // namespace

Schedule build_alltoall_lanes(const CommonProblem& problem, const GroupView& view, const Params& params,
                              int rank) {
  const std::size_t block = problem.block_bytes();
  const auto subnet = static_cast<std::size_t>(view.subnet_of_rank[static_cast<std::size_t>(rank)]);
  const std::vector<int>& members = view.subnets[subnet].ranks;
  const std::size_t m = members.size();
  const auto place =
      static_cast<std::size_t>(std::find(members.begin(), members.end(), rank) - members.begin());
  const auto given = [block](int to) {
    return Region{Buffer::input, static_cast<std::size_t>(to) * block, block};
  };
  const auto got = [block](int from) {
    return Region{Buffer::output, static_cast<std::size_t>(from) * block, block};
  };

  std::size_t room = 0;
  const auto bundle = [&](int peer, std::vector<int> ranks) {
    const std::size_t offset = room;
    room += ranks.size() * block;
    return Bundle{peer, std::move(ranks), offset};
  };
  const auto region = [block](const Bundle& of) {
    return Region{Buffer::scratch, of.offset, of.ranks.size() * block};
  };
  const auto in = [block](const Bundle& of, std::size_t i) {
    return Region{Buffer::scratch, of.offset + i * block, block};
  };

  // Inside: what a member collects from this rank, and what this rank from a member; the last block is for the receiver.
  const auto handed_to = [&](std::size_t member) {
    std::vector<int> ranks;
    for (const std::vector<int>& there : collected_for(view, subnet, member))
      ranks.insert(ranks.end(), there.begin(), there.end());
    ranks.push_back(members[member]);
    return ranks;
  };
  const std::vector<int> collected = handed_to(place);
  std::vector<Bundle> leaving;
  std::vector<Bundle> coming;
  for (std::size_t i = 1; i < m; ++i) {
    const std::size_t next = (place + i) % m;
    leaving.push_back(bundle(members[next], handed_to(next)));
    coming.push_back(bundle(members[(place + m - i) % m], collected));
  }
  // Between, subnet by subnet: the members' blocks for ranks of the next one, and what the one before has for this rank.
  std::vector<std::vector<Bundle>> onward;
  for (const std::vector<int>& there : collected_for(view, subnet, place)) {
    onward.emplace_back();
    for (const int to : there) onward.back().push_back(bundle(to, members));
  }
  std::vector<Bundle> arriving;
  std::size_t count = place;  // as theirs does
  for (std::size_t i = 1; i < view.subnets.size(); ++i) {
    const std::vector<int>& theirs =
        view.subnets[(subnet + view.subnets.size() - i) % view.subnets.size()].ranks;
    arriving.push_back(bundle(theirs[count % theirs.size()], theirs));
    count += theirs.size();
  }

  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = 2;
  schedule.scratch_bytes = room;
  schedule.once([=](std::size_t, Emitter& e) {
    for (std::size_t i = 0; i < leaving.size(); ++i) {
      for (std::size_t k = 0; k < leaving[i].ranks.size(); ++k)
        e.copy(given(leaving[i].ranks[k]), in(leaving[i], k));
      e.recv(coming[i].peer, region(coming[i]), 0);
      e.send(leaving[i].peer, region(leaving[i]), 0);
    }
  });
  schedule.once([=](std::size_t, Emitter& e) {
    std::size_t k = 0;  // of those for whom it collects
    for (std::size_t s = 0; s < onward.size(); ++s) {
      e.recv(arriving[s].peer, region(arriving[s]), 1);
      for (const Bundle& one : onward[s]) {
        e.copy(given(one.peer), in(one, place));
        for (std::size_t i = 0; i < coming.size(); ++i)
          e.copy(in(coming[i], k), in(one, (place + m - 1 - i) % m));
        e.send(one.peer, region(one), 1);
        ++k;
      }
    }
  });
  schedule.once([=](std::size_t, Emitter& e) {
    e.copy(given(rank), got(rank));
    for (const Bundle& one : coming) e.copy(in(one, one.ranks.size() - 1), got(one.peer));
    for (const Bundle& one : arriving) {
      for (std::size_t i = 0; i < one.ranks.size(); ++i) e.copy(in(one, i), got(one.ranks[i]));
    }
  });
  return schedule;
}

}  // namespace eco::algo
