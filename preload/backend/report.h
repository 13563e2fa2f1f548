// What ECO did for this program: one line on stderr and, with ECO_REPORT, a JSON file. Rank 0 writes both.
#pragma once

namespace eco::preload {

class Session;

// Collective over MPI_COMM_WORLD if `collective`; else the numbers are this rank's alone.
void report(Session& session, bool collective);

}  // namespace eco::preload
