// ECO_PROFILE: what every rank's Profile holds, in one file that rank 0 writes.
//
//   {"schema": "eco.rank.profile", "version": 1, "ranks": 8, ..., "profiles": [{"rank": 0, "calls": [...]}, ...]}
#pragma once

#include "preload/backend/profile.h"

namespace eco::preload {

class Session;

// Collective over MPI_COMM_WORLD: this rank's clock (CLOCK_MONOTONIC, ns) after each of a few barriers. Ranks that leave a
// barrier together read their clocks together, as nearly as can be had between machines without more.
ClockReadings read_clock_together();

// Collective over MPI_COMM_WORLD if `collective`; else rank 0 writes what it has itself.
void write_profile(Session& session, bool collective);

}  // namespace eco::preload
