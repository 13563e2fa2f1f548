#include "eco/plan/forecast.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/base/errors.h"
#include "eco/plan/large_group.h"

namespace eco::plan {
namespace {

using coll::CommonProblem;
using sched::Schedule;

// What all ranks do together: counted over short loops, over long ones taken from their first iteration.
struct Counts {
  std::size_t operations = 0;
  std::size_t crossings = 0;        // messages from one subnet to another
  std::size_t most_operations = 0;  // of one rank
};

constexpr std::size_t kShortLoop = 16;

Counts count(const std::vector<Schedule>& schedules, const net::GroupView& view) {
  Counts counts;
  std::vector<sched::Op> ops;
  for (const Schedule& schedule : schedules) {
    std::size_t of_rank = 0;
    const auto subnet_of = [&](int rank) { return view.subnet_of_rank[static_cast<std::size_t>(rank)]; };
    for (const sched::Loop& loop : schedule.loops()) {
      const std::size_t walked = loop.count <= kShortLoop ? loop.count : 1;
      for (std::size_t i = 0; i < walked; ++i) {
        ops.clear();
        sched::Emitter emitter(ops);
        loop.body(i, emitter);
        const auto crosses = [&](const sched::Op& op) {
          return op.kind == sched::OpKind::send && subnet_of(op.peer) != subnet_of(schedule.rank());
        };
        const std::size_t times = loop.count / walked;
        of_rank += times * ops.size();
        counts.crossings += times * static_cast<std::size_t>(std::count_if(ops.begin(), ops.end(), crosses));
      }
    }
    counts.operations += of_rank;
    counts.most_operations = std::max(counts.most_operations, of_rank);
  }
  return counts;
}

CommonProblem with_bytes(CommonProblem problem, std::size_t bytes) {
  problem.bytes = coll::whole_bytes(problem, bytes);
  return problem;
}

Forecast run(const std::vector<Schedule>& schedules, const net::GroupView& view, const ForecastOptions& how) {
  sim::PredictOptions options;
  options.window_capacity = how.window_capacity;
  options.eager_bytes = view.network->eager_bytes();
  options.stop_after_s = how.stop_after_s;
  options.sharing = how.sharing;
  const sim::Prediction prediction = sim::predict(view, schedules, options);
  Forecast result;
  result.seconds = prediction.seconds;
  result.given_up = !prediction.finished;
  result.terms = prediction.terms;
  result.n_messages = static_cast<double>(prediction.n_messages + prediction.n_answers);
  for (std::size_t r = 0; r < prediction.resource_busy_s.size(); ++r) {
    const net::ResourceKind kind = view.network->resources[r].kind;
    if (kind == net::ResourceKind::host_transmit || kind == net::ResourceKind::host_receive)
      result.busiest_host_s = std::max(result.busiest_host_s, prediction.resource_busy_s[r]);
  }
  for (const net::SubnetView& subnet : view.subnets) {
    double& end_s = result.subnet_end_s.emplace_back(0.0);
    for (const int rank : subnet.ranks)
      end_s = std::max(end_s, prediction.rank_end_s[static_cast<std::size_t>(rank)]);
  }
  if (prediction.binding >= 0) {
    result.busiest = view.network->resources[static_cast<std::size_t>(prediction.binding)].name;
    result.busiest_s = prediction.resource_busy_s[static_cast<std::size_t>(prediction.binding)];
  }
  return result;
}

// The straight line through `shorter` (at x0) and `longer` (at x1), at x.
Forecast continued(const Forecast& shorter, double x0, const Forecast& longer, double x1, double x) {
  const double t = (x - x1) / (x1 - x0);
  const auto line = [t](double a, double b) { return std::max(b, b + t * (b - a)); };
  Forecast result = longer;
  result.extrapolated = true;
  result.busiest_s = line(shorter.busiest_s, longer.busiest_s);
  result.busiest_host_s = line(shorter.busiest_host_s, longer.busiest_host_s);
  // Shorter messages may wait for latencies where longer ones wait for a link: that much it carries at least.
  result.seconds = std::max(line(shorter.seconds, longer.seconds), result.busiest_s);
  result.terms.latency_s = line(shorter.terms.latency_s, longer.terms.latency_s);
  result.terms.overhead_s = line(shorter.terms.overhead_s, longer.terms.overhead_s);
  result.terms.combine_s = line(shorter.terms.combine_s, longer.terms.combine_s);
  result.terms.transfer_s =
      result.seconds - result.terms.latency_s - result.terms.overhead_s - result.terms.combine_s;
  result.n_messages = line(shorter.n_messages, longer.n_messages);
  for (std::size_t s = 0; s < longer.subnet_end_s.size(); ++s)
    result.subnet_end_s[s] = line(shorter.subnet_end_s[s], longer.subnet_end_s[s]);
  return result;
}

Forecast forecast_of(const algo::Recipe& recipe, const CommonProblem& problem, const net::GroupView& view,
                     const ForecastOptions& options, const std::vector<Schedule>& schedules,
                     std::size_t n_operations) {
  const std::size_t segment = recipe.params.segment_bytes;
  if (n_operations <= options.most_operations || segment == 0) return run(schedules, view, options);

  // Multiples of the ranks' number keep every owner's share whole.
  const std::size_t turn = segment * static_cast<std::size_t>(problem.n_ranks);
  const double share = static_cast<double>(options.most_operations) / static_cast<double>(n_operations);
  const auto turns =
      static_cast<std::size_t>(share * static_cast<double>(problem.bytes) / static_cast<double>(turn));
  const std::size_t longer = std::max<std::size_t>(turns, 2) * turn;
  const std::size_t shorter = std::max<std::size_t>(turns / 2, 1) * turn;
  if (longer >= problem.bytes) return run(schedules, view, options);
  const auto at = [&](std::size_t bytes) {
    return run(algo::build_all(recipe, with_bytes(problem, bytes), view), view, options);
  };
  const Forecast second = at(longer);
  if (second.given_up) return second;
  return continued(at(shorter), static_cast<double>(shorter), second, static_cast<double>(longer),
                   static_cast<double>(problem.bytes));
}

}  // namespace

Forecast forecast(const algo::Recipe& asked, const CommonProblem& problem, const net::GroupView& view,
                  const ForecastOptions& options) {
  if (is_by_estimate_alone(problem, view)) {
    const auto estimated = LargeGroup(problem, view, options).estimate(asked);
    if (!estimated)
      throw InvalidArgument("a group of fewer ranks can't have it, and this one is too large to be walked");
    return *estimated;
  }
  return walked_forecast(asked, problem, view, options);
}

Forecast walked_forecast(const algo::Recipe& asked, const CommonProblem& problem, const net::GroupView& view,
                         const ForecastOptions& options) {
  const algo::Recipe recipe = algo::stand_in(asked);
  const std::vector<Schedule> schedules = algo::build_all(recipe, problem, view);
  const Counts counts = count(schedules, view);
  Forecast result = forecast_of(recipe, problem, view, options, schedules, counts.operations);
  result.n_crossings = static_cast<double>(counts.crossings);
  result.n_operations = static_cast<double>(counts.operations);
  result.most_operations = static_cast<double>(counts.most_operations);
  result.guesses_native = !(recipe == asked);
  return result;
}

Candidate candidate_of(const algo::Recipe& recipe, const CommonProblem& problem, const net::GroupView& view,
                       const ForecastOptions& options) {
  Candidate candidate{recipe, {}, {}};
  try {
    candidate.forecast = forecast(recipe, problem, view, options);
  } catch (const InvalidArgument& error) {
    candidate.why_not = error.what();
  }
  return candidate;
}

}  // namespace eco::plan
