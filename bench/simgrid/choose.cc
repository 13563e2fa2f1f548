// The recipe that ECO's planner chooses by prediction, cell by cell, and what choosing it took.
//
//   bench-simgrid-choose network.json cells.txt most_messages          one JSON object a line
//
// A cell is a line "BYTES OPERATION", bytes of the whole (docs/benchmarking.md says of what). Recipes with native parts
// are left out: what a library does there is guessed, and would be SMPI's. So are those of more messages than asked for:
// SimGrid simulates tens of thousands of them a second at best, far fewer where they share a link.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>

#include "bench/cells.h"
#include "eco/plan/planner.h"
#include "eco/plan/ranking.h"
#include "eco/plan/shortlist.h"

namespace {

long peak_kilobytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench-simgrid-choose NETWORK CELLS MOST_MESSAGES\n");
    return 2;
  }
  try {
    const eco::net::GroupView view = eco::bench::view_of(argv[1]);
    std::ifstream cells(argv[2]);
    if (!cells) throw eco::InvalidArgument(std::string("can't read the cells in '") + argv[2] + "'");
    const double most_messages = std::strtod(argv[3], nullptr);
    // SimGrid's messages divide links evenly; those of the lab's TCP are better told in turn (docs/models.md).
    eco::plan::ForecastOptions forecast = eco::plan::PlannerOptions().forecast;
    forecast.sharing = eco::sim::Sharing::fair;
    std::size_t bytes = 0;
    for (std::string operation; cells >> bytes >> operation;) {
      const auto collective = eco::coll::collective_from_name(operation);
      if (!collective) throw eco::InvalidArgument("no collective '" + operation + "'");
      const eco::coll::CommonProblem problem = eco::bench::problem_of(*collective, bytes, view);
      const double start_s = eco::bench::processor_s();
      auto ranked = eco::plan::rank_candidates(problem, view, forecast, true);
      std::erase_if(ranked, [&](const auto& candidate) {
        return candidate.forecast.guesses_native || candidate.forecast.n_messages > most_messages;
      });
      const auto best = eco::plan::shortlist(ranked, 1, problem, view);
      const double took_s = eco::bench::processor_s() - start_s;
      if (best.empty()) throw eco::InvalidArgument("nothing serves " + operation);
      const nlohmann::ordered_json record = {{"recipe", best.front()->recipe.text()},
                                             {"predicted_s", best.front()->forecast.seconds},
                                             {"choosing_s", took_s},
                                             {"peak_kilobytes", peak_kilobytes()}};
      std::printf("%s\n", record.dump().c_str());
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench-simgrid-choose: %s\n", error.what());
    return 1;
  }
  return 0;
}
