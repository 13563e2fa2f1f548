// Where the members of a group meet: the k-th operation of a group is the k-th of every member. For whoever runs the
// schedules of all ranks at once (verifier, counting of traffic).
//
//   Meetings<Contribution> meetings(schedules.front().groups);
//   auto arrival = meetings.arrive(rank, id, op, contribution);
//   if (!arrival.fault.empty()) refuse(arrival.fault);
//   if (arrival.meeting->has_all_for(member)) ...            // its result can be made
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eco/coll/meaning.h"
#include "eco/sched/schedule.h"
#include "eco/sched/window.h"

namespace eco::sched {

template <class Contribution>
struct Meeting {
  struct Member {
    bool is_here = false;
    bool is_done = false;
    OpId id = 0;
    Contribution contribution{};
  };

  int group = 0;
  const std::vector<int>* ranks = nullptr;
  coll::CommonProblem problem;
  std::vector<Member> members;
  std::size_t n_here = 0;

  bool all_here() const { return n_here == members.size(); }
  // Is everybody here of whose contributions this member's result is made?
  bool has_all_for(int member) const {
    const std::vector<coll::Part> parts = coll::meaning(problem, member);
    return std::all_of(parts.begin(), parts.end(), [&](const coll::Part& part) {
      return std::all_of(members.begin() + part.first, members.begin() + part.last + 1,
                         [](const Member& each) { return each.is_here; });
    });
  }
};

template <class Contribution>
class Meetings {
 public:
  explicit Meetings(const std::vector<coll::RankGroup>& groups) {
    for (const coll::RankGroup& group : groups)
      groups_.push_back({group.ranks, std::vector<std::size_t>(group.ranks.size()), {}});
  }

  struct Arrival {
    Meeting<Contribution>* meeting = nullptr;  // valid as long as Meetings
    int member = 0;
    std::string fault;  // the rank is no member, or does something else there than those who came before it
  };
  Arrival arrive(int rank, OpId id, const Op& op, Contribution contribution) {
    Group& group = groups_[static_cast<std::size_t>(op.channel)];
    const auto found = std::find(group.ranks.begin(), group.ranks.end(), rank);
    if (found == group.ranks.end()) return {nullptr, 0, "is no member of that group"};
    const auto member = static_cast<std::size_t>(found - group.ranks.begin());
    const coll::CommonProblem problem = problem_of_group(op, group.ranks.size());
    if (problem.root < 0 || problem.root >= problem.n_ranks)
      return {nullptr, 0, "has a root that is no member"};
    const std::size_t number = group.next[member]++;
    if (number == group.meetings.size()) {
      Meeting<Contribution>& made = group.meetings.emplace_back();
      made.group = op.channel;
      made.ranks = &group.ranks;
      made.problem = problem;
      made.members.resize(group.ranks.size());
    }
    Meeting<Contribution>& meeting = group.meetings[number];
    if (auto fault = difference(problem, meeting.problem); !fault.empty())
      return {nullptr, 0, std::move(fault)};
    meeting.members[member] = {true, false, id, std::move(contribution)};
    ++meeting.n_here;
    return {&meeting, static_cast<int>(member), {}};
  }

  // Of the first meeting that somebody still waits in: "group 1's 3rd operation awaits rank 4".
  std::optional<std::string> who_is_awaited() const {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (std::size_t k = 0; k < groups_[g].meetings.size(); ++k) {
        const auto& members = groups_[g].meetings[k].members;
        const auto missing =
            std::find_if(members.begin(), members.end(), [](const auto& m) { return !m.is_here; });
        if (missing == members.end()) continue;
        return "operation " + std::to_string(k) + " of group " + std::to_string(g) + " awaits rank " +
               std::to_string(groups_[g].ranks[static_cast<std::size_t>(missing - members.begin())]);
      }
    }
    return std::nullopt;
  }

 private:
  struct Group {
    std::vector<int> ranks;
    std::vector<std::size_t> next;  // operation of each member
    std::deque<Meeting<Contribution>> meetings;
  };

  static std::string difference(const coll::CommonProblem& mine, const coll::CommonProblem& theirs) {
    const auto text = [](const coll::CommonProblem& p) {
      return "a " + std::string(coll::name(p.collective)) + " of " + std::to_string(p.bytes) +
             " bytes, root " + std::to_string(p.root);
    };
    if (mine.collective == theirs.collective && mine.bytes == theirs.bytes && mine.root == theirs.root)
      return {};
    return "means " + text(mine) + ", where another member means " + text(theirs);
  }

  std::deque<Group> groups_;
};

// What is wrong with the lists of groups of all ranks' schedules, or nothing: all have to have the same.
inline std::string fault_of_groups(const std::vector<Schedule>& schedules) {
  for (std::size_t rank = 1; rank < schedules.size(); ++rank) {
    if (schedules[rank].groups != schedules[0].groups)
      return "rank " + std::to_string(rank) + ": lists other groups than rank 0";
  }
  const std::vector<coll::RankGroup>& groups = schedules[0].groups;
  for (const coll::RankGroup& group : groups) {
    std::vector<int> ranks = group.ranks;
    std::sort(ranks.begin(), ranks.end());
    const bool has_twins = std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end();
    if (ranks.size() < 2 || ranks.front() < 0 || ranks.back() >= static_cast<int>(schedules.size()) ||
        has_twins)
      return "a group is no list of two or more different ranks";
    if (std::count(groups.begin(), groups.end(), group) > 1) return "the same group is listed twice";
  }
  return {};
}

}  // namespace eco::sched
