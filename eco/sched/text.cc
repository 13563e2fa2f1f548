#include "eco/sched/text.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

namespace eco::sched {
namespace {

std::string region_text(const Region& region) {
  return std::string(name(region.buffer)) + "[" + std::to_string(region.offset) + "+" +
         std::to_string(region.bytes) + "]";
}

std::string op_text(const Op& op) {
  const bool sends = op.kind == OpKind::send;
  const bool receives = op.kind == OpKind::recv;
  std::string other;
  if (op.kind == OpKind::group) {
    std::string line =
        "  group  " + std::to_string(op.channel) + " " + std::string(coll::name(op.collective));
    if (coll::is_rooted(op.collective)) line += " root " + std::to_string(op.peer);
    if (op.source.bytes > 0) line += " " + region_text(op.source);
    if (op.target.bytes > 0) line += " -> " + region_text(op.target);
    return line + "\n";
  }
  if (sends || receives) {
    other = (sends ? "-> " : "<- ") + std::to_string(op.peer);
    if (op.channel != 0) other += " channel " + std::to_string(op.channel);
  } else {
    other = "-> " + region_text(op.target);
  }
  char line[160];
  std::snprintf(line, sizeof line, "  %-6s %-24s %s\n", std::string(name(op.kind)).c_str(),
                region_text(receives ? op.target : op.source).c_str(), other.c_str());
  return line;
}

std::string rail_text(const Schedule& schedule, int channel) {
  const auto c = static_cast<std::size_t>(channel);
  return c < schedule.rails.size() ? ", rail " + std::to_string(schedule.rails[c]) : "";
}

}  // namespace

std::string to_text(const Schedule& schedule, std::size_t max_ops) {
  std::string text = "rank " + std::to_string(schedule.rank()) + " of " + std::to_string(schedule.n_ranks()) +
                     ", scratch " + std::to_string(schedule.scratch_bytes) + ", channels " +
                     std::to_string(schedule.n_channels);
  if (schedule.window.messages_per_channel > 0) {
    text += ", window " + std::to_string(schedule.window.messages_per_channel) +
            (schedule.window.synchronous ? " synchronous" : "");
  }
  for (std::size_t c = 0; c < schedule.rails.size(); ++c)
    text += (c == 0 ? ", rails " : ",") + std::to_string(schedule.rails[c]);
  text += "\n";
  for (std::size_t g = 0; g < schedule.groups.size(); ++g) {
    const std::vector<int>& ranks = schedule.groups[g].ranks;
    if (std::find(ranks.begin(), ranks.end(), schedule.rank()) == ranks.end()) continue;
    text += "  group " + std::to_string(g) + ":";
    for (const int rank : ranks) text += " " + std::to_string(rank);
    if (schedule.groups[g].lane != 0) text += " lane " + std::to_string(schedule.groups[g].lane);
    text += "\n";
  }
  std::size_t n = 0;
  Cursor cursor(schedule);
  while (const Op* op = cursor.next()) {
    if (max_ops == 0 || n < max_ops) text += op_text(*op);
    ++n;
  }
  if (max_ops != 0 && n > max_ops) text += "  and " + std::to_string(n - max_ops) + " more\n";
  return text;
}

std::string to_dot(const std::vector<Schedule>& schedules, const std::string& title) {
  struct Traffic {
    std::size_t messages = 0;
    std::size_t bytes = 0;
  };
  std::map<std::tuple<int, int, int>, Traffic> traffic;  // from, to, channel
  for (const Schedule& schedule : schedules) {
    Cursor cursor(schedule);
    while (const Op* op = cursor.next()) {
      if (op->kind != OpKind::send) continue;
      Traffic& t = traffic[{schedule.rank(), op->peer, op->channel}];
      ++t.messages;
      t.bytes += op->source.bytes;
    }
  }
  std::string dot = "digraph schedule {\n  label=\"" + title + "\";\n  rankdir=LR;\n  node [shape=circle];\n";
  for (const Schedule& schedule : schedules) dot += "  " + std::to_string(schedule.rank()) + ";\n";
  for (const auto& [edge, t] : traffic) {
    const auto& [from, to, channel] = edge;
    dot += "  " + std::to_string(from) + " -> " + std::to_string(to) + " [label=\"" +
           std::to_string(t.messages) + " x, " + std::to_string(t.bytes) + " B" +
           (channel != 0 ? ", channel " + std::to_string(channel) : "") +
           (schedules.empty() ? "" : rail_text(schedules[0], channel)) + "\"];\n";
  }
  return dot + "}\n";
}

}  // namespace eco::sched
