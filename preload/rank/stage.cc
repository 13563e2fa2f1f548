#include "preload/rank/stage.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/net/io.h"
#include "eco/runtime/agreement.h"
#include "eco/runtime/communicator.h"
#include "eco/runtime/this_host.h"
#include "preload/rank/identities.h"

namespace eco::rank {

Stage::Stage() {
  PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
  transport = std::make_unique<transport::mpi::MpiTransport>(comm);
  native = std::make_unique<transport::mpi::MpiNative>(comm);
}

Stage::~Stage() { PMPI_Comm_free(&comm); }

namespace {

net::GroupView view_of(Stage& stage, const std::string& network_file) {
  runtime::Agreement agreement(*stage.native, stage.rank(), stage.n_ranks());
  std::string text;
  const auto reason = agreement.failed([&] {
    if (stage.rank() == 0) text = net::to_json(net::load_network(network_file));
  });
  if (reason) throw InvalidArgument(*reason);
  const auto network =
      std::make_shared<const net::Network>(net::parse_network(agreement.share(std::move(text)), "network"));
  const auto identities =
      gather_identities(*stage.native, stage.n_ranks(), runtime::this_host(options_of_environment()));
  return net::make_view(network, runtime::hosts_of_ranks(*network, identities, true));
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
