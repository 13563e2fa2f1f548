// Schedules for people: as text, and as a drawing for Graphviz.
//
//   rank 1 of 8, scratch 0, channels 1, window 2 synchronous, rails 0
//     group 0: 1 2 3 lane 1
//     recv   output[0+1392]     <- 0
//     send   output[0+1392]     -> 2
//     group  0 broadcast root 1 output[0+1392]
//
// Those of all ranks, with all operations, say everything that runs: testing_text.h reads them back.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "eco/sched/schedule.h"

namespace eco::sched {

// One operation a line in program order, at most `max_ops` of them (0: all), the rest counted.
std::string to_text(const Schedule& schedule, std::size_t max_ops = 0);

// A directed graph: ranks as nodes, one edge per (from, to, channel) labelled with messages and bytes.
std::string to_dot(const std::vector<Schedule>& schedules, const std::string& title);

}  // namespace eco::sched
