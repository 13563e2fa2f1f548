// Schedules for people: as text, and as a drawing for Graphviz.
//
//   rank 1 of 8, scratch 0, channels 1
//     recv   output[0+1392]     <- 0
//     send   output[0+1392]     -> 2
//     group  0 broadcast root 1 output[0+1392]
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
