// What sources would take on a network whose ranks come at these times.
//
//   Forecast f = forecast(view, sources, arrival_s);
//   f.rank_end_s[3];
//
// The sources themselves are driven, in virtual time over the network's resources, by the predictor's model of a message
// (sim/predict.h, Sharing::in_turn); every message is eager. Static schedules take PredictOptions::arrival_s instead.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "eco/exec/source.h"
#include "eco/net/group_view.h"

namespace eco::late {

struct Forecast {
  double seconds = 0;  // when the last rank is done
  std::vector<double> rank_end_s;
  std::size_t n_messages = 0;
};

// Local. One source per rank, in rank order. Throws InvalidArgument if they stand still.
Forecast forecast(const net::GroupView& view, std::span<exec::ScheduleSource* const> sources,
                  const std::vector<double>& arrival_s);

// No broadcast is over sooner, even one that knows when the ranks will come: everybody but the root has to have all
// bytes through its own last link, after both the root and it have come. A bound within the model; what is shared on
// the way is not in it.
double clairvoyant_bound_s(const net::GroupView& view, int root, std::size_t bytes,
                           const std::vector<double>& arrival_s);

}  // namespace eco::late
