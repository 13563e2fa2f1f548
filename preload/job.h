// What this process knows of its job before MPI is up: the launcher's variables. Header-only and libc only, for
// eco-exec and for the trampoline.
//
//   if (is_rank_0()) fputs("eco: ...\n", stderr);
//   leave_job();
#pragma once

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace eco::preload {

constexpr int kCannotStart = 127;  // the exit code that says "ECO could not be started here"

// Local. Enough to let one rank speak; true where nobody says which rank this is.
inline bool is_rank_0() {
  const char* const names[] = {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
  for (const char* name : names) {
    if (const char* rank = getenv(name)) return strcmp(rank, "0") == 0;
  }
  return true;
}

// Local. Ends this process so that its launcher ends the job.
[[noreturn]] inline void leave_job() {
  // Hydra goes on waiting for a process that exits before it spoke PMI, but ends the job when one dies by a signal; in
  // one of five jobs not even then, if it dies while others are being started, hence the pause (seen with Hydra 5.0.2).
  if (getenv("PMI_RANK") != nullptr) {
    sleep(1);
    raise(SIGTERM);
  }
  _exit(kCannotStart);
}

}  // namespace eco::preload
