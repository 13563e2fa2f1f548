// All-to-all by leaders, for short blocks: a subnet's messages to another travel together, through the two leaders.
//
//   steps            3: to the leader, between leaders, to the members; one crossing of the slow links with one message
//                    each way, where every pair directly takes m_s * m_t of them
//   bytes per link   the same between subnets; inside, everything passes the leader
//   model            alpha(between) + 2 alpha(inside) + bytes across / B(uplink) + 2 m n / B(leader)
//   order            none (data movement)
//   source           Kielmann et al., MagPIe, PPoPP 1999; Lowekamp and Beguelin, CMU-CS-95-191, section 5
//
// {0 1} {2 3}, 1's block for 2:   1 -> 0 (with all of 1's), 0 -> 2 (with 0's, and those for 3), there copied
#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/leaders.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

Schedule build_alltoall_leaders(const CommonProblem& problem, const GroupView& view, const Params& params,
                                int rank) {
  Params flat = params;
  flat.inside = Shape::flat;
  const Leaders leaders(view, flat, rank);
  const std::size_t block = problem.block_bytes();
  const std::size_t whole = problem.bytes;
  const Segments segments(whole, 1, params.segment_bytes);
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = kLeaderChannels;
  const auto in_rank_order = [block](int of) { return static_cast<std::size_t>(of) * block; };

  if (!leaders.leads()) {
    const int leader = leaders.inside.parent;
    schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
      e.send(leader, segments.region(Buffer::input, j), 0);
      e.recv(leader, segments.region(Buffer::output, j), 2);
    });
    return schedule;
  }

  // Scratch: what the members gave (in rank order), what goes to each other subnet, what comes from it, what the members
  // get (in rank order).
  const std::size_t m = leaders.count_of(leaders.subnet);
  const std::size_t given = 0;
  const std::size_t leaving = m * whole;
  const std::size_t coming = leaving + m * whole;
  const std::size_t getting = coming + m * whole;
  schedule.scratch_bytes = getting + m * whole;
  const auto member = [=](std::size_t i) { return leaders.packed[leaders.first_of(leaders.subnet) + i]; };
  const auto scratch = [](std::size_t offset, std::size_t bytes) {
    return Region{Buffer::scratch, offset, bytes};
  };
  // Of member i for rank `to`; and of rank `from` for member i.
  const auto gave = [=](std::size_t i, int to) {
    return i == 0 ? Region{Buffer::input, in_rank_order(to), block}
                  : scratch(given + i * whole + in_rank_order(to), block);
  };
  const auto gets = [=](std::size_t i, int from) {
    return i == 0 ? Region{Buffer::output, in_rank_order(from), block}
                  : scratch(getting + i * whole + in_rank_order(from), block);
  };

  schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
    for (std::size_t i = 1; i < m; ++i)
      e.recv(member(i), segments.region(Buffer::scratch, j, given + i * whole), 0);
  });
  // Between subnets: the sender's members outside, the receiver's inside.
  for (std::size_t i = 1; i < leaders.n_subnets(); ++i) {
    const std::size_t s = (leaders.subnet + i) % leaders.n_subnets();
    const std::size_t theirs = leaders.count_of(s);
    const std::size_t place = leaders.first_of(s) * m * block;
    schedule.once([=](std::size_t, Emitter& e) {
      for (std::size_t a = 0; a < m; ++a) {
        for (std::size_t b = 0; b < theirs; ++b) {
          const int to = leaders.packed[leaders.first_of(s) + b];
          e.copy(gave(a, to), scratch(leaving + place + (a * theirs + b) * block, block));
        }
      }
      e.recv(leaders.leader_of(s), scratch(coming + place, m * theirs * block), 1);
      e.send(leaders.leader_of(s), scratch(leaving + place, m * theirs * block), 1);
    });
  }
  schedule.once([=](std::size_t, Emitter& e) {
    for (std::size_t a = 0; a < m; ++a) {
      for (std::size_t b = 0; b < m; ++b) e.copy(gave(a, member(b)), gets(b, member(a)));
    }
  });
  for (std::size_t i = 1; i < leaders.n_subnets(); ++i) {
    const std::size_t s = (leaders.subnet + i) % leaders.n_subnets();
    const std::size_t theirs = leaders.count_of(s);
    const std::size_t place = leaders.first_of(s) * m * block;
    schedule.once([=](std::size_t, Emitter& e) {
      for (std::size_t a = 0; a < theirs; ++a) {
        for (std::size_t b = 0; b < m; ++b) {
          const int from = leaders.packed[leaders.first_of(s) + a];
          e.copy(scratch(coming + place + (a * m + b) * block, block), gets(b, from));
        }
      }
    });
  }
  schedule.repeat(segments.count(), [=](std::size_t j, Emitter& e) {
    for (std::size_t i = 1; i < m; ++i)
      e.send(member(i), segments.region(Buffer::scratch, j, getting + i * whole), 2);
  });
  return schedule;
}

}  // namespace eco::algo
