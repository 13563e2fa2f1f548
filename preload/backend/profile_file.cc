#include "preload/backend/profile_file.h"

#include <mpi.h>

#include <climits>
#include <cstdio>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/runtime/agreement.h"
#include "eco/runtime/common_start.h"
#include "eco/transport/mpi/mpi_native.h"
#include "preload/backend/session.h"
#include "preload/backend/world.h"

namespace eco::preload {
namespace {

struct Texts {
  std::string joined;
  std::vector<int> lengths;  // of each rank's

  std::vector<int> starts() const {
    std::vector<int> starts(lengths.size());
    std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), 0);
    return starts;
  }
};

std::string text_of(Session& session, int rank, const ClockReadings& clock_at_end, bool with_arrivals) {
  const Session::Summary summary = session.summary();
  nlohmann::json communicators = nlohmann::json::array();
  for (const auto& [n_ranks, of_size] : summary.communicators.by_size) {
    communicators.push_back({{"ranks", n_ranks}, {"number", of_size.number}, {"native", of_size.native}});
  }
  nlohmann::json profile = {{"rank", rank},
                            {"wall_s", summary.wall_s},
                            {"arming_s", summary.arming_s},
                            {"clock_at_start_ns", session.clock_at_start()},
                            {"clock_at_end_ns", clock_at_end},
                            {"communicators", std::move(communicators)},
                            {"calls", session.profile().to_json()}};
  if (with_arrivals) profile["arrivals"] = session.profile().arrivals().to_json();
  return base::to_text(profile, -1);
}

// Collective: every rank's text on rank 0. Throws on all ranks alike.
Texts gather_texts(const std::string& mine, int rank, int n_ranks) {
  transport::mpi::MpiNative native(MPI_COMM_WORLD);
  runtime::Agreement agreement(native, rank, n_ranks);
  Texts texts;
  std::vector<int> starts;
  const auto demand = [&](const std::function<void()>& work) {
    const auto reason = agreement.failed([&] {
      if (rank == 0) work();
    });
    if (reason) throw Error(*reason);
  };
  demand([&] { texts.lengths.resize(static_cast<std::size_t>(n_ranks)); });
  const int length = mine.size() < INT_MAX ? static_cast<int>(mine.size()) : 0;
  PMPI_Gather(&length, 1, MPI_INT, texts.lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  demand([&] {
    const long long total = std::accumulate(texts.lengths.begin(), texts.lengths.end(), 0LL);
    if (total > INT_MAX)
      throw Error("the profiles of all ranks together are " + std::to_string(total) + " bytes");
    texts.joined.resize(static_cast<std::size_t>(total));
    starts = texts.starts();
  });
  PMPI_Gatherv(mine.data(), length, MPI_CHAR, texts.joined.data(), texts.lengths.data(), starts.data(),
               MPI_CHAR, 0, MPI_COMM_WORLD);
  return texts;
}

// The ranks' texts stand in it as they came: reading them all again would take rank 0, and all who wait for it, time and memory
// by the rank.
std::string document(Session& session, int n_ranks, const Texts& texts, bool one_clock) {
  std::string text = base::to_text(
      nlohmann::json{{"schema", "eco.rank.profile"},
                     {"version", 1},
                     {"eco_version", ECO_VERSION},
                     {"library", transport::mpi::library_name()},
                     {"mode", session.options().mode == runtime::Mode::observe ? "observe" : "on"},
                     {"ranks", n_ranks},
                     {"one_clock", one_clock}},
      -1);
  text.resize(text.rfind('}'));
  text += ",\"profiles\":[";
  const std::vector<int> starts = texts.starts();
  const char* separator = "";
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (texts.lengths[i] == 0) continue;  // that rank had no memory for it
    text += std::exchange(separator, ",");
    text.append(texts.joined, static_cast<std::size_t>(starts[i]),
                static_cast<std::size_t>(texts.lengths[i]));
  }
  return text + "]}\n";
}

}  // namespace

ClockReadings read_clock_together() {
  ClockReadings readings{};
  for (std::int64_t& reading : readings) {
    PMPI_Barrier(MPI_COMM_WORLD);
    reading = runtime::now_ns();
  }
  return readings;
}

void write_profile(Session& session, bool collective) {
  const auto [rank, n_ranks] = world();
  // Called from MPI_Finalize: a program that came to its end is not ended by what ECO says of it.
  std::string mine;
  ClockReadings clock_at_end{};
  bool one_clock = n_ranks == 1;
  try {
    if (collective) {
      transport::mpi::MpiNative native(MPI_COMM_WORLD);
      one_clock = runtime::reads_one_clock(native, rank, n_ranks);
      clock_at_end = read_clock_together();
    }
    mine = text_of(session, rank, clock_at_end, true);
    // All ranks' together must fit into what a gather counts in: of many thousand ranks who calls what, not who is late.
    if (mine.size() > static_cast<std::size_t>(INT_MAX / n_ranks)) {
      mine = text_of(session, rank, clock_at_end, false);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "eco: rank %d has no profile: %s\n", rank, error.what());
  }
  try {
    Texts texts;
    if (collective) {
      texts = gather_texts(mine, rank, n_ranks);
    } else if (rank == 0) {
      texts = {.joined = mine, .lengths = {static_cast<int>(mine.size())}};
    }
    if (rank != 0) return;
    const auto error = base::write_text_atomically(session.options().profile_file,
                                                   document(session, n_ranks, texts, one_clock));
    if (error) std::fprintf(stderr, "eco: no profile: %s\n", error->c_str());
  } catch (const std::exception& error) {
    if (rank == 0) std::fprintf(stderr, "eco: no profile: %s\n", error.what());
  }
}

}  // namespace eco::preload
