// The tuner: the points that an exhaustive search would measure, what the predictor says of them, and the searches.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include "eco/plan/forecast.h"
#include "eco/plan/proving.h"
#include "eco/tune/guided.h"
#include "eco/tune/points.h"
#include "eco/tune/searches.h"
#include "python/src/bindings.h"
#include "python/src/question.h"

namespace eco::python {
namespace {

using nlohmann::ordered_json;

std::string tune_forms(const std::string& network, const std::vector<int>& host_of_rank,
                       const std::string& collective, std::size_t bytes, int root, std::size_t least_bytes) {
  const Question question(network, host_of_rank, collective, bytes, root);
  ordered_json forms = ordered_json::array();
  for (const tune::FormRecipes& form : tune::all_forms(question.problem, question.view, least_bytes)) {
    ordered_json points = ordered_json::array();
    for (const algo::Recipe& recipe : form.recipes) {
      const auto objection = plan::prove(recipe, question.problem, question.view);
      points.push_back({{"recipe", recipe.text()},
                        {"segment", recipe.params.segment_bytes},
                        {"why_not", objection ? ordered_json(*objection) : ordered_json(nullptr)}});
    }
    forms.push_back({{"form", form.name}, {"points", std::move(points)}});
  }
  return forms.dump();
}

std::vector<std::optional<double>> forecasts(const std::string& network, const std::vector<int>& host_of_rank,
                                             const std::vector<std::string>& recipes,
                                             const std::string& collective, std::size_t bytes, int root,
                                             std::size_t most_operations) {
  const Question question(network, host_of_rank, collective, bytes, root);
  std::vector<std::optional<double>> seconds;
  for (const std::string& recipe : recipes) {
    const plan::Candidate candidate = plan::candidate_of(parse_fitting(question, recipe), question.problem,
                                                         question.view, {.most_operations = most_operations});
    seconds.push_back(candidate.why_not.empty() ? std::optional(candidate.forecast.seconds) : std::nullopt);
  }
  return seconds;
}

// As Python has them: forms by name, each with the segment and the prediction of its points.
using Forms = std::vector<std::pair<std::string, std::vector<std::pair<std::size_t, double>>>>;
using Place = std::pair<std::size_t, std::size_t>;  // form and point
using Ask =
    std::function<std::optional<std::vector<tune::Runs>>(const std::vector<Place>& points, int times)>;

tune::Space space_of(std::size_t bytes, const Forms& forms) {
  tune::Space space{bytes, {}};
  for (const auto& [name, points] : forms) {
    space.forms.push_back({name, {}});
    for (const auto& [segment, predicted_s] : points) {
      if (!(predicted_s > 0)) throw InvalidArgument("form '" + name + "': a prediction is not positive");
      space.forms.back().points.push_back({segment, predicted_s});
    }
  }
  return space;
}

tune::Oracle oracle_of(const Ask& ask) {
  return [&ask](std::span<const tune::Choice> choices, int times) {
    std::vector<Place> points;
    for (const tune::Choice& choice : choices) points.emplace_back(choice.form, choice.point);
    auto answer = ask(points, times);
    if (answer && answer->size() != points.size()) {
      throw InvalidArgument("an oracle was asked for " + std::to_string(points.size()) +
                            " points and answered " + std::to_string(answer->size()));
    }
    return answer;
  };
}

ordered_json place_of(const std::optional<tune::Choice>& choice) {
  return choice ? ordered_json{choice->form, choice->point} : ordered_json(nullptr);
}

std::string describe_tuned(const tune::Tuned& tuned) {
  ordered_json steps = ordered_json::array();
  for (const tune::Step& step : tuned.steps) {
    steps.push_back({{"asked", place_of(step.asked)}, {"runs", step.runs}, {"best", place_of(step.best)}});
  }
  const ordered_json record = {{"best", place_of(tuned.best)},
                               {"best_s", tuned.best_s},
                               {"expected_regret", tuned.expected_regret},
                               {"ended", tuned.ended},
                               {"steps", std::move(steps)}};
  return record.dump();
}

std::string search_by(const std::string& name, std::size_t bytes, const Forms& forms, const Ask& ask,
                      int repeats, int look_beyond, double reject_times) {
  const tune::Search* search = tune::find_search(name);
  if (search == nullptr) throw InvalidArgument("search '" + name + "' is none of linear, mgd, smgd");
  return describe_tuned(
      search->search(space_of(bytes, forms), oracle_of(ask), {repeats, look_beyond, reject_times}));
}

}  // namespace

void bind_tune(nb::module_& m) {
  m.def("tune_forms", &tune_forms, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("collective"),
        nb::arg("bytes"), nb::arg("root"), nb::arg("least_bytes") = 8,
        nb::call_guard<nb::gil_scoped_release>(),
        "Every form with its recipes of segments m / 2^i, the largest first, and what the verifier has "
        "against each, as JSON. Local.");
  m.def("forecasts", &forecasts, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("recipes"),
        nb::arg("collective"), nb::arg("bytes"), nb::arg("root"), nb::arg("most_operations") = 3000,
        nb::call_guard<nb::gil_scoped_release>(),
        "Predicted seconds of each recipe; None where its schedules can't end. Longer schedules than "
        "`most_operations` are predicted with fewer segments. Local.");
  const tune::SearchOptions usual;
  m.def("tune_by", &search_by, nb::arg("search"), nb::arg("bytes"), nb::arg("forms"), nb::arg("oracle"),
        nb::arg("repeats") = usual.repeats, nb::arg("look_beyond") = usual.look_beyond,
        nb::arg("reject_times") = usual.reject_times,
        "One of the paper's searches (linear, mgd, smgd) for the best point of a problem, as JSON. `forms`: "
        "name and points (segment, prediction), the largest segment first; `oracle`: of points (form, "
        "point) and a number of runs the seconds of each, None where no time is left. Local.");
  const tune::GuidedOptions guided;
  nb::class_<tune::Guided>(m, "Guided",
                           "The search that follows the predictor and learns from one problem to the next.")
      .def(nb::init<>())
      .def(
          "tune",
          [](tune::Guided& self, std::size_t bytes, const Forms& forms, const Ask& ask, int repeats,
             std::size_t heat, double least_gain) {
            return describe_tuned(
                self.tune(space_of(bytes, forms), oracle_of(ask), {repeats, heat, least_gain}));
          },
          nb::arg("bytes"), nb::arg("forms"), nb::arg("oracle"), nb::arg("repeats") = guided.repeats,
          nb::arg("heat") = guided.heat, nb::arg("least_gain") = guided.least_gain, "As tune_by. Local.");
}

}  // namespace eco::python
