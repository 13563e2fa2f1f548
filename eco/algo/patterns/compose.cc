#include "eco/algo/patterns/compose.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "eco/algo/algorithm.h"
#include "eco/algo/patterns/combine.h"
#include "eco/algo/patterns/tree.h"
#include "eco/base/errors.h"
#include "eco/coll/meaning.h"

namespace eco::algo {
namespace {

using sched::Buffer;
using sched::Emitter;
using sched::Op;
using sched::Region;
using sched::Schedule;

// Segments that may be under way at once, where memory allows more than the least.
constexpr std::size_t kAheadSegments = 4;
constexpr std::size_t kAheadBytes = std::size_t{256} << 10;

// A step as a schedule, and where it lies in the whole.
struct Placed {
  Schedule schedule;
  std::vector<int> members;  // empty: it sends nothing
  Region input;
  Region output;
  std::size_t scratch;  // within a segment's
  int channel;
  std::vector<int> groups{};  // the whole's numbers of its groups
};

// All steps of one lane's segments at one rank.
struct Lane {
  std::vector<Placed> steps;
  std::size_t scratch_bytes = 0;
  int n_channels = 0;
};

// What is particular to one segment.
struct Turn {
  std::size_t moved = 0;    // of input and output
  std::size_t scratch = 0;  // where its scratch begins
  int channel = 0;
};

net::GroupView view_of(const net::GroupView& view, const std::vector<int>& members) {
  std::vector<int> hosts;
  hosts.reserve(members.size());
  for (const int member : members) hosts.push_back(view.host_of(member));
  return net::make_view(view.network, std::move(hosts));
}

Params params_of_part(const Params& whole) {
  Params params;
  params.segment_bytes = whole.segment_bytes;
  params.inside = whole.inside;
  params.between = whole.between;
  params.degree = whole.degree;
  return params;
}

// Alone, a rank has its result as soon as it has put its own contribution into place.
Schedule alone(const coll::CommonProblem& problem) {
  Schedule schedule(0, 1);
  schedule.n_channels = 0;
  if (problem.collective == coll::Collective::broadcast) return schedule;
  schedule.once([parts = coll::meaning(problem, 0)](std::size_t, Emitter& e) {
    for (const coll::Part& part : parts)
      e.copy({Buffer::input, part.input_offset, part.bytes}, {Buffer::output, part.offset, part.bytes});
  });
  return schedule;
}

// The library's collective, of all ranks there are.
Schedule native(const coll::CommonProblem& problem, int member) {
  Schedule schedule(member, problem.n_ranks);
  schedule.n_channels = 0;
  schedule.groups.push_back(rank_ring(problem.n_ranks, 0));
  const bool has_input = problem.collective != coll::Collective::broadcast;
  const Region source{has_input ? Buffer::input : Buffer::output, 0,
                      sched::group_source_bytes(problem, member)};
  const Region target{Buffer::output, 0, sched::group_target_bytes(problem, member)};
  schedule.once([=, collective = problem.collective, root = problem.root](std::size_t, Emitter& e) {
    e.group(0, collective, root, source, target);
  });
  return schedule;
}

// `algorithm`: null for the library's own.
Schedule build_in(const Group& group, const Algorithm* algorithm, const net::GroupView& view,
                  const Params& params, int member) {
  if (group.members.size() == 1) return alone(group.problem);
  if (algorithm == nullptr) return native(group.problem, member);
  return algorithm->build(group.problem, view_of(view, group.members), params, member);
}

using Groups = std::vector<coll::RankGroup>;

// The numbers of a part's groups among those of the whole, which they are added to.
std::vector<int> number_groups(const Groups& of_part, const std::vector<int>& members, int first_lane,
                               Groups& all) {
  std::vector<int> numbers;
  for (coll::RankGroup group : of_part) {
    for (int& rank : group.ranks) rank = members[static_cast<std::size_t>(rank)];
    group.lane += first_lane;
    const auto known = std::find(all.begin(), all.end(), group);
    numbers.push_back(static_cast<int>(known - all.begin()));
    if (known == all.end()) all.push_back(std::move(group));
  }
  return numbers;
}

Lane place(const Steps& steps, const net::GroupView& view, const Params& whole, int rank, Groups& groups) {
  const Params params = params_of_part(whole);
  Lane lane;
  lane.scratch_bytes = steps.scratch_bytes();
  // Of the groups of native parts: each part has its own, or a segment's last part would keep back the next one's first.
  int first_lane = 0;
  for (const Steps::Step& step : steps.all()) {
    if (step.algorithm.empty()) {
      Schedule schedule(rank, view.n_ranks());
      schedule.once([operations = step.operations](std::size_t, Emitter& e) { operations(e); });
      lane.steps.push_back({std::move(schedule), {}, {Buffer::input}, {Buffer::output}, 0, 0});
      continue;
    }
    const bool is_native = step.algorithm == kNativePart;
    const Algorithm* algorithm = is_native ? nullptr : find(step.algorithm);
    if (algorithm == nullptr && !is_native)
      throw InvalidArgument("there is no algorithm '" + step.algorithm + "'");
    // All ranks count channels and groups alike, whatever the groups that they are in.
    // A part whose groups are single ranks sends nothing; with another root it may have partners, and one row serves both.
    int n_channels = is_native ? 0 : 1;
    int n_group_lanes = 0;
    for (const Group& group : step.groups) {
      const auto found = std::find(group.members.begin(), group.members.end(), rank);
      const bool takes_part = found != group.members.end();
      const auto member = takes_part ? static_cast<int>(found - group.members.begin()) : 0;
      Schedule schedule = build_in(group, algorithm, view, params, member);
      n_channels = std::max(n_channels, schedule.n_channels);
      for (const coll::RankGroup& own : schedule.groups)
        n_group_lanes = std::max(n_group_lanes, own.lane + 1);
      std::vector<int> numbers = number_groups(schedule.groups, group.members, first_lane, groups);
      if (!takes_part) continue;
      const std::size_t scratch = lane.scratch_bytes;
      lane.scratch_bytes += schedule.scratch_bytes;
      lane.steps.push_back({std::move(schedule), group.members, step.input, step.output, scratch,
                            lane.n_channels, std::move(numbers)});
    }
    lane.n_channels += n_channels;
    first_lane += n_group_lanes;
  }
  return lane;
}

// One iteration of one of the step's loops, put into its place.
void emit(const Placed& step, const sched::Body& body, std::size_t iteration, const Turn& turn, Emitter& e) {
  const std::size_t before = e.emitted().size();
  body(iteration, e);
  const auto put = [&](Region& region) {
    if (region.bytes == 0) return;
    Region base{Buffer::scratch, step.scratch};
    if (region.buffer == Buffer::input) base = step.input;
    if (region.buffer == Buffer::output) base = step.output;
    region.offset += base.offset + (base.buffer == Buffer::scratch ? turn.scratch : turn.moved);
    region.buffer = base.buffer;
  };
  for (Op& op : e.emitted().subspan(before)) {
    put(op.source);
    put(op.target);
    if (op.kind == sched::OpKind::group) op.channel = step.groups[static_cast<std::size_t>(op.channel)];
    if (op.kind != sched::OpKind::send && op.kind != sched::OpKind::recv) continue;
    op.peer = step.members[static_cast<std::size_t>(op.peer)];
    op.channel += step.channel + turn.channel;
  }
}

}  // namespace

Region Steps::scratch(std::size_t bytes) {
  const Region room{Buffer::scratch, scratch_bytes_, bytes};
  scratch_bytes_ += bytes;
  return room;
}

void Steps::part(std::string algorithm, std::vector<Group> groups, Region input, Region output) {
  all_.push_back({std::move(algorithm), std::move(groups), input, output, {}});
}

void Steps::own(Operations operations) {
  all_.push_back({{}, {}, {Buffer::input}, {Buffer::output}, std::move(operations)});
}

Schedule flow(const StepsOf& steps_of, const net::GroupView& view, const Params& params, int rank,
              const Segments& segments, std::size_t n_lanes) {
  const std::size_t count = segments.count();
  n_lanes = std::min(n_lanes, count);
  Groups groups;
  const auto lane_of = [&](std::size_t j) {
    const std::size_t bytes = segments.region(Buffer::output, j).bytes;
    return place(steps_of(bytes, j % n_lanes), view, params, rank, groups);
  };
  // The last segment may be shorter: its steps are its own. They come last here.
  auto lanes = std::make_shared<std::vector<Lane>>();
  for (std::size_t j = 0; j < std::min(n_lanes, count - 1); ++j) lanes->push_back(lane_of(j));
  lanes->push_back(lane_of(count - 1));
  int width = 1;
  std::size_t slot = 0;
  for (const Lane& lane : *lanes) {
    width = std::max(width, lane.n_channels);
    slot = std::max(slot, lane.scratch_bytes);
  }

  Schedule whole(rank, view.n_ranks());
  set_window(whole, params);
  whole.n_channels = width * static_cast<int>(n_lanes);
  whole.groups = std::move(groups);
  if (count == 1) {
    whole.scratch_bytes = slot;
    for (const Placed& step : lanes->front().steps) {
      for (const sched::Loop& loop : step.schedule.loops()) {
        whole.repeat(loop.count,
                     [lanes, &step, &loop](std::size_t i, Emitter& e) { emit(step, loop.body, i, {}, e); });
      }
    }
    return whole;
  }
  const std::size_t ahead =
      std::min(count, std::max(kAheadSegments, kAheadBytes / std::max<std::size_t>(slot, 1)));
  whole.scratch_bytes = ahead * slot;
  whole.repeat(count, [=, lanes = std::shared_ptr<const std::vector<Lane>>(lanes), bytes = segments.bytes()](
                          std::size_t j, Emitter& e) {
    const std::size_t lane = j % n_lanes;
    const Turn turn{j * bytes, j % ahead * slot, static_cast<int>(lane) * width};
    for (const Placed& step : j + 1 < count ? (*lanes)[lane].steps : lanes->back().steps) {
      for (const sched::Loop& loop : step.schedule.loops()) {
        for (std::size_t i = 0; i < loop.count; ++i) emit(step, loop.body, i, turn, e);
      }
    }
  });
  return whole;
}

std::optional<std::string> objection_to(const Steps& steps, const net::GroupView& view) {
  for (const Steps::Step& step : steps.all()) {
    if (step.algorithm.empty()) continue;
    if (step.algorithm == kNativePart) {
      const auto is_island = [](const Group& group) { return group.members.size() > 1; };
      if (std::none_of(step.groups.begin(), step.groups.end(), is_island))
        return "no island has two ranks that the library could serve";
      continue;
    }
    const Algorithm* algorithm = find(step.algorithm);
    if (algorithm == nullptr) return "there is no algorithm '" + step.algorithm + "'";
    for (const Group& group : step.groups) {
      if (algorithm->collective != group.problem.collective) {
        return "its part '" + step.algorithm + "' is no " + std::string(coll::name(group.problem.collective));
      }
      if (group.members.size() == 1) continue;
      if (const auto reason = algorithm->why_not(group.problem, view_of(view, group.members)))
        return "its part '" + step.algorithm + "': " + *reason;
    }
  }
  return std::nullopt;
}

}  // namespace eco::algo
