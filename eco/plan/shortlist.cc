#include "eco/plan/shortlist.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "eco/plan/proving.h"
#include "eco/plan/ranking.h"

namespace eco::plan {
namespace {

using coll::CommonProblem;
using net::GroupView;

// Predictions closer than this are equal: then fewer messages win, since CPU time is what a prediction knows least. (Fewer
// connections instead cost as much over what was within 2 % in bench/results/validate-*.json: 2.8 % above the best of these
// on three-subnets, where messages cost 2.2 %, and 1.9 % on one-switch, where messages cost 1.9 %.)
constexpr double kEqual = 1.02;
// Of the equally fast so many are also predicted with messages that divide links evenly (sim::Sharing::fair), as those of
// many connections do, and slower ones of these are not preferred. By itself that law is the worse one (docs/models.md);
// between equals it took the mean regret of the choice on two-sites from 8.0 to 2.1 % where it was found, and is at 0.1 %
// on sizes that it was not found on.
constexpr std::size_t kAlsoFair = 12;
// Of a problem that is one packet at most, where latency is all, times closer than this count as equal, predicted or
// measured, if fewer messages cross between subnets: there others' traffic is, and delay that varies.
constexpr double kEqualShort = 1.05;
// A recipe that differs in its send window only is measured too if it is predicted within this: what a window is for,
// queues that overflow, is not in the predictor.
constexpr double kWindowPrice = 1.10;

// Messages between subnets first where they are what a problem takes, all messages elsewhere.
std::pair<double, double> traffic(const Forecast& forecast, bool one_packet) {
  return one_packet ? std::pair(forecast.n_crossings, forecast.n_messages)
                    : std::pair(forecast.n_messages, forecast.n_crossings);
}

// Those of the pool, which is cheapest first, that are as fast as its first under both laws of sharing.
std::vector<const Candidate*> fastest(const std::vector<const Candidate*>& pool, const CommonProblem& problem,
                                      const GroupView& view) {
  std::vector<std::pair<double, const Candidate*>> equals;
  for (const Candidate* candidate : pool) {
    if (equals.size() == kAlsoFair || candidate->forecast.seconds > kEqual * pool.front()->forecast.seconds)
      break;
    equals.emplace_back(0, candidate);
  }
  if (equals.size() > 1) {
    for (auto& [fair_s, candidate] : equals) {
      const Candidate fair = candidate_of(candidate->recipe, problem, view, {.sharing = sim::Sharing::fair});
      fair_s = fair.why_not.empty() ? fair.forecast.seconds : std::numeric_limits<double>::infinity();
    }
  }
  // A window leaves nothing to divide, so that the law always likes it: whether it is needed is measured.
  double limit_s = std::numeric_limits<double>::infinity();
  for (const auto& [fair_s, candidate] : equals) {
    if (candidate->recipe.params.window == 0) limit_s = std::min(limit_s, kEqual * fair_s);
  }
  std::vector<const Candidate*> best;
  for (const auto& [fair_s, candidate] : equals) {
    if (fair_s <= limit_s) best.push_back(candidate);
  }
  return best;
}

}  // namespace

bool is_one_packet(const CommonProblem& problem, const GroupView& view) {
  return static_cast<double>(problem.bytes) <= view.network->packet_bytes;
}

std::size_t lightest_of_equals(const std::vector<Timed>& timed, bool one_packet) {
  const auto fastest = std::min_element(timed.begin(), timed.end(),
                                        [](const Timed& a, const Timed& b) { return a.seconds < b.seconds; });
  const auto is_equal = [&](const Timed& one) {
    const bool spares = one_packet && one.forecast->n_crossings < fastest->forecast->n_crossings;
    return one.seconds <= (spares ? kEqualShort : kEqual) * fastest->seconds;
  };
  const auto weight = [&](const Timed& one) {
    return std::tuple(!is_equal(one), traffic(*one.forecast, one_packet), one.seconds);
  };
  const auto lightest = std::min_element(
      timed.begin(), timed.end(), [&](const Timed& a, const Timed& b) { return weight(a) < weight(b); });
  return static_cast<std::size_t>(lightest - timed.begin());
}

std::vector<const Candidate*> shortlist(const std::vector<Candidate>& ranked, std::size_t how_many,
                                        const CommonProblem& problem, const GroupView& view) {
  std::vector<const Candidate*> pool;  // cheapest first
  for (const Candidate& candidate : ranked) {
    if (!candidate.why_not.empty() || candidate.forecast.given_up) continue;
    if (!pool.empty() && candidate.forecast.seconds > kHopeless * pool.front()->forecast.seconds) break;
    pool.push_back(&candidate);
  }
  std::vector<const Candidate*> chosen;
  const auto take = [&](const Candidate* candidate) {
    if (chosen.size() < how_many && !prove(candidate->recipe, problem, view)) chosen.push_back(candidate);
    std::erase(pool, candidate);
  };

  // The leader: of the equally fast, the one of least traffic. One that the verifier refuses makes room. Messages of one
  // packet have nothing to share.
  const bool one_packet = is_one_packet(problem, view);
  while (!pool.empty() && chosen.empty()) {
    std::vector<Timed> timed;
    const std::vector<const Candidate*> best = one_packet ? pool : fastest(pool, problem, view);
    for (const Candidate* candidate : best)
      timed.push_back({candidate->forecast.seconds, &candidate->forecast});
    take(best[lightest_of_equals(timed, one_packet)]);
  }
  if (chosen.empty()) return chosen;
  const Candidate* leader = chosen.front();
  for (const Candidate* other : std::vector<const Candidate*>(pool)) {
    if (differs_in_window_only(leader->recipe, other->recipe) &&
        other->forecast.seconds <= kWindowPrice * leader->forecast.seconds) {
      take(other);
      break;
    }
  }
  // Others of another algorithm first: what a prediction is wrong about, it is wrong about for all sizes of segments. So
  // it is with native parts, which are guessed.
  const auto is_new = [&](const Candidate* candidate) {
    return std::none_of(chosen.begin(), chosen.end(), [&](const Candidate* other) {
      return other->recipe.algorithm == candidate->recipe.algorithm &&
             other->forecast.guesses_native == candidate->forecast.guesses_native;
    });
  };
  for (const Candidate* candidate : std::vector<const Candidate*>(pool)) {
    if (is_new(candidate)) take(candidate);
  }
  while (!pool.empty() && chosen.size() < how_many) take(pool.front());
  return chosen;
}

}  // namespace eco::plan
