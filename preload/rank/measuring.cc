// eco-rank characterize and eco-rank tune: what a job would do on its first call, offline and as long as it takes.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "eco/base/date.h"
#include "eco/base/errors.h"
#include "eco/measure/characterize.h"
#include "eco/measure/rail_plogp.h"
#include "eco/measure/rails.h"
#include "eco/net/io.h"
#include "eco/net/store.h"
#include "eco/runtime/agreement.h"
#include "eco/runtime/communicator.h"
#include "eco/runtime/rails.h"
#include "eco/runtime/this_host.h"
#include "preload/rank/arguments.h"
#include "preload/rank/stage.h"

namespace eco::rank {
namespace {

// What becomes of the network that is remembered of these hosts.
enum class Remembered {
  replaced,  // this one takes its place
  used,      // it is taken as it is, if there is one, but for rails that it does not know
  left,      // nothing is written beside --out
};

Remembered remembered_of(const Arguments& arguments) {
  if (!arguments.has("--remembered")) return Remembered::replaced;
  const std::string text = arguments.text("--remembered");
  if (text == "used") return Remembered::used;
  if (text == "left") return Remembered::left;
  throw InvalidArgument("eco-rank: --remembered '" + text + "' is neither used nor left");
}

// Collective: the network that jobs on these hosts would find, with its samples on rank 0.
std::optional<net::Network> find_remembered(Stage& stage, const net::Store& store,
                                            const measure::CharacterizeOptions& how) {
  std::optional<net::Network> found;
  std::string text;
  if (stage.rank() == 0) {
    found = store.find_network(how.host_of_rank, how.transport).network;
    if (found) text = net::to_json(found->without_samples());
  }
  text = runtime::Agreement(*stage.native, stage.rank(), stage.n_ranks()).share(std::move(text));
  if (text.empty() || found) return found;
  return net::parse_network(text, "remembered network");
}

// Rank 0: says so where plans were made for a network of these hosts that jobs will not find any more.
void say_outdated(const net::Store& store, const net::Network& before, const net::Network& now) {
  if (before.n_hosts() != now.n_hosts() || before.fingerprint() == now.fingerprint()) return;
  const std::string key = '"' + before.fingerprint() + '"';
  const auto plans = store.newest_plans();
  const bool has_plans = std::any_of(plans.begin(), plans.end(), [&](const net::FoundText& plan) {
    return plan.text && plan.text->find(key) != std::string::npos;
  });
  if (!has_plans) return;
  std::fprintf(
      stderr,
      "eco-rank: outdated: this network has another fingerprint, and plans that were made for the one "
      "that was remembered serve no longer; make new ones with eco tune\n");
}

// Rank 0. Whether it is; `instead`: of what was remembered.
bool remember(const net::Store& store, const net::Network& network, bool instead) {
  const auto kept = store.remember_network(network, instead);
  if (kept.failure) std::fprintf(stderr, "eco-rank: not remembered: %s\n", kept.failure->c_str());
  return !kept.failure;
}

// Collective. Whether there are any; a network whose rails can't be measured is a network without rails.
bool add_rails(Stage& stage, const measure::CharacterizeOptions& how, net::Network& network) {
  if (how.progress) how.progress("rails", 1);
  try {
    const measure::RailsOptions rails{.host_of_rank = how.host_of_rank, .in_job = how.budget_s > 0};
    const auto measured = measure::measure_rails(*stage.transport, *stage.native, network, rails);
    measure::add_rails(network, stage.transport->rail_names(), measured);
    return true;
  } catch (const TransportError& error) {  // on all ranks alike
    if (stage.rank() == 0) std::fprintf(stderr, "eco-rank: no rails: %s\n", error.what());
    return false;
  }
}

// Collective: none where a rail failed meanwhile, since what was sent over it went over another.
void add_rail_plogp(Stage& stage, const measure::CharacterizeOptions& how, net::Network& network) {
  std::vector<net::RailPLogP> measured;
  std::string why_none;
  try {
    measured =
        measure::measure_plogp_on_rails(*stage.transport, *stage.native, network, stage.rails->kind(), how);
  } catch (const std::exception& error) {  // not on all ranks alike
    why_none = error.what();
  }
  runtime::Agreement agreement(*stage.native, stage.rank(), stage.n_ranks());
  const auto failed = agreement.failed([&] {
    if (!why_none.empty()) throw TransportError(why_none);
    for (const std::string& rail : stage.rails->failed_rails()) throw TransportError(rail + " failed");
  });
  if (failed && stage.rank() == 0)
    std::fprintf(stderr, "eco-rank: no pLogP over rails: %s\n", failed->c_str());
  if (!failed) network.rail_plogp = std::move(measured);
}

// Collective: what is remembered, with rails that were not looked at before measured now.
std::optional<net::Network> taken_as_remembered(Stage& stage, const net::Store& store,
                                                const measure::CharacterizeOptions& how) {
  std::optional<net::Network> network = find_remembered(stage, store, how);
  if (!network) return network;
  const std::vector<int> hosts = runtime::hosts_of_ranks(*network, how.host_of_rank, false);
  if (runtime::knows_rails(*network, *stage.transport, hosts)) return network;
  if (add_rails(stage, how, *network) && stage.rank() == 0) remember(store, *network, false);
  return network;
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
  const Arguments arguments(argc, argv, {"--out", "--budget", "--remembered"},
                            {"--progress", "--plogp", "--rail-plogp"});
  const std::string out = arguments.text("--out");
  const Remembered remembered = remembered_of(arguments);
  const runtime::Options options = options_of_environment();
  Stage stage(options);
  measure::CharacterizeOptions how;
  how.host_of_rank = identities(stage, options);
  how.transport = runtime::transport_name(*stage.native, *stage.transport);
  how.measured_at = base::now_iso8601();
  how.budget_s = arguments.number("--budget", 0, 0, 86400);
  how.plogp = arguments.has("--plogp");
  if (arguments.has("--progress")) how.progress = Progress();
  const net::Store store(options.cache_dir, options.site_dir);
  if (remembered == Remembered::used) {
    if (const auto network = taken_as_remembered(stage, store, how)) {
      if (stage.rank() == 0) write_file(out, net::to_json(*network));
      return 0;
    }
  }
  net::Network network = measure::characterize(*stage.transport, *stage.native, how);
  if (stage.transport->n_rails() > 1) add_rails(stage, how, network);
  const auto keep = [&] {  // rank 0
    write_file(out, net::to_json(network));
    return remembered != Remembered::left && remember(store, network, true);
  };
  if (stage.rank() == 0) {
    const auto before = store.find_network(how.host_of_rank, how.transport).network;
    if (keep() && before) say_outdated(store, *before, network);
  }
  if (arguments.has("--rail-plogp") && network.n_rails() > 1) {
    add_rail_plogp(stage, how, network);
    if (stage.rank() == 0) keep();
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
