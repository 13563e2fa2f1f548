// Predicted seconds of every cell, under both laws of sharing, and what each prediction costs; or why the recipe can't
// serve.
//
//   bench-simgrid-predict network.json cells.txt          one JSON object a line
#include "eco/sim/predict.h"

#include <chrono>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>

#include "bench/simgrid/cells.h"
#include "eco/exec/executor.h"

namespace {

struct Timed {
  eco::sim::Prediction prediction;
  double wall_s = 0;
};

Timed predict(const eco::net::GroupView& view, const std::vector<eco::sched::Schedule>& schedules,
              eco::sim::Sharing sharing) {
  eco::sim::PredictOptions options;
  options.sharing = sharing;
  options.window_capacity = eco::exec::kWindowCapacity;
  const auto start = std::chrono::steady_clock::now();
  Timed timed{eco::sim::predict(view, schedules, options)};
  timed.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return timed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bench-simgrid-predict NETWORK CELLS\n");
    return 2;
  }
  try {
    const eco::net::GroupView view = eco::bench::view_of(argv[1]);
    for (const eco::bench::Cell& cell : eco::bench::read_cells(argv[2], view)) {
      if (!cell.why_not.empty()) {
        std::printf("%s\n", nlohmann::ordered_json({{"why_not", cell.why_not}}).dump().c_str());
        continue;
      }
      const auto schedules = eco::algo::build_all(cell.recipe, cell.problem, view);
      const Timed fair = predict(view, schedules, eco::sim::Sharing::fair);
      const Timed in_turn = predict(view, schedules, eco::sim::Sharing::in_turn);
      const nlohmann::ordered_json record = {
          {"predicted_s", fair.prediction.seconds},     {"predict_wall_s", fair.wall_s},
          {"in_turn_s", in_turn.prediction.seconds},    {"in_turn_wall_s", in_turn.wall_s},
          {"operations", fair.prediction.n_operations}, {"messages", fair.prediction.n_messages}};
      std::printf("%s\n", record.dump().c_str());
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench-simgrid-predict: %s\n", error.what());
    return 1;
  }
  return 0;
}
