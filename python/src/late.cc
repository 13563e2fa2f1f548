// Collectives that form around who is there: proofs, and what they would take.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "eco/base/errors.h"
#include "eco/late/forecast.h"
#include "eco/late/forms.h"
#include "eco/late/proving.h"
#include "eco/sim/predict.h"
#include "python/src/bindings.h"
#include "python/src/question.h"

namespace eco::python {
namespace {

using nlohmann::ordered_json;

std::vector<std::string> plans() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < late::kPlans; ++i) names.emplace_back(late::name(static_cast<late::Plan>(i)));
  return names;
}

late::Plan plan_named(const std::string& name) {
  const auto plan = late::plan_from_name(name);
  if (!plan) throw InvalidArgument("there is no plan '" + name + "' for late ranks");
  return *plan;
}

std::vector<std::string> forming(const std::string& plan) {
  std::vector<std::string> names;
  for (const coll::Collective each : late::kForming) {
    if (late::forms(plan_named(plan), each)) names.emplace_back(coll::name(each));
  }
  return names;
}

std::string prove_late(const std::string& plan, const std::string& collective, int ranks, bool all_orders,
                       std::uint64_t seed, std::size_t n_random) {
  const late::Proof proof =
      late::prove({plan_named(plan), collective_named(collective), ranks, seed, n_random, all_orders});
  ordered_json record;
  record["cases"] = proof.n_cases;
  record["plays"] = proof.n_plays;
  record["faults"] = proof.faults;
  return record.dump();
}

void check_arrivals(const std::vector<double>& arrival_s, const std::vector<int>& host_of_rank) {
  if (arrival_s.size() != host_of_rank.size()) throw InvalidArgument("one arrival for each rank");
}

// What is combined takes no time in a forecast, and comes to nothing.
void combine_nothing(void*, const void*, void*, std::size_t) {}

struct Hands {
  std::vector<std::byte> input, output, scratch;
};

// Of a collective by this recipe, its ranks coming at these times: as its schedules are, or as a plan forms it.
std::vector<double> ends(const std::string& network, const std::vector<int>& host_of_rank,
                         const std::string& collective, std::size_t bytes, int root,
                         const std::string& recipe, const std::string& plan,
                         const std::vector<double>& arrival_s) {
  const Question question(network, host_of_rank, collective, bytes, root);
  const algo::Recipe parsed = parse_fitting(question, recipe);
  check_arrivals(arrival_s, host_of_rank);
  if (plan == "static") {
    sim::PredictOptions options;
    options.arrival_s = arrival_s;
    return sim::predict(question.view, algo::build_all(parsed, question.problem, question.view), options)
        .rank_end_s;
  }
  coll::CommonProblem problem = question.problem;
  problem.exact = true;
  const auto form = late::form_of(plan_named(plan), parsed, problem, question.view);
  if (!form) throw InvalidArgument("no " + collective + " forms by the plan '" + plan + "'");
  std::vector<Hands> hands(host_of_rank.size());
  std::vector<std::unique_ptr<exec::ScheduleSource>> sources;
  std::vector<exec::ScheduleSource*> pointers;
  for (std::size_t i = 0; i < hands.size(); ++i) {
    const int rank = static_cast<int>(i);
    hands[i].input.resize(coll::input_bytes(problem, rank));
    hands[i].output.resize(coll::output_bytes(problem, rank));
    hands[i].scratch.resize(form->scratch_bytes());
    const exec::Buffers buffers{.input = hands[i].input,
                                .output = hands[i].output,
                                .input_is_output = false,
                                .combine = {.function = combine_nothing}};
    sources.push_back(form->source(rank, buffers, hands[i].scratch));
    pointers.push_back(sources.back().get());
  }
  return late::forecast(question.view, pointers, arrival_s).rank_end_s;
}

double bound(const std::string& network, const std::vector<int>& host_of_rank, std::size_t bytes, int root,
             const std::vector<double>& arrival_s) {
  const Question question(network, host_of_rank, "broadcast", bytes, root);
  check_arrivals(arrival_s, host_of_rank);
  return late::clairvoyant_bound_s(question.view, root, bytes, arrival_s);
}

}  // namespace

void bind_late(nb::module_& m) {
  m.def("late_plans", &plans,
        "Ways in which collectives may form around late ranks, as ECO_LATE names them.");
  m.def("late_collectives", &forming, nb::arg("plan"), "Collectives that form by this plan, by name.");
  m.def("prove_late", &prove_late, nb::arg("plan"), nb::arg("collective"), nb::arg("ranks"),
        nb::arg("all_orders"), nb::arg("seed"), nb::arg("n_random"), nb::call_guard<nb::gil_scoped_release>(),
        "Plays one collective by one plan through orders of arrival: JSON with cases, plays and faults.");
  m.def("late_ends", &ends, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("collective"),
        nb::arg("bytes"), nb::arg("root"), nb::arg("recipe"), nb::arg("plan"), nb::arg("arrival_s"),
        nb::call_guard<nb::gil_scoped_release>(),
        "Seconds at which each rank is done, predicted; plan 'static' is the recipe's own schedule.");
  m.def("clairvoyant_bound", &bound, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("bytes"),
        nb::arg("root"), nb::arg("arrival_s"), "Seconds before which no broadcast is over, arrivals known.");
}

}  // namespace eco::python
