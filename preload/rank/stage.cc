#include "preload/rank/stage.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string_view>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/net/io.h"
#include "eco/runtime/agreement.h"
#include "eco/runtime/communicator.h"
#include "eco/runtime/identities.h"
#include "eco/runtime/rails.h"
#include "eco/runtime/steps.h"
#include "eco/runtime/this_host.h"
#include "eco/transport/joined.h"
#include "eco/transport/mpi/progress.h"
#include "eco/transport/open_rails.h"

namespace eco::rank {

Stage::Stage(const runtime::Options& options) {
  PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
  native = std::make_unique<transport::mpi::MpiNative>(comm);
  messages = std::make_unique<transport::mpi::MpiTransport>(comm);
  if (options.carrier != runtime::Carrier::mpi) open_rails(options);
  if (on_rails && options.is_beside_mpi()) {
    transport = std::move(on_rails);
  } else if (on_rails) {
    transport = std::make_unique<transport::JoinedTransport>(*messages, *on_rails);
  } else {
    transport = std::move(messages);
  }
}

void Stage::open_rails(const runtime::Options& options) {
  namespace tcp = transport::tcp;
  const int rank = messages->rank();
  const int n_ranks = messages->n_ranks();
  tcp::MetOnRails met = transport::open_rails(*native, rank, n_ranks,
                                              runtime::wanted_rails(options, runtime::this_host(options)),
                                              options.carrier == runtime::Carrier::ucx);
  if (rank == 0 && !met.reason.empty() &&
      (met.transport || options.is_beside_mpi() || !options.rails.empty()))
    std::fprintf(stderr, "eco-rank: rails: %s\n", met.reason.c_str());
  if (!met.transport && options.is_beside_mpi())
    throw Unsupported("ECO_TRANSPORT=" + std::string(runtime::name(options.carrier)) + ", and " + met.reason);
  if (!met.transport) return;
  std::vector<int> ranks(static_cast<std::size_t>(n_ranks));
  std::iota(ranks.begin(), ranks.end(), 0);
  rails = std::make_shared<transport::SharedRails>(std::move(met.transport), tcp::names_of(met.rails),
                                                   [this] { transport::mpi::make_progress(comm); });
  const int n_tags = std::min(messages->max_tag(), transport::kMaxRailTag) + 1;
  on_rails = std::make_unique<transport::RailShare>(
      rails,
      transport::RailShare::Part{.first_tag = 0, .n_tags = n_tags, .rank = rank, .ranks = std::move(ranks)});
}

Stage::~Stage() {
  if (rails) rails->close();
  PMPI_Comm_free(&comm);
}

std::vector<net::HostId> identities(Stage& stage, const runtime::Options& options) {
  runtime::Steps steps(*stage.native, stage.rank(), stage.n_ranks());
  runtime::IdentityRoom room;
  room.make(stage.n_ranks());
  return runtime::tell_identities(steps, *stage.native, runtime::this_host(options), room);
}

namespace {

net::GroupView view_of(Stage& stage, const std::string& network_file) {
  runtime::Agreement agreement(*stage.native, stage.rank(), stage.n_ranks());
  std::string text;
  const auto reason = agreement.failed([&] {
    if (stage.rank() == 0) text = net::to_json(net::load_network(network_file));
  });
  if (reason) throw InvalidArgument(*reason);
  net::Network known = net::parse_network(agreement.share(std::move(text)), "network");
  runtime::fit_rails(known, *stage.transport);
  const auto network = std::make_shared<const net::Network>(std::move(known));
  return net::make_view(network,
                        runtime::hosts_of_ranks(*network, identities(stage, options_of_environment()), true));
}

}  // namespace

Rehearsal::Rehearsal(Stage& stage, const std::string& network_file)
    : one_clock(runtime::reads_one_clock(*stage.native, stage.rank(), stage.n_ranks())),
      view(view_of(stage, network_file)),
      trials(*stage.transport, *stage.native, view, runtime::CommonStart(*stage.native, one_clock)) {}

void Progress::operator()(const std::string& what, double fraction) {
  const int percent = static_cast<int>(std::floor(fraction * 100));
  if (percent == percent_ && what == what_) return;
  percent_ = percent;
  what_ = what;
  std::fprintf(stderr, "eco-rank: %d %% %s\n", percent, what.c_str());
  std::fflush(stderr);
}

runtime::Options options_of_environment() {
  return runtime::parse_options([](std::string_view variable) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(variable).c_str());
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  });
}

coll::Collective collective_of(const std::string& operation) {
  const auto known = coll::collective_from_name(operation);
  if (!known) throw InvalidArgument("eco-rank: no operation '" + operation + "'");
  return *known;
}

std::vector<coll::Collective> collectives_of(const std::vector<std::string>& operations) {
  std::vector<coll::Collective> collectives;
  for (const std::string& operation : operations) {
    const coll::Collective collective = collective_of(operation);
    if (std::find(collectives.begin(), collectives.end(), collective) == collectives.end())
      collectives.push_back(collective);
  }
  return collectives;
}

coll::CommonProblem problem_of(const std::string& operation, std::size_t bytes, int root, int n_ranks) {
  coll::CommonProblem problem;
  problem.collective = collective_of(operation);
  if (root < 0 || root >= n_ranks) {
    throw InvalidArgument("eco-rank: root " + std::to_string(root) + " is not among the " +
                          std::to_string(n_ranks) + " ranks");
  }
  problem.n_ranks = n_ranks;
  problem.root = coll::is_rooted(problem.collective) ? root : 0;
  const bool is_barrier = problem.collective == coll::Collective::barrier;
  if (coll::is_reduction(problem.collective) && !is_barrier) problem.element_bytes = sizeof(double);
  problem.bytes = is_barrier ? 0 : coll::whole_bytes(problem, bytes);
  return problem;
}

void write_file(const std::string& path, const std::string& text) {
  if (const auto reason = base::write_text_atomically(path, text)) throw Error(*reason);
}

}  // namespace eco::rank
