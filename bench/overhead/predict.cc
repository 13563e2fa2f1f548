// How fast the predictor is: nanoseconds per schedule operation on one core, over long pipelines, rings and all-to-all
// exchanges of 8, 64 and 256 ranks in four subnets.
//
//   cmake --preset release && cmake --build --preset release --target bench-predict && build/release/bench-predict
//   build/release/bench-predict alltoall          only recipes whose text has this in it
//   build/release/bench-predict --json            bench/overhead/run.py makes a table of it
//
// Each row is predicted three times and the fastest counts: what is above it is the machine's other work. Building the
// schedules is not in it, expanding their loops is. The predicted seconds are printed to the last digit, so that two
// versions can be compared.
#include "eco/sim/predict.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/net/synthetic.h"

namespace {

using eco::algo::Recipe;
using eco::coll::Collective;
using eco::coll::CommonProblem;

struct Case {
  Collective collective;
  const char* recipe;
  std::size_t bytes_of_8;  // the problem's size for 8, 64 and 256 ranks
  std::size_t bytes_of_64;
  std::size_t bytes_of_256;
};

constexpr std::size_t kKi = 1024;
constexpr std::size_t kMi = kKi * kKi;

const Case kCases[] = {
    {Collective::broadcast, "broadcast/chain segment=1392", 100 * kMi, 11 * kMi, 5 * kMi / 2},
    {Collective::broadcast, "broadcast/chain segment=1392 window=4", 100 * kMi, 11 * kMi, 5 * kMi / 2},
    {Collective::broadcast, "broadcast/subnets segment=1392 inside=binomial", 100 * kMi, 11 * kMi,
     5 * kMi / 2},
    {Collective::allreduce, "allreduce/ring segment=1392", 40 * kMi, 4 * kMi, kMi / 2},
    {Collective::allreduce, "allreduce/subnets segment=1392 window=2", 40 * kMi, 4 * kMi, kMi / 2},
    {Collective::allgather, "allgather/subnets segment=1392", 40 * kMi, 4 * kMi, kMi},
    {Collective::alltoall, "alltoall/flat segment=1392", 100 * kMi, 8 * kMi, 4 * kMi},
    {Collective::alltoall, "alltoall/subnets segment=1392 window=2", 100 * kMi, 8 * kMi, 4 * kMi},
};

eco::net::GroupView view_of(int n_ranks) {
  const std::string quarter = std::to_string(n_ranks / 4);
  auto network = std::make_shared<eco::net::Network>(eco::net::synthetic_network(
      "hosts=" + quarter + "+" + quarter + "+" + quarter + "+" + quarter +
      " rate_mbit=1000 uplink_mbit=1000 latency_us=20 between_us=60 overhead_us=2"));
  std::vector<int> host_of_rank;
  for (int rank = 0; rank < n_ranks; ++rank) host_of_rank.push_back(rank);
  return eco::net::make_view(std::move(network), std::move(host_of_rank));
}

nlohmann::ordered_json time_one(const Recipe& recipe, CommonProblem problem, std::size_t bytes,
                                const eco::net::GroupView& view) {
  problem.n_ranks = view.n_ranks();
  problem.element_bytes = eco::coll::is_reduction(problem.collective) ? 8 : 1;
  problem.bytes = eco::coll::whole_bytes(problem, bytes);
  const auto schedules = eco::algo::build_all(recipe, problem, view);
  constexpr int kRuns = 3;
  double best_s = 1e9;
  eco::sim::Prediction prediction;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    prediction = eco::sim::predict(view, schedules);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best_s = std::min(best_s, took.count());
  }
  const auto operations = static_cast<double>(prediction.n_operations);
  return {{"recipe", recipe.text()},
          {"ranks", view.n_ranks()},
          {"operations", prediction.n_operations},
          {"ns", best_s / operations * 1e9},
          {"predicted_s", prediction.seconds}};
}

void print(const nlohmann::ordered_json& row) {
  const double ns = row["ns"].get<double>();
  std::printf("%-52s %4d ranks %9llu operations %7.0f ns each %6.2f M/s  predicted %.17g s\n",
              row["recipe"].get<std::string>().c_str(), row["ranks"].get<int>(),
              row["operations"].get<unsigned long long>(), ns, 1e3 / ns, row["predicted_s"].get<double>());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "";
  const bool as_json = word == "--json";
  const std::string wanted = as_json ? "" : word;
  auto rows = nlohmann::ordered_json::array();
  for (const int n_ranks : {8, 64, 256}) {
    const eco::net::GroupView view = view_of(n_ranks);
    for (const Case& one : kCases) {
      if (std::string(one.recipe).find(wanted) == std::string::npos) continue;
      const std::size_t bytes = n_ranks == 8    ? one.bytes_of_8
                                : n_ranks == 64 ? one.bytes_of_64
                                                : one.bytes_of_256;
      rows.push_back(
          time_one(eco::algo::parse_recipe(one.recipe), {.collective = one.collective}, bytes, view));
      if (!as_json) print(rows.back());
    }
  }
  if (as_json) std::printf("%s\n", rows.dump(1).c_str());
  return 0;
}
