// eco-rank characterize and eco-rank tune: what a job would do on its first call, offline and as long as it takes.
#include <cstdio>
#include <string>

#include "eco/base/date.h"
#include "eco/base/errors.h"
#include "eco/measure/characterize.h"
#include "eco/measure/rails.h"
#include "eco/net/io.h"
#include "eco/net/store.h"
#include "eco/runtime/communicator.h"
#include "eco/runtime/this_host.h"
#include "preload/rank/arguments.h"
#include "preload/rank/stage.h"

namespace eco::rank {
namespace {

// Collective. A network whose rails can't be measured is a network without rails.
void add_rails(Stage& stage, const measure::CharacterizeOptions& how, net::Network& network) {
  if (how.progress) how.progress("rails", 1);
  try {
    const measure::RailsOptions rails{.host_of_rank = how.host_of_rank, .in_job = how.budget_s > 0};
    const auto measured = measure::measure_rails(*stage.transport, *stage.native, network, rails);
    measure::add_rails(network, stage.transport->rail_names(), measured);
  } catch (const TransportError& error) {  // on all ranks alike
    if (stage.rank() == 0) std::fprintf(stderr, "eco-rank: no rails: %s\n", error.what());
  }
}

// `job` is what jobs do by themselves.
plan::Effort effort_of(const Arguments& arguments) {
  if (!arguments.has("--effort")) return plan::Effort::measure;
  const std::string text = arguments.text("--effort");
  const auto effort = plan::effort_from_name(text);
  if (effort && *effort != plan::Effort::job) return *effort;
  throw InvalidArgument("eco-rank: --effort '" + text + "' is none of estimate, measure, exhaustive");
}

}  // namespace

int characterize(int argc, char** argv) {
  const Arguments arguments(argc, argv, {"--out", "--budget"}, {"--progress", "--plogp"});
  const std::string out = arguments.text("--out");
  const runtime::Options options = options_of_environment();
  Stage stage(options);
  measure::CharacterizeOptions how;
  how.host_of_rank = identities(stage, options);
  how.transport = runtime::transport_name(*stage.native, *stage.transport);
  how.measured_at = base::now_iso8601();
  how.budget_s = arguments.number("--budget", 0, 0, 86400);
  how.plogp = arguments.has("--plogp");
  if (arguments.has("--progress")) how.progress = Progress();
  net::Network network = measure::characterize(*stage.transport, *stage.native, how);
  if (stage.transport->n_rails() > 1) add_rails(stage, how, network);
  if (stage.transport->rank() != 0) return 0;
  write_file(out, net::to_json(network));
  const net::Store store(options.cache_dir, options.site_dir);
  if (const auto kept = store.remember_network(network, true); kept.failure) {
    std::fprintf(stderr, "eco-rank: not remembered: %s\n", kept.failure->c_str());
  }
  return 0;
}

int tune(int argc, char** argv) {
  const Arguments arguments(argc, argv, {"--out", "--network", "--ops", "--sizes", "--budget", "--effort"},
                            {"--progress", "--network-only", "--anew"});
  const bool network_only = arguments.has("--network-only");
  const std::string out = network_only ? std::string() : arguments.text("--out");
  runtime::Options options = options_of_environment();
  options.mode = runtime::Mode::on;  // it tunes ECO, whatever the job that starts it wants for itself
  const plan::Effort effort = effort_of(arguments);
  options.measure =
      effort == plan::Effort::estimate ? runtime::MeasurePolicy::never : runtime::MeasurePolicy::automatic;
  options.budget_s = 0;
  options.plan_file.clear();
  if (arguments.has("--network")) options.network_file = arguments.text("--network");
  options.disable.clear();  // what it finds is also for jobs that disable nothing
  // What is remembered already with as much effort is taken over, so that the next time goes on.
  const double budget_s = arguments.number("--budget", 0, 0, 86400);
  runtime::ArmRequest request{.plan_anew = arguments.has("--anew"),
                              .effort = effort,
                              .network_only = network_only,
                              .collectives = collectives_of(arguments.list("--ops")),
                              .sizes = arguments.sizes("--sizes"),
                              .offline_s = budget_s,
                              .progress = {}};
  if (arguments.has("--progress")) request.progress = Progress();

  Stage stage(options);
  const runtime::Identity identity{.host = runtime::this_host(options), .version = ECO_VERSION};
  const runtime::ArmResult result =
      runtime::Communicator::arm(*stage.transport, *stage.native, options, identity, request);
  if (result.failed) {
    if (stage.transport->rank() == 0) {
      std::fprintf(stderr, "eco-rank: no plan could be made: %s\n", result.reason.c_str());
    }
    return kFailed;  // on every rank alike
  }
  if (stage.transport->rank() != 0 || network_only) return 0;
  if (!result.communicator) {
    std::fprintf(stderr, "eco-rank: no plan: %s\n", result.reason.c_str());
    return kFailed;
  }
  if (result.communicator->serves_nothing()) {
    // Not an error: the reason is the answer.
    std::fprintf(stderr, "eco-rank: nothing to gain: %s\n", result.reason.c_str());
  }
  write_file(out, result.communicator->table().to_json());
  return 0;
}

}  // namespace eco::rank
