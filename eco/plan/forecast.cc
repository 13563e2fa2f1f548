#include "eco/plan/forecast.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/base/errors.h"
#include "eco/exec/executor.h"
#include "eco/sched/verify.h"

namespace eco::plan {
namespace {

using coll::CommonProblem;
using sched::Schedule;

// What all ranks do together: counted over short loops, over long ones taken from their first iteration.
struct Counts {
  std::size_t operations = 0;
  std::size_t crossings = 0;  // messages from one subnet to another
};

constexpr std::size_t kShortLoop = 16;

Counts count(const std::vector<Schedule>& schedules, const net::GroupView& view) {
  Counts counts;
  std::vector<sched::Op> ops;
  for (const Schedule& schedule : schedules) {
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
        counts.operations += times * ops.size();
        counts.crossings += times * static_cast<std::size_t>(std::count_if(ops.begin(), ops.end(), crosses));
      }
    }
  }
  return counts;
}

CommonProblem with_bytes(CommonProblem problem, std::size_t bytes) {
  problem.bytes = coll::whole_bytes(problem, bytes);
  return problem;
}

Forecast run(const std::vector<Schedule>& schedules, const net::GroupView& view, const ForecastOptions& how) {
  sim::PredictOptions options;
  options.window_capacity = exec::kWindowCapacity;
  options.eager_bytes = view.network->eager_bytes();
  options.stop_after_s = how.stop_after_s;
  options.sharing = how.sharing;
  const sim::Prediction prediction = sim::predict(view, schedules, options);
  Forecast result;
  result.seconds = prediction.seconds;
  result.given_up = !prediction.finished;
  result.terms = prediction.terms;
  result.n_messages = static_cast<double>(prediction.n_messages);
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
  result.seconds = line(shorter.seconds, longer.seconds);
  result.terms.latency_s = line(shorter.terms.latency_s, longer.terms.latency_s);
  result.terms.overhead_s = line(shorter.terms.overhead_s, longer.terms.overhead_s);
  result.terms.combine_s = line(shorter.terms.combine_s, longer.terms.combine_s);
  result.terms.transfer_s =
      result.seconds - result.terms.latency_s - result.terms.overhead_s - result.terms.combine_s;
  result.busiest_s = line(shorter.busiest_s, longer.busiest_s);
  result.n_messages = line(shorter.n_messages, longer.n_messages);
  return result;
}

// Enough for the Executor's window of every rank to be full, and for every slot of scratch memory to be used again
// (pipelines keep at most 256 KiB of segments per child), with a good rest; proving grows with it.
constexpr std::size_t kMostSegmentsProved = 600;

// As the problem, but with fewer segments or a rounder last one, so that the verifier's unit of memory is large.
CommonProblem to_prove(const algo::Recipe& recipe, const CommonProblem& problem) {
  const std::size_t segment = recipe.params.segment_bytes;
  const std::size_t even = std::max<std::size_t>(problem.element_bytes, 1) * 2;
  const std::size_t n_blocks =
      coll::is_blocked(problem.collective) ? static_cast<std::size_t>(problem.n_ranks) : 1;
  const std::size_t block = problem.bytes / n_blocks;  // what segments cut
  const std::size_t n_at_once = problem.neighbors ? problem.neighbors->largest_degree() : n_blocks;
  if (segment == 0 || segment % even != 0 || block <= segment) return problem;
  const std::size_t most = std::max<std::size_t>(kMostSegmentsProved / n_at_once, 2);
  const std::size_t whole = std::min(block / segment, most);
  const bool has_rest = block % segment != 0;
  CommonProblem proved = problem;
  // A composition may divide a segment into blocks of whole elements: large ones keep the unit large there too.
  const bool divides = !recipe.params.parts.empty() && n_blocks == 1;
  if (divides && whole >= static_cast<std::size_t>(problem.n_ranks)) proved.element_bytes = segment / 2;
  return with_bytes(proved, n_blocks * (whole * segment + (has_rest ? segment / 2 : 0)));
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
  const algo::Recipe recipe = algo::stand_in(asked);
  const std::vector<Schedule> schedules = algo::build_all(recipe, problem, view);
  const Counts counts = count(schedules, view);
  Forecast result = forecast_of(recipe, problem, view, options, schedules, counts.operations);
  result.n_crossings = static_cast<double>(counts.crossings);
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

std::optional<std::string> prove(const algo::Recipe& recipe, const CommonProblem& problem,
                                 const net::GroupView& view) {
  if (const auto reason = algo::why_not(recipe, problem, view)) return reason;
  const CommonProblem proved = to_prove(recipe, problem);
  const std::vector<Schedule> schedules = algo::build_all(recipe, proved, view);
  sched::VerifyOptions options;
  options.window_capacity = exec::kWindowCapacity;
  for (const bool in_place : {false, true}) {
    if (in_place && problem.collective != coll::Collective::allreduce) continue;
    options.input_is_output = in_place;
    if (const auto fault = sched::verify(proved, schedules, options)) {
      return "refused by the verifier at " + std::to_string(proved.bytes) + " bytes: " + fault->what;
    }
  }
  return std::nullopt;
}

}  // namespace eco::plan
