// ECO_PROFILE: what every rank's Profile holds, in one file that rank 0 writes.
//
//   {"schema": "eco.rank.profile", "version": 1, "ranks": 8, ..., "profiles": [{"rank": 0, "calls": [...]}, ...]}
#pragma once

namespace eco::preload {

class Session;

// Collective over MPI_COMM_WORLD if `collective`; else rank 0 writes what it has itself.
void write_profile(Session& session, bool collective);

}  // namespace eco::preload
