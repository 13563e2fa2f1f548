// Scan and exscan in levels, where subnets are runs of ranks: inside each subnet, then between subnets what the subnets
// before make together, which every member puts before its own.
//
//   steps            those of the parts; different segments are in different parts at once
//   bytes per link   n from subnet to subnet, or what the exscan between takes
//   model            scan inside + exscan between + broadcast inside + 2 n gamma
//   order            rank order, commutative or not
//   source           Lowekamp and Beguelin, CMU-CS-95-191, section 7 (along the subnets); Sanders and Traeff, EuroPVM/MPI
//                    2006 (scan on clusters of nodes)
//
// {0 1} {2 3}:   0 -> 1, 2 -> 3   then   1 -> 3 [0 1]   then   3 -> 2 [0 1]
#include "eco/algo/composed.h"

namespace eco::algo {

using coll::Collective;
using sched::Buffer;
using sched::Emitter;
using sched::Region;

Steps scan_in_levels(const Piece& piece) {
  const std::vector<int>& ranks =
      piece.view
          .subnets[static_cast<std::size_t>(piece.view.subnet_of_rank[static_cast<std::size_t>(piece.rank)])]
          .ranks;
  const std::size_t bytes = piece.bytes;
  const bool inclusive = piece.problem.collective == Collective::scan;
  const bool is_first = piece.rank == ranks.front();
  const bool in_first_subnet = ranks.front() == 0;
  // The last of each subnet knows what the subnet makes, and leads it.
  std::vector<int> lasts;
  for (const net::SubnetView& subnet : piece.view.subnets) lasts.push_back(subnet.ranks.back());

  Steps steps;
  const Region before = steps.scratch(bytes);  // of the subnets before
  const Region total =
      steps.scratch(bytes);  // of this one; in between, of a member's and those before it in the subnet
  const Region result{Buffer::output, 0, bytes};
  const Levels levels(piece);
  // An exscan of one rank is nothing; of several it leaves the first without a result.
  std::vector<Group> inside = levels.inside(piece.problem.collective, bytes);
  std::erase_if(inside, [&](const Group& group) { return !inclusive && group.members.size() == 1; });
  steps.part(piece.part(0), std::move(inside), {Buffer::input}, result);
  steps.own([=](Emitter& e) {
    if (inclusive) {
      e.copy(result, total);
    } else {
      e.copy({Buffer::input, 0, bytes}, total);
      if (!is_first) e.reduce(result, total);
    }
  });
  const Group between{lasts, piece.problem_of(Collective::exscan, lasts.size(), bytes)};
  steps.part(piece.part(1), {between}, total, before);
  std::vector<Group> followers;
  for (std::size_t s = 1; s < levels.count(); ++s) {
    const auto& members = levels.members(s);
    followers.push_back({members, piece.problem_of(Collective::broadcast, members.size(), bytes,
                                                   static_cast<int>(members.size()) - 1)});
  }
  steps.part(piece.part(2), std::move(followers), {}, before);
  if (in_first_subnet) return steps;
  steps.own([=](Emitter& e) {
    if (!inclusive && is_first)
      e.copy(before, result);
    else
      e.reduce(before, result);
  });
  return steps;
}

}  // namespace eco::algo
