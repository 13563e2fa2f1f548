// What the ranks of a job agree on in MPI_Init, before ECO sends anything else: whether all of them have the same ECO and
// the same settings, since a launcher may lose the environment on its way to some.
//
//   const JobAgreement job = agree_in_job({.version = ..., .settings = options.agreed_text(), .vote = Vote::agrees}, 60);
//   if (job.vote == Vote::agrees && job.difference.empty()) ...             // the same on all ranks
#pragma once

#include <cstdint>
#include <string>

#include "eco/transport/tcp/rails.h"

namespace eco::preload {

// From the one that counts most. Profiles: agrees, and would have its calls profiled.
enum class Vote : std::int64_t { off, objects, agrees, profiles };

// Of one rank.
struct Standpoint {
  std::string version;   // of ECO
  std::string settings;  // a line for each that all ranks must have: "ECO_BUDGET=5\n"
  std::string host;
  Vote vote = Vote::agrees;
  bool has_plan = false;  // given by hand
  int n_nics = 0;         // JobRails::count_nics()
};

// Of the job.
struct JobAgreement {
  Vote vote = Vote::agrees;  // that counts: the least of all ranks'
  bool same_version = true;  // else nothing that ECO of this job sends from here on would be understood
  // Why the ranks can't go together; empty: they can. "ranks differ in ECO_ variables: rank 1 on host b has
  // ECO_ARM_AFTER=7, rank 0 ECO_ARM_AFTER=auto".
  std::string difference;
  bool all_off = false;
  int first_off = 0;            // the lowest rank that voted so; the number of ranks: none
  int first_profiling = 0;      // likewise, of those that would be profiled
  int first_not_profiling = 0;  // and of those that would not
  bool has_plan = false;        // rank 0, whose counts
  transport::tcp::NicCounts nics{};
};

// Collective over MPI_COMM_WORLD. After `stall_s` seconds (0: never) it says that a rank without ECO may be awaited: such a
// rank never comes, and nothing tells it from one that is late.
JobAgreement agree_in_job(const Standpoint& mine, double stall_s);

}  // namespace eco::preload
