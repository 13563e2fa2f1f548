// What the user set, parsed once. One table (options.cc) gives ECO_* variables, flags and their documentation.
//
//   const Options options = parse_options([](std::string_view v) { return from_environment(v); });
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eco/late/forms.h"
#include "eco/runtime/ambient_watch.h"
#include "eco/runtime/lateness.h"

namespace eco::runtime {

enum class Mode { on, off, observe };  // ECO: observe times the native calls and changes nothing
// ECO_TRANSPORT: what carries recipes. mpi: the library's point-to-point; automatic: that, and those over several rails
// TCP, where hosts have several; tcp, ucx: all go over TCP, or UCX.
enum class Carrier { automatic, mpi, tcp, ucx };
// "auto", "mpi", "tcp", "ucx".
std::string_view name(Carrier carrier);
enum class MeasurePolicy { never, automatic };  // ECO_MEASURE: may a job measure what is not remembered?

// In ECO_DISABLE: topologies keep their ranks in order.
inline constexpr std::string_view kTopology = "topology";

struct Options {
  Mode mode = Mode::on;
  std::string network_file;  // ECO_NETWORK: use this file instead of the remembered network
  std::string plan_file;     // ECO_PLAN: use this decision table (or one of these) instead of making one
  std::string cache_dir;     // ECO_CACHE_DIR: where networks and plans are remembered
  std::string site_dir;   // ECO_SITE_DIR: networks that all users share; none if there is no such directory
  bool sentinels = true;  // ECO_SENTINELS: see whether hosts have moved before a remembered network is used
  std::string host_id;    // ECO_HOST_ID: replaces boot id and namespace (set by the lab)
  Carrier carrier = Carrier::automatic;  // ECO_TRANSPORT
  std::vector<std::string>
      rails;  // ECO_RAILS: interfaces or addresses of each host; empty: what hosts have in common
  MeasurePolicy measure = MeasurePolicy::automatic;  // ECO_MEASURE=never|auto
  double budget_s = 5;  // ECO_BUDGET: for measuring in a job, all communicators together; 0: no limit
  int max_communicators = 4096;  // ECO_MAX_COMMUNICATORS: armed at a time
  // ECO_ARM_AFTER: blocking collectives of a communicator that pass before it is armed; nothing: as soon as they have
  // taken long enough, MPI_COMM_WORLD when it is due (readiness.h)
  std::optional<int> arm_after;
  std::vector<std::string> disable;   // ECO_DISABLE=allreduce,topology,...
  std::string report_file;            // ECO_REPORT
  std::string profile_file;           // ECO_PROFILE: of every call, where all ranks have it
  bool quiet = false;                 // ECO_QUIET: no line at exit
  double stall_s = 60;                // ECO_STALL: say who is awaited after this long; 0: never
  bool stall_signal = false;          // ECO_STALL_SIGNAL: SIGUSR1 asks who is awaited now
  std::optional<late::Plan> late;     // ECO_LATE: collectives form around who is there
  Forming forming = Forming::always;  // likewise; auto: where_it_pays
  bool any_order = false;             // ECO_ANY_ORDER: reductions that form may combine numbers that round
  std::optional<Following> ambient;   // ECO_AMBIENT: recipes follow ambient traffic
  bool compare_calls = false;         // ECO_CHECK=communication: ranks compare each call before it begins

  // Not the MPI library: TCP or UCX carries all that ECO serves, not only what names rails.
  bool is_beside_mpi() const { return carrier == Carrier::tcp || carrier == Carrier::ucx; }
  // A collective by name, or kTopology.
  bool is_disabled(std::string_view name) const;
  // What must be equal on all ranks, a line for each: "ECO_BUDGET=5\n". Files are not in it (one rank reads them), nor
  // what only diagnoses.
  std::string agreed_text() const;
  std::uint64_t agreed_digest() const;  // of that text
};

struct OptionDoc {
  std::string_view variable;
  std::string_view values;
  std::string_view meaning;
};
const std::vector<OptionDoc>& option_docs();

// Of the environment's names those that look like options and are none: typing errors, which would be ignored silently.
// In the order given.
std::vector<std::string> unknown_variables(const std::vector<std::string>& names);

// Throws InvalidArgument naming the variable, its value and what is allowed.
Options parse_options(const std::function<std::optional<std::string>(std::string_view variable)>& lookup);

}  // namespace eco::runtime
