// How long planning takes without measuring: predicting the candidates of one problem, and proving the one that leads,
// for every collective at three sizes on groups of 8, 64, 256 ranks in four subnets.
//
//   cmake --preset release && cmake --build --preset release --target bench-plan && build/release/bench-plan
//   build/release/bench-plan 256 allreduce        only so many ranks, only this collective
//   build/release/bench-plan 16384 "" 3000        forecasts of so many operations, as a plan made in a job has them
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/net/synthetic.h"
#include "eco/plan/planner.h"
#include "eco/plan/proving.h"
#include "eco/plan/ranking.h"

namespace {

using eco::coll::Collective;
using eco::coll::CommonProblem;
using eco::plan::Candidate;

// Four subnets, one rank a host. Without the times of pairs, of which there are millions: ranks do not need them.
eco::net::GroupView view_of(int n_ranks) {
  eco::net::Network network = eco::net::synthetic_network(
      "hosts=2+2+2+2 rate_mbit=1000 uplink_mbit=1000 latency_us=20 between_us=60 overhead_us=2");
  network.pairs.clear();
  network.sizes.clear();
  network.hosts.clear();
  for (eco::net::Subnet& subnet : network.subnets) {
    subnet.hosts.clear();
    for (int i = 0; i < n_ranks / 4; ++i) {
      const std::string number = std::to_string(network.n_hosts());
      subnet.hosts.push_back(network.n_hosts());
      network.hosts.push_back({"host" + number, "10.0.0." + number, "synthetic", "synthetic"});
    }
  }
  network.finish();
  std::vector<int> host_of_rank(static_cast<std::size_t>(network.n_hosts()));
  std::iota(host_of_rank.begin(), host_of_rank.end(), 0);
  return eco::net::make_view(std::make_shared<eco::net::Network>(std::move(network)),
                             std::move(host_of_rank));
}

double peak_megabytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

double now_s() {
  const std::chrono::duration<double> t = std::chrono::steady_clock::now().time_since_epoch();
  return t.count();
}

void time_one(Collective collective, std::size_t bytes, const eco::net::GroupView& view,
              const eco::plan::ForecastOptions& options) {
  CommonProblem problem{.collective = collective, .n_ranks = view.n_ranks()};
  if (collective != Collective::barrier) {
    if (eco::coll::is_reduction(collective)) problem.element_bytes = 8;
    problem.bytes = eco::coll::whole_bytes(problem, bytes);
  }
  const double start_s = now_s();
  const auto ranked = eco::plan::rank_candidates(problem, view, options, true);
  const double ranked_s = now_s();
  const Candidate& best = ranked.front();
  if (!best.why_not.empty()) return;
  const auto fault = eco::plan::prove(best.recipe, problem, view);
  const double proved_s = now_s();
  const auto own = eco::algo::find(best.recipe.algorithm)->build(problem, view, best.recipe.params, 0);
  const double built_s = now_s();
  std::size_t n_predicted = 0;
  for (const Candidate& one : ranked) n_predicted += one.why_not.empty() && !one.forecast.given_up;
  std::printf(
      "%-15s %8zu B %5d ranks %4zu candidates %4zu predicted  ranked in %8.3f s, %s in %8.3f s, one rank's "
      "schedule in %.6f s  %.9f s %s\n",
      std::string(eco::coll::name(collective)).c_str(), problem.bytes, view.n_ranks(), ranked.size(),
      n_predicted, ranked_s - start_s, fault ? "refused" : "proved", proved_s - ranked_s, built_s - proved_s,
      best.forecast.seconds, best.recipe.text().c_str());
  if (fault) std::printf("  %s\n", fault->c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int only_ranks = argc > 1 ? std::atoi(argv[1]) : 0;
  const std::string_view only = argc > 2 ? argv[2] : "";
  eco::plan::ForecastOptions options = eco::plan::PlannerOptions().forecast;
  if (argc > 3) options.most_operations = static_cast<std::size_t>(std::atoi(argv[3]));
  const std::vector<int> numbers = only_ranks > 0 ? std::vector{only_ranks} : std::vector{8, 64, 256};
  for (const int n_ranks : numbers) {
    const double before_mb = peak_megabytes();
    const double start_s = now_s();
    const eco::net::GroupView view = view_of(n_ranks);
    std::printf("%d ranks: network and view in %.6f s, %.1f MB\n", n_ranks, now_s() - start_s,
                peak_megabytes() - before_mb);
    for (const Collective collective : eco::coll::all_collectives()) {
      if (!only.empty() && eco::coll::name(collective) != only) continue;
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{16384}, std::size_t{1} << 20}) {
        time_one(collective, bytes, view, options);
        if (collective == Collective::barrier) break;
      }
    }
  }
  std::printf("at most %.1f MB in all\n", peak_megabytes());
  return 0;
}
