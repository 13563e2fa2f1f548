#include "preload/backend/job_agreement.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "preload/backend/first_connections.h"
#include "preload/backend/world.h"

namespace eco::preload {
namespace {

constexpr double kAwake_s = 0.01;  // ranks usually leave the library's MPI_Init together
// For one that does not come: a thousandth of what was waited, since each of some ten messages may wait for the end of a nap.
constexpr double kRestShare = 1e-3;
constexpr double kLongestRest_s = 1e-3;
constexpr std::size_t kRoomForText = 4096;  // beyond it settings are compared, but not shown
constexpr std::size_t kRoomForHost = 64;
// In the place of the first rank that is not off: it is rank 0, and has a plan.
constexpr std::int64_t kPlan = -1;

// FNV-1a: ranks compare this instead of texts of different lengths. Positive, so that it can be negated.
std::int64_t digest(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return static_cast<std::int64_t>(value >> 1);
}

void say_who_may_be_missing(const World& here, double waited_s) {
  std::fprintf(
      stderr,
      "eco: rank %d has waited for %.0f s in MPI_Init for all %d ranks to say that ECO is under them; "
      "one that was started without it never does. Give eco-exec to the launcher before every program "
      "of the job (it sees to it that LD_PRELOAD reaches each rank), or eco-exec --bare before all of "
      "them\n",
      here.rank, waited_s, here.n_ranks);
}

// By the library's nonblocking allreduce: a rank without ECO is in the program's next call instead, and no blocking
// collective, whatever it is, takes part in this one and takes these numbers for its own.
void allreduce_min(std::span<std::int64_t> words, const World& here, double stall_s) {
  FirstConnections connections(here);
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Iallreduce(MPI_IN_PLACE, words.data(), static_cast<int>(words.size()), MPI_INT64_T, MPI_MIN,
                  MPI_COMM_WORLD, &request);
  const auto is_over = [&] {
    int is_done = 0;
    if (PMPI_Test(&request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return true;
    return connections.are_open() && is_done != 0;
  };
  // Of many thousand ranks two speak: one at least if it is one program of several that lacks ECO.
  bool speaks = stall_s > 0 && (here.rank == 0 || here.rank == here.n_ranks - 1);
  const double began_s = PMPI_Wtime();
  while (!is_over()) {
    const double waited_s = PMPI_Wtime() - began_s;
    if (speaks && waited_s >= stall_s) {
      say_who_may_be_missing(here, waited_s);
      speaks = false;
    }
    if (waited_s > kAwake_s)
      usleep(static_cast<useconds_t>(1e6 * std::min(kRestShare * waited_s, kLongestRest_s)));
  }
}

// In fixed room, so that nobody has to agree on a length.
struct Told {
  std::int64_t settings = 0;  // their digest
  std::array<char, kRoomForHost> host{};
  std::array<char, kRoomForText> text{};
};

Told told(const Standpoint& mine) {
  Told told{.settings = digest(mine.settings)};
  std::copy_n(mine.host.begin(), std::min(mine.host.size(), told.host.size() - 1), told.host.begin());
  std::copy_n(mine.settings.begin(), std::min(mine.settings.size(), told.text.size() - 1), told.text.begin());
  return told;
}

// The lines of two such texts that differ: those of the one, and those of the other.
std::pair<std::string, std::string> differing_lines(std::string_view one, std::string_view other) {
  const auto next_line = [](std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    return line;
  };
  std::pair<std::string, std::string> lines;
  while (!one.empty() || !other.empty()) {
    const std::string_view of_one = next_line(one);
    const std::string_view of_other = next_line(other);
    if (of_one == of_other) continue;
    lines.first.append(" ").append(of_one);
    lines.second.append(" ").append(of_other);
  }
  return lines;
}

// Collective, of ranks of one version.
std::string difference_of_settings(const Standpoint& mine, const World& here) {
  const Told own = told(mine);
  const auto share = [](Told& text, int root) {
    PMPI_Bcast(&text, sizeof text, MPI_BYTE, root, MPI_COMM_WORLD);
  };
  Told of_rank_0 = own;
  share(of_rank_0, 0);
  const bool differs = own.settings != of_rank_0.settings;
  int first = differs ? here.rank : here.n_ranks;
  int n_differ = differs ? 1 : 0;
  PMPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  PMPI_Allreduce(MPI_IN_PLACE, &n_differ, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  Told of_first = own;
  share(of_first, first);
  const auto [theirs, of_0] = differing_lines(of_first.text.data(), of_rank_0.text.data());
  const std::string more =
      n_differ == 2 ? "; 1 more rank differs" : "; " + std::to_string(n_differ - 1) + " more ranks differ";
  return "ranks differ in ECO_ variables: rank " + std::to_string(first) + " on host " +
         of_first.host.data() + " has" + theirs + ", rank 0" + of_0 + (n_differ > 1 ? more : "");
}

}  // namespace

JobAgreement agree_in_job(const Standpoint& mine, double stall_s) {
  const World here = world();
  const std::int64_t version = digest(mine.version);
  const std::int64_t settings = digest(mine.settings);
  const auto first = [&](bool is_so) { return static_cast<std::int64_t>(is_so ? here.rank : here.n_ranks); };
  const bool plan_of_rank_0 = here.rank == 0 && mine.has_plan && mine.vote != Vote::off;
  // As many in every version, five of them not used yet, and the first two of them the version: whoever has another one knows
  // nothing of the rest. Nor may what goes with them (first_connections.h) be another.
  std::array<std::int64_t, 16> least = {version,
                                        -version,
                                        settings,
                                        -settings,
                                        static_cast<std::int64_t>(mine.vote),
                                        plan_of_rank_0 ? kPlan : first(mine.vote != Vote::off),
                                        first(mine.vote == Vote::off),
                                        first(mine.vote == Vote::profiles),
                                        first(mine.vote == Vote::agrees),
                                        mine.n_nics,
                                        -mine.n_nics};
  allreduce_min(least, here, stall_s);
  JobAgreement job{.vote = static_cast<Vote>(least[4]),
                   .same_version = least[0] == -least[1],
                   .difference = {},
                   .all_off = least[5] == here.n_ranks,
                   .first_off = static_cast<int>(least[6]),
                   .first_profiling = static_cast<int>(least[7]),
                   .first_not_profiling = static_cast<int>(least[8]),
                   .has_plan = least[5] == kPlan,
                   .nics = {.fewest = least[9], .most = -least[10]}};
  if (!job.same_version) {
    job.difference = "ranks run different versions of ECO; install the same on all nodes";
  } else if (least[2] != -least[3] && job.vote >= Vote::agrees) {
    job.difference = difference_of_settings(mine, here) + "; set the same on all nodes";
  }
  return job;
}

}  // namespace eco::preload
