// Candidates, explanations and plan tables. Results that are lists of records are JSON text, which Python reads anyway.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>
#include <random>

#include "eco/algo/dice.h"
#include "eco/net/store.h"
#include "eco/plan/closed_forecast.h"
#include "eco/plan/explain.h"
#include "eco/plan/guidelines.h"
#include "eco/plan/plan_table.h"
#include "eco/plan/planner.h"
#include "eco/plan/proving.h"
#include "eco/plan/ranking.h"
#include "eco/plan/search.h"
#include "eco/plan/shortlist.h"
#include "eco/sim/predict.h"
#include "python/src/bindings.h"
#include "python/src/question.h"

namespace eco::python {
namespace {

using nlohmann::ordered_json;

void add_terms(ordered_json& record, const sim::Terms& terms) {
  record["transfer_s"] = terms.transfer_s;
  record["latency_s"] = terms.latency_s;
  record["overhead_s"] = terms.overhead_s;
  record["combine_s"] = terms.combine_s;
}

ordered_json describe(const plan::Candidate& candidate, const plan::Candidate& cheapest) {
  const plan::Forecast& forecast = candidate.forecast;
  const bool able = candidate.why_not.empty();
  ordered_json record;
  record["recipe"] = candidate.recipe.text();
  record["predicted_s"] = able ? ordered_json(forecast.seconds) : ordered_json(nullptr);
  add_terms(record, forecast.terms);
  record["busiest"] = forecast.busiest;
  record["busiest_s"] = forecast.busiest_s;
  record["messages"] = forecast.n_messages;
  record["extrapolated"] = forecast.extrapolated;
  record["given_up"] = forecast.given_up;
  record["guesses_native"] = forecast.guesses_native;
  record["why_not"] = able ? plan::why_it_lost(candidate, cheapest) : candidate.why_not;
  return record;
}

std::string describe(const std::vector<plan::Candidate>& candidates) {
  ordered_json records = ordered_json::array();
  for (const plan::Candidate& candidate : candidates)
    records.push_back(describe(candidate, candidates.front()));
  return records.dump();
}

std::string candidates(const std::string& network, const std::vector<int>& host_of_rank,
                       const std::string& collective, std::size_t bytes, int root, bool prune) {
  const Question question(network, host_of_rank, collective, bytes, root);
  const plan::ForecastOptions options = prune ? plan::PlannerOptions().forecast : plan::ForecastOptions();
  return describe(plan::rank_candidates(question.problem, question.view, options, prune));
}

std::optional<std::string> choice(const std::string& network, const std::vector<int>& host_of_rank,
                                  const std::string& collective, std::size_t bytes, int root) {
  const Question question(network, host_of_rank, collective, bytes, root);
  const auto ranked =
      plan::rank_candidates(question.problem, question.view, plan::PlannerOptions().forecast, true);
  const auto best = plan::shortlist(ranked, 1, question.problem, question.view);
  return best.empty() ? std::nullopt : std::optional(best.front()->recipe.text());
}

std::string search(const std::string& network, const std::vector<int>& host_of_rank,
                   const std::string& collective, std::size_t bytes, int root, std::size_t steps,
                   std::uint64_t seed) {
  const Question question(network, host_of_rank, collective, bytes, root);
  plan::SearchOptions options;
  options.most_steps = steps;
  options.seed = seed;
  const auto fixed = plan::rank_candidates(question.problem, question.view, options.forecast, true);
  return describe(plan::search(question.problem, question.view, fixed, options).found);
}

// More messages than anybody can tell apart in a drawing.
constexpr std::uint64_t kMostDrawn = 20'000;

std::string timeline(const std::string& network, const std::vector<int>& host_of_rank,
                     const std::string& recipe, const std::string& collective, std::size_t bytes, int root) {
  const Question question(network, host_of_rank, collective, bytes, root);
  sim::PredictOptions options;
  options.keep_intervals = true;
  options.keep_operations = true;
  options.eager_bytes = question.view.network->eager_bytes();
  const sim::Prediction prediction = sim::predict(question.view, build_to_predict(question, recipe), options);
  if (prediction.n_messages > kMostDrawn) {
    throw InvalidArgument("a schedule of " + std::to_string(prediction.n_messages) +
                          " messages is too much to draw (at most " + std::to_string(kMostDrawn) +
                          "); ask about fewer bytes");
  }
  ordered_json record;
  record["recipe"] = recipe;
  record["seconds"] = prediction.seconds;
  add_terms(record, prediction.terms);
  record["operations"] = prediction.n_operations;
  record["messages"] = prediction.n_messages;
  record["ranks"] = ordered_json::array();
  for (std::size_t r = 0; r < prediction.rank_end_s.size(); ++r) {
    ordered_json operations = ordered_json::array();
    for (const sim::Operation& op : prediction.rank_operations[r]) {
      operations.push_back({sched::name(op.kind), op.peer, op.channel, op.bytes, op.start_s, op.end_s});
    }
    record["ranks"].push_back({{"end_s", prediction.rank_end_s[r]},
                               {"busy_s", prediction.rank_busy_s[r]},
                               {"operations", std::move(operations)}});
  }
  record["resources"] = ordered_json::array();
  for (std::size_t r = 0; r < prediction.resource_busy_s.size(); ++r) {
    record["resources"].push_back(
        {{"name", question.view.network->resources[r].name}, {"busy_s", prediction.resource_busy_s[r]}});
  }
  record["intervals"] = ordered_json::array();
  for (const sim::Interval& interval : prediction.intervals) {
    record["intervals"].push_back({{"resource", interval.resource},
                                   {"source", interval.from},
                                   {"target", interval.to},
                                   {"bytes", interval.bytes},
                                   {"start_s", interval.start_s},
                                   {"end_s", interval.end_s}});
  }
  return record.dump();
}

std::string explain(const std::string& network, const std::vector<int>& host_of_rank,
                    const std::string& collective, std::size_t bytes, int root, const std::string& plan) {
  const Question question(network, host_of_rank, collective, bytes, root);
  plan::PlanTable table;
  if (!plan.empty()) table = plan::PlanTable::from_json(plan);
  const plan::Row* row =
      table.find_row(question.problem.collective, question.root_subnet(), question.problem.bytes);
  return plan::explain(question.problem, question.view, row);
}

double predict(const std::string& network, const std::vector<int>& host_of_rank, const std::string& recipe,
               const std::string& collective, std::size_t bytes, int root) {
  const Question question(network, host_of_rank, collective, bytes, root);
  return plan::forecast(parse_fitting(question, recipe), question.problem, question.view).seconds;
}

std::string predict_recipe(const std::string& network, const std::vector<int>& host_of_rank,
                           const std::string& recipe, const std::string& collective, std::size_t bytes,
                           int root) {
  const Question question(network, host_of_rank, collective, bytes, root);
  const plan::Candidate candidate =
      plan::candidate_of(parse_fitting(question, recipe), question.problem, question.view);
  if (!candidate.why_not.empty()) throw InvalidArgument("recipe '" + recipe + "': " + candidate.why_not);
  return describe(candidate, candidate).dump();
}

std::optional<double> closed_prediction(const std::string& network, const std::vector<int>& host_of_rank,
                                        const std::string& recipe, const std::string& collective,
                                        std::size_t bytes, int root) {
  const Question question(network, host_of_rank, collective, bytes, root);
  const auto closed = plan::closed_forecast(algo::parse_recipe(recipe), question.problem, question.view);
  return closed ? std::optional<double>(closed->seconds) : std::nullopt;
}

std::string estimate(const std::string& network, const std::vector<int>& host_of_rank,
                     const std::vector<std::size_t>& sizes, const std::vector<std::string>& collectives) {
  const Question question(network, host_of_rank, "barrier", 0, 0);
  plan::PlannerOptions options;
  if (!sizes.empty()) options.sizes = sizes;
  std::vector<coll::Collective> wanted;
  for (const std::string& name : collectives) {
    wanted.push_back(Question(network, host_of_rank, name, 0, 0).problem.collective);
  }
  if (wanted.empty()) wanted = coll::all_collectives();
  return plan::make_plan(question.view, wanted, options, nullptr).to_json();
}

std::optional<std::string> plan_file_name(const std::string& text) {
  const plan::PlanTable table = plan::PlanTable::from_json(text);
  if (table.made_by.empty()) return std::nullopt;
  return net::Store::plan_name({table.network, table.host_of_rank, table.library, table.made_by});
}

std::string guidelines() {
  ordered_json rules = ordered_json::array();
  for (const plan::Guideline& rule : plan::guidelines()) {
    ordered_json right = ordered_json::array();
    for (const coll::Collective collective : rule.right) right.push_back(coll::name(collective));
    rules.push_back(
        {{"left", coll::name(rule.left)}, {"right", std::move(right)}, {"text", plan::text(rule)}});
  }
  return ordered_json{
      {"rules", std::move(rules)}, {"monotone", plan::kMonotone}, {"allowance", plan::kGuidelineAllowance}}
      .dump();
}

// Throws of the dice until one can be proved; a collective has few algorithms that refuse most.
constexpr int kThrows = 40;

std::optional<std::string> recipe_by_dice(const std::string& network, const std::vector<int>& host_of_rank,
                                          const std::string& collective, std::size_t bytes, int root,
                                          std::uint64_t seed, bool commutative) {
  Question question(network, host_of_rank, collective, bytes, root);
  // As a plan by hand is proved: it holds for elements of any length.
  question.problem.element_bytes = 1;
  question.problem.commutative = commutative;
  std::mt19937_64 dice(seed);
  for (int i = 0; i < kThrows; ++i) {
    const algo::Recipe recipe = algo::throw_recipe(question.problem, question.view, dice);
    if (!plan::prove(recipe, question.problem, question.view)) return recipe.text();
  }
  return std::nullopt;
}

}  // namespace

void bind_plan(nb::module_& m) {
  m.def("guidelines", &guidelines,
        "The table of performance guidelines as JSON: `left` takes no longer than all of `right` together, "
        "for as "
        "many bytes; the text of the one that holds for all (fewer bytes take no longer); and beyond which "
        "share one "
        "is broken. Local.");
  m.def("candidates", &candidates, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("collective"),
        nb::arg("bytes"), nb::arg("root"), nb::arg("prune") = false, nb::call_guard<nb::gil_scoped_release>(),
        "Every candidate with its predicted seconds by term, cheapest first, as JSON; with `prune` those "
        "that cannot "
        "be the best are given up early, as the planner does. Local.");
  m.def("choice", &choice, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("collective"),
        nb::arg("bytes"), nb::arg("root"), nb::call_guard<nb::gil_scoped_release>(),
        "The candidate that the planner takes where it may measure nothing; None where none can serve. "
        "Local.");
  m.def("search", &search, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("collective"),
        nb::arg("bytes"), nb::arg("root"), nb::arg("steps"), nb::arg("seed") = 1,
        nb::call_guard<nb::gil_scoped_release>(),
        "Recipes beyond the candidates that are predicted to be faster than all of them, in the form of "
        "candidates, "
        "after that many predictions. Proved. Local.");
  m.def("recipe_by_dice", &recipe_by_dice, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("collective"),
        nb::arg("bytes"), nb::arg("root"), nb::arg("seed"), nb::arg("commutative") = true,
        nb::call_guard<nb::gil_scoped_release>(),
        "A recipe that nobody would choose, proved; None where dice find none. Local.");
  m.def("timeline", &timeline, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("recipe"),
        nb::arg("collective"), nb::arg("bytes"), nb::arg("root"), nb::call_guard<nb::gil_scoped_release>(),
        "What a recipe's schedules are predicted to do when, resource by resource and rank by rank "
        "(operations in "
        "program order: kind, peer, channel, bytes, start_s, end_s), as JSON. Local.");
  m.def("explain", &explain, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("collective"),
        nb::arg("bytes"), nb::arg("root"), nb::arg("plan") = "", nb::call_guard<nb::gil_scoped_release>(),
        "The planner's explanation as text; `plan` is the text of a plan table for the same group. Local.");
  m.def("predict", &predict, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("recipe"),
        nb::arg("collective"), nb::arg("bytes"), nb::arg("root"), nb::call_guard<nb::gil_scoped_release>(),
        "Predicted seconds of one recipe. Local.");
  m.def("predict_recipe", &predict_recipe, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("recipe"),
        nb::arg("collective"), nb::arg("bytes"), nb::arg("root"), nb::call_guard<nb::gil_scoped_release>(),
        "One recipe in the form of the candidates, as JSON. Local.");
  m.def(
      "closed_prediction", &closed_prediction, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("recipe"),
      nb::arg("collective"), nb::arg("bytes"), nb::arg("root"),
      "Seconds of one recipe by the closed form of its algorithm; None if there is none, or the network was "
      "measured without pLogP. Local.");
  m.def("estimate_plan", &estimate, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("sizes"),
        nb::arg("collectives") = std::vector<std::string>(), nb::call_guard<nb::gil_scoped_release>(),
        "The text of a plan table made from predictions alone, of these collectives or all: for "
        "explanations, never "
        "for running. Local.");
  m.def(
      "check_plan", [](const std::string& text) { return plan::PlanTable::from_json(text).to_json(); },
      nb::arg("text"), "The text of a plan table, checked and written out again; raises CorruptFile. Local.");
  m.def(
      "plan_file_name", &plan_file_name, nb::arg("text"),
      "Under which name a plan table is remembered; None of one that does not say which ECO made it. Local.");
}

}  // namespace eco::python
