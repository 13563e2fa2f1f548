// Schedules read back from what text.h writes of them: for tests that nothing is missing there.
//
//   std::vector<Schedule> again = schedules_from_text(texts_of_all_ranks);
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "eco/sched/schedule.h"

namespace eco::sched::testing {

// "output[0+1392]"
inline Region region_from_text(const std::string& text) {
  const std::size_t bracket = text.find('[');
  const std::size_t plus = text.find('+');
  for (const Buffer buffer : {Buffer::input, Buffer::output, Buffer::scratch}) {
    if (text.substr(0, bracket) == name(buffer))
      return {buffer, std::stoul(text.substr(bracket + 1)), std::stoul(text.substr(plus + 1))};
  }
  ADD_FAILURE() << "no region: " << text;
  return {};
}

// A line of to_text(), behind its first word.
inline Op op_from_text(const std::string& kind, std::istringstream& words) {
  Op op;
  std::string word;
  if (kind == "group") {
    op.kind = OpKind::group;
    words >> op.channel >> word;
    op.collective = coll::collective_from_name(word).value();
    for (bool is_target = false; words >> word;) {
      if (word == "root") {
        words >> op.peer;
      } else if (word == "->") {
        is_target = true;
      } else {
        (is_target ? op.target : op.source) = region_from_text(word);
      }
    }
    return op;
  }
  words >> word;
  const Region first = region_from_text(word);
  words >> word;  // the arrow
  if (kind == "reduce" || kind == "copy") {
    op.kind = kind == "copy" ? OpKind::copy : OpKind::reduce;
    words >> word;
    op.source = first;
    op.target = region_from_text(word);
    return op;
  }
  op.kind = kind == "send" ? OpKind::send : OpKind::recv;
  (op.kind == OpKind::send ? op.source : op.target) = first;
  words >> op.peer >> word >> op.channel;
  return op;
}

// What to_text() wrote without a limit. Of groups that the rank is not in there is nothing.
inline Schedule schedule_from_text(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  std::replace(line.begin(), line.end(), ',', ' ');
  std::istringstream header(line);
  std::string word;
  int rank = 0;
  int n_ranks = 0;
  header >> word >> rank >> word >> n_ranks;
  Schedule schedule(rank, n_ranks);
  header >> word >> schedule.scratch_bytes >> word >> schedule.n_channels;
  while (header >> word) {
    if (word == "window") header >> schedule.window.messages_per_channel;
    if (word == "synchronous") schedule.window.synchronous = true;
    for (int rail = 0; word == "rails" && header >> rail;)
      schedule.rails.push_back(static_cast<std::uint8_t>(rail));
  }
  std::vector<Op> ops;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) {
      ops.push_back(op_from_text(kind, words));
      continue;
    }
    std::size_t number = 0;
    char ends = 0;
    words >> number >> ends;
    if (schedule.groups.size() <= number) schedule.groups.resize(number + 1);
    coll::RankGroup& group = schedule.groups[number];
    for (int member = 0; words >> member;) group.ranks.push_back(member);
    words.clear();
    if (words >> word) words >> group.lane;
  }
  schedule.once([ops](std::size_t, Emitter& e) {
    for (const Op& op : ops) e.emit(op);
  });
  return schedule;
}

// Of all ranks, who know all groups then.
inline std::vector<Schedule> schedules_from_text(const std::vector<std::string>& texts) {
  std::vector<Schedule> schedules;
  std::vector<coll::RankGroup> groups;
  for (const std::string& text : texts) {
    schedules.push_back(schedule_from_text(text));
    const std::vector<coll::RankGroup>& known = schedules.back().groups;
    groups.resize(std::max(groups.size(), known.size()));
    for (std::size_t g = 0; g < known.size(); ++g) {
      if (!known[g].ranks.empty()) groups[g] = known[g];
    }
  }
  for (Schedule& schedule : schedules) schedule.groups = groups;
  return schedules;
}

}  // namespace eco::sched::testing
