// Which of ranked candidates are worth measuring, and which of equally fast ones is preferred.
//
//   for (const Candidate* candidate : shortlist(ranked, 3, problem, view)) ...
#pragma once

#include <cstddef>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/plan/forecast.h"

namespace eco::plan {

// Pure. Those of ranked candidates (ranking.h) that are worth measuring, most promising first, every one of them proved
// (prove()).
std::vector<const Candidate*> shortlist(const std::vector<Candidate>& ranked, std::size_t how_many,
                                        const coll::CommonProblem& problem, const net::GroupView& view);

// Latency is all of what such a problem takes.
bool is_one_packet(const coll::CommonProblem& problem, const net::GroupView& view);

// What a candidate takes, predicted or measured, and what it would send.
struct Timed {
  double seconds = 0;
  const Forecast* forecast = nullptr;
};

// Index of the one of least traffic among those that are as fast as the fastest, as far as times can tell: 2 % apart,
// or 5 % for problems of one packet of which fewer messages cross between subnets. Traffic is messages first; for problems of
// one packet, messages between subnets. At least one must be given.
std::size_t lightest_of_equals(const std::vector<Timed>& timed, bool one_packet);

}  // namespace eco::plan
