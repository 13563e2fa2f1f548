// What a set of schedules sends, counted and drawn: the figures of docs/algorithms.md.
//
//   const Traffic traffic = count_traffic(schedules);          // one schedule per rank, in rank order
//   traffic.rounds, traffic.chain, traffic.bytes               // steps and bytes, from the schedules themselves
//   draw(traffic, {{0, 1, 2}, {3, 4}})                         // who sends to whom in which round, groups apart
//
// Runs the schedules in rounds, under the Executor's rules: in one round each rank sends one message at most and receives
// one at most, its oldest that its receiver is ready for; combining and copying cost nothing. What a library does in a
// group's operation is not known: it takes its members a round once all are there, and its messages are not counted. Pure,
// local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "eco/sched/schedule.h"

namespace eco::sched {

struct Message {
  int round = 0;  // from 0
  int from = 0;
  int to = 0;
  std::size_t bytes = 0;
};

// A collective of a group, done by the library.
struct GroupStep {
  int round = 0;
  int group = 0;
  std::vector<int> ranks;
};

struct Traffic {
  std::vector<Message> messages;  // by round, then sender
  std::vector<GroupStep> group_steps;
  int n_ranks = 0;
  int rounds = 0;
  int chain =
      0;  // the longest row of messages and group steps of which each carries what the one before brought
  std::size_t bytes = 0;                // of all messages
  std::size_t most_sent_bytes = 0;      // by one rank
  std::size_t most_received_bytes = 0;  // by one rank
  std::size_t most_combined_bytes = 0;  // by one rank

  // Of messages whose ends are in different groups.
  std::size_t bytes_between(std::span<const int> group_of_rank) const;
};

// What one rank sends to ranks of other groups. Walks its schedule alone, once.
struct Crossing {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};
Crossing count_crossing(const Schedule& schedule, std::span<const int> group_of_rank);

// Throws InvalidArgument if the schedules stand still (verify.h says why).
Traffic count_traffic(const std::vector<Schedule>& schedules);

// A line a round, a column a rank, groups of ranks apart; ">3" sends to rank 3, "<3" receives from it, "=0" takes part in
// what the schedule's group 0 does. At most
// `most_rounds` lines (0: all), the rest counted.
//
//   round     0    1    2  |    3    4
//       1    >3    .    .  |   <0    .
//       2    >1   <0    .  |   >4   <3
std::string draw(const Traffic& traffic, const std::vector<std::vector<int>>& groups,
                 std::size_t most_rounds = 0);

}  // namespace eco::sched
