// eco-rank time: the recipes of a list, each beside the native collective, timed as the planner times its candidates but
// none left out: what predictions are held against.
//
//   eco-rank time --network network.json --trials trials.json --out times.json [--rounds 2] [--max-seconds 1]
//                 [--stop-after S]
//
// trials.json: {"schema": "eco.rank.trials", "version": 1,
//               "trials": [{"collective": "broadcast", "bytes": 1024, "root": 0, "recipes": ["broadcast/chain ..."]}]}
//
// A trial may say how often it runs, whatever that takes: "repetitions": {"rounds": 3, "in_turn": 1, "wakes": false}.
// No trial is begun later than S seconds after the first: times.json then holds those that were, in their order.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/runtime/trials.h"
#include "preload/rank/arguments.h"
#include "preload/rank/stage.h"

namespace eco::rank {
namespace {

using nlohmann::json;

struct Wanted {
  runtime::Trial trial;
  std::optional<runtime::Repetitions> repetitions;  // nothing: as many as the limits allow
};

std::optional<runtime::Repetitions> repetitions_of(const json& entry) {
  if (!entry.contains("repetitions")) return std::nullopt;
  const json& wanted = entry.at("repetitions");
  return runtime::Repetitions{wanted.at("rounds").get<int>(), wanted.at("in_turn").get<int>(),
                              wanted.at("wakes").get<bool>()};
}

// Rank 0's.
std::vector<Wanted> read_trials(const std::string& path, int n_ranks) {
  std::vector<Wanted> trials;
  try {
    const json list =
        base::parse_document(base::read_text(path), "trials file " + path, "eco.rank.trials", 1);
    for (const json& entry : list.at("trials")) {
      runtime::Trial trial;
      trial.keeps_all = true;
      trial.calls_in_a_row = 0;
      trial.problem = problem_of(entry.at("collective").get<std::string>(),
                                 entry.at("bytes").get<std::size_t>(), entry.at("root").get<int>(), n_ranks);
      trial.candidates.emplace_back();
      for (const json& recipe : entry.at("recipes"))
        trial.candidates.emplace_back(algo::parse_recipe(recipe.get<std::string>()));
      trials.push_back({std::move(trial), repetitions_of(entry)});
    }
  } catch (const json::exception& error) {
    throw InvalidArgument("eco-rank time: " + path + " is no list of trials: " + error.what());
  }
  return trials;
}

// Of all ranks; none of a recipe that does not fit.
std::size_t count_operations(const algo::Recipe& recipe, const coll::CommonProblem& problem,
                             const net::GroupView& view) {
  if (algo::why_not(recipe, problem, view)) return 0;
  std::size_t n = 0;
  for (const sched::Schedule& schedule : algo::build_all(recipe, problem, view))
    n += sched::count_operations(schedule);
  return n;
}

json json_of(const runtime::Trial& trial, const runtime::TrialResult& result, double took_s,
             const net::GroupView& view) {
  json recipes = json::array();
  for (std::size_t c = 1; c < trial.candidates.size(); ++c)
    recipes.push_back({{"recipe", trial.candidates[c]->text()},
                       {"seconds", result.seconds[c]},
                       {"operations", count_operations(*trial.candidates[c], trial.problem, view)}});
  return {{"collective", coll::name(trial.problem.collective)},
          {"bytes", trial.problem.bytes},
          {"root", trial.problem.root},
          {"took_s", took_s},
          {"native", result.seconds[0]},
          {"recipes", std::move(recipes)}};
}

}  // namespace

int time(int argc, char** argv) {
  const Arguments arguments(argc, argv,
                            {"--network", "--trials", "--out", "--rounds", "--max-seconds", "--stop-after"},
                            {"--progress"});
  const std::string out = arguments.text("--out");
  const int most_rounds = static_cast<int>(arguments.number("--rounds", 2, 1, 1000));
  const double most_s = arguments.number("--max-seconds", 1, 0, 86400);
  const double stop_after_s = arguments.number("--stop-after", 1e9, 0, 1e9);
  Stage stage(options_of_environment());
  Rehearsal rehearsal(stage, arguments.text("--network"));
  runtime::Trials& trials = rehearsal.trials;
  if (stage.rank() != 0) {
    trials.follow();
    return 0;
  }
  Progress progress;
  json done = json::array();
  const std::vector<Wanted> wanted = read_trials(arguments.text("--trials"), stage.n_ranks());
  const auto seconds = [] { return static_cast<double>(runtime::now_ns()) * 1e-9; };
  const double start_s = seconds();
  for (const auto& [trial, repetitions] : wanted) {
    const double began_s = seconds();
    if (began_s - start_s > stop_after_s) break;
    if (arguments.has("--progress")) {
      progress(std::string(coll::name(trial.problem.collective)),
               static_cast<double>(done.size()) / static_cast<double>(wanted.size()));
    }
    const runtime::TrialResult result =
        trials.order(trial, [&](const runtime::Cost& cost) -> runtime::Repetitions {
          if (repetitions) return *repetitions;
          const int in_turn = cost.run_s * 3 < most_s ? 2 : 1;
          const double rounds = most_s / std::max(cost.wake_s + in_turn * cost.run_s, 1e-9);
          return {std::clamp(static_cast<int>(rounds), 1, most_rounds), in_turn};
        });
    done.push_back(json_of(trial, result, seconds() - began_s, rehearsal.view));
  }
  trials.end();
  const json file = {{"schema", "eco.rank.times"},
                     {"version", 1},
                     {"ranks", stage.n_ranks()},
                     {"library", transport::mpi::library_name()},
                     {"trials", std::move(done)}};
  write_file(out, base::to_text(file));
  return 0;
}

}  // namespace eco::rank
