#include "eco/plan/closed_forecast.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace eco::plan {
namespace {

struct HostPair {
  int from;
  int to;
};

// One pair of hosts for each class that the group has.
std::vector<HostPair> classes(const net::GroupView& view) {
  std::vector<HostPair> pairs;
  std::vector<int> first_hosts;
  for (const net::SubnetView& subnet : view.subnets) {
    const int first = view.host_of(subnet.ranks.front());
    bool shares_host = false;
    int second = first;
    for (std::size_t i = 1; i < subnet.ranks.size(); ++i) {
      const int here = view.host_of(subnet.ranks[i]);
      shares_host |= here == view.host_of(subnet.ranks[i - 1]);
      if (second == first) second = here;
    }
    if (shares_host) pairs.push_back({first, first});
    if (second != first) pairs.push_back({first, second});
    for (const int other : first_hosts) {
      pairs.push_back({other, first});
      pairs.push_back({first, other});
    }
    first_hosts.push_back(first);
  }
  return pairs;
}

// What both kinds of parameters need: the formula for these ranks and segments, if there is one.
struct Question {
  model::Call call;
  const model::ClosedForm* form = nullptr;
  std::size_t message = 0;  // bytes of most of its messages
};

Question question_of(const algo::Recipe& recipe, const coll::CommonProblem& problem,
                     const net::GroupView& view, std::optional<std::size_t> eager_limit) {
  Question question{model::call_of(problem, recipe.params.segment_bytes), nullptr, 0};
  const bool is_binary = recipe.params.degree == 2;
  if (recipe.algorithm.ends_with("/kary") && !is_binary) return question;
  model::Call& call = question.call;
  if (coll::is_reduction(problem.collective)) call.combine_bytes_per_s = view.network->combine_bytes_per_s;
  question.form = model::form_of(recipe.algorithm, call, eager_limit);
  question.message = model::n_segments(call) > 1 ? call.segment_bytes : call.bytes;
  return question;
}

// The parameters that the predictor's law gives to messages of about this size: the gap is what the slowest resource or a
// processor needs, and all else of the message's time is latency.
model::PLogP by_rates(const net::Network& network, const HostPair& pair, std::size_t message) {
  double slowest = std::numeric_limits<double>::infinity();
  const net::Route route = network.route(pair.from, pair.to);
  for (const int r : route.resources) {
    slowest = std::min(slowest, network.resources[static_cast<std::size_t>(r)].bytes_per_s);
  }
  const double cpu_s = std::max(network.send_overhead_s, network.receive_overhead_s);
  constexpr std::size_t kLarge = std::size_t{1} << 30;
  const double large_s =
      network.wire_bytes(pair.from, pair.to, kLarge) * std::max(1 / slowest, route.receiving_s_per_byte);
  std::vector<model::Point> points{{0, cpu_s}};
  const auto knee = static_cast<std::size_t>(std::min(cpu_s / large_s, 0.5) * static_cast<double>(kLarge));
  if (knee > 0) points.push_back({knee, cpu_s});
  points.push_back({kLarge, std::max(large_s, cpu_s)});
  model::PLogP parameters;
  parameters.gap = model::Curve(std::move(points));
  parameters.send_overhead = model::Curve(std::vector<model::Point>{{0, network.send_overhead_s}});
  parameters.receive_overhead = model::Curve(std::vector<model::Point>{{0, network.receive_overhead_s}});
  parameters.latency_s = network.message_s(pair.from, pair.to, message) - parameters.gap(message);
  return parameters;
}

}  // namespace

std::optional<ClosedForecast> closed_forecast(const algo::Recipe& recipe, const coll::CommonProblem& problem,
                                              const net::GroupView& view) {
  const std::size_t message = question_of(recipe, problem, view, std::nullopt).message;
  ClosedForecast closed;
  const auto alone_s = [&](const net::ClassPLogP& pairs) {
    return pairs.parameters.gap(message) + pairs.parameters.latency_s;
  };
  for (const HostPair& pair : classes(view)) {
    const net::ClassPLogP* measured = view.network->plogp_between(pair.from, pair.to);
    if (measured == nullptr) return std::nullopt;
    if (closed.pairs == nullptr || alone_s(*measured) > alone_s(*closed.pairs)) closed.pairs = measured;
  }
  if (closed.pairs == nullptr) return std::nullopt;  // one rank

  Question question = question_of(recipe, problem, view, closed.pairs->eager_limit);
  closed.form = question.form;
  if (closed.form == nullptr) return std::nullopt;
  if (problem.collective == coll::Collective::alltoall) {
    if (!closed.pairs->gamma) return std::nullopt;
    question.call.gamma = *closed.pairs->gamma;
  }
  closed.seconds = model::seconds(*closed.form, closed.pairs->parameters, question.call);
  return closed;
}

std::optional<ClosedRange> closed_by_rates(const algo::Recipe& recipe, const coll::CommonProblem& problem,
                                           const net::GroupView& view) {
  Question question = question_of(recipe, problem, view, std::nullopt);
  if (question.form == nullptr) return std::nullopt;
  question.call.gamma = 1;
  std::optional<ClosedRange> range;
  for (const HostPair& pair : classes(view)) {
    const double seconds =
        model::seconds(*question.form, by_rates(*view.network, pair, question.message), question.call);
    if (!range) range = ClosedRange{seconds, seconds, question.form};
    range->least_s = std::min(range->least_s, seconds);
    range->most_s = std::max(range->most_s, seconds);
  }
  return range;
}

std::optional<ClosedRange> contradiction(const Candidate& candidate, const coll::CommonProblem& problem,
                                         const net::GroupView& view) {
  if (!candidate.why_not.empty() || candidate.forecast.given_up) return std::nullopt;
  const auto closed = closed_by_rates(candidate.recipe, problem, view);
  if (!closed) return std::nullopt;
  const double seconds = candidate.forecast.seconds;
  const bool agrees = seconds * kClosedFactor >= closed->least_s && seconds <= kClosedFactor * closed->most_s;
  return agrees ? std::nullopt : closed;
}

}  // namespace eco::plan
