// How long planning takes without measuring: predicting the candidates of one problem, and proving the one that leads,
// for every collective at three sizes on groups of 8, 64, 256 ranks in four subnets.
//
//   cmake --preset release && cmake --build --preset release --target bench-plan && build/release/bench-plan
//   build/release/bench-plan 256 allreduce        only so many ranks, only this collective
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "eco/net/synthetic.h"
#include "eco/plan/planner.h"
#include "eco/plan/proving.h"
#include "eco/plan/ranking.h"

namespace {

using eco::coll::Collective;
using eco::coll::CommonProblem;
using eco::plan::Candidate;

eco::net::GroupView view_of(int n_ranks) {
  const std::string quarter = std::to_string(n_ranks / 4);
  auto network = std::make_shared<eco::net::Network>(eco::net::synthetic_network(
      "hosts=" + quarter + "+" + quarter + "+" + quarter + "+" + quarter +
      " rate_mbit=1000 uplink_mbit=1000 latency_us=20 between_us=60 overhead_us=2"));
  std::vector<int> host_of_rank(static_cast<std::size_t>(n_ranks));
  std::iota(host_of_rank.begin(), host_of_rank.end(), 0);
  return eco::net::make_view(std::move(network), std::move(host_of_rank));
}

double now_s() {
  const std::chrono::duration<double> t = std::chrono::steady_clock::now().time_since_epoch();
  return t.count();
}

void time_one(Collective collective, std::size_t bytes, const eco::net::GroupView& view) {
  CommonProblem problem{.collective = collective, .n_ranks = view.n_ranks()};
  if (collective != Collective::barrier) {
    if (eco::coll::is_reduction(collective)) problem.element_bytes = 8;
    problem.bytes = eco::coll::whole_bytes(problem, bytes);
  }
  const double start_s = now_s();
  const auto ranked = eco::plan::rank_candidates(problem, view, eco::plan::PlannerOptions().forecast, true);
  const double ranked_s = now_s();
  const Candidate& best = ranked.front();
  if (!best.why_not.empty()) return;
  const bool proved = !eco::plan::prove(best.recipe, problem, view);
  const double proved_s = now_s();
  std::size_t n_predicted = 0;
  for (const Candidate& one : ranked) n_predicted += one.why_not.empty() && !one.forecast.given_up;
  std::printf(
      "%-15s %8zu B %5d ranks %4zu candidates %4zu predicted  ranked in %8.3f s, %s in %8.3f s  %.9f s %s\n",
      std::string(eco::coll::name(collective)).c_str(), problem.bytes, view.n_ranks(), ranked.size(),
      n_predicted, ranked_s - start_s, proved ? "proved" : "refused", proved_s - ranked_s,
      best.forecast.seconds, best.recipe.text().c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int only_ranks = argc > 1 ? std::atoi(argv[1]) : 0;
  const std::string_view only = argc > 2 ? argv[2] : "";
  const std::vector<int> numbers = only_ranks > 0 ? std::vector{only_ranks} : std::vector{8, 64, 256};
  for (const int n_ranks : numbers) {
    const eco::net::GroupView view = view_of(n_ranks);
    for (const Collective collective : eco::coll::all_collectives()) {
      if (!only.empty() && eco::coll::name(collective) != only) continue;
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{16384}, std::size_t{1} << 20}) {
        time_one(collective, bytes, view);
        if (collective == Collective::barrier) break;
      }
    }
  }
  return 0;
}
