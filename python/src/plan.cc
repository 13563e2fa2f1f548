// Candidates, explanations and plan tables. Results that are lists of records are JSON text, which Python reads anyway.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include "eco/plan/closed_forecast.h"
#include "eco/plan/plan_table.h"
#include "eco/plan/planner.h"
#include "python/src/bindings.h"
#include "python/src/question.h"

namespace eco::python {
namespace {

using nlohmann::ordered_json;

ordered_json describe(const plan::Candidate& candidate, const plan::Candidate& cheapest) {
  const plan::Forecast& forecast = candidate.forecast;
  const bool able = candidate.why_not.empty();
  ordered_json record;
  record["recipe"] = candidate.recipe.text();
  record["predicted_s"] = able ? ordered_json(forecast.seconds) : ordered_json(nullptr);
  record["transfer_s"] = forecast.terms.transfer_s;
  record["latency_s"] = forecast.terms.latency_s;
  record["overhead_s"] = forecast.terms.overhead_s;
  record["combine_s"] = forecast.terms.combine_s;
  record["busiest"] = forecast.busiest;
  record["busiest_s"] = forecast.busiest_s;
  record["messages"] = forecast.n_messages;
  record["why_not"] = able ? plan::why_it_lost(candidate, cheapest) : candidate.why_not;
  return record;
}

std::string candidates(const std::string& network, const std::vector<int>& host_of_rank,
                       const std::string& collective, std::size_t bytes, int root) {
  const Question question(network, host_of_rank, collective, bytes, root);
  const auto ranked = plan::rank_candidates(question.problem, question.view);
  ordered_json records = ordered_json::array();
  for (const plan::Candidate& candidate : ranked) records.push_back(describe(candidate, ranked.front()));
  return records.dump();
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
  const algo::Recipe parsed = algo::parse_recipe(recipe);
  if (const auto reason = algo::why_not(parsed, question.problem, question.view)) {
    throw InvalidArgument("recipe '" + recipe + "': " + *reason);
  }
  return plan::forecast(parsed, question.problem, question.view).seconds;
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

}  // namespace

void bind_plan(nb::module_& m) {
  m.def("candidates", &candidates, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("collective"),
        nb::arg("bytes"), nb::arg("root"), nb::call_guard<nb::gil_scoped_release>(),
        "Every candidate with its predicted seconds by term, cheapest first, as JSON. Local.");
  m.def("explain", &explain, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("collective"),
        nb::arg("bytes"), nb::arg("root"), nb::arg("plan") = "", nb::call_guard<nb::gil_scoped_release>(),
        "The planner's explanation as text; `plan` is the text of a plan table for the same group. Local.");
  m.def("predict", &predict, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("recipe"),
        nb::arg("collective"), nb::arg("bytes"), nb::arg("root"), nb::call_guard<nb::gil_scoped_release>(),
        "Predicted seconds of one recipe. Local.");
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
}

}  // namespace eco::python
