// What a communicator learns of the network without being armed, for calls that want to know where its ranks are.
#include <cstdio>
#include <exception>
#include <utility>

#include "eco/base/errors.h"
#include "eco/runtime/finding.h"
#include "eco/runtime/identities.h"
#include "preload/backend/group.h"
#include "preload/backend/library_agreement.h"
#include "preload/backend/session.h"
#include "preload/backend/world.h"

namespace eco::preload {

// Agreed on by the library's collectives on the program's communicator, as arm() does and for its reasons.
std::optional<net::GroupView> Group::find_view(runtime::SaidBeside& beside) {
  try {
    if (is_inter_ || n_ranks_ < 2 || !session_.arms()) return std::nullopt;
    if (runtime_) return runtime_->view();
    const std::optional<std::vector<int>> world_ranks = ranks_in_world();
    if (!world_ranks) return std::nullopt;
    LibraryAgreement agreement(comm_, rank_, n_ranks_);
    std::optional<runtime::KnownView> known;
    runtime::IdentityRoom room;
    bool has_room = true;
    try {
      known = session_.known().find_view(*world_ranks);
      if (!knows_no_network_) room.make(n_ranks_);
    } catch (const std::exception&) {
      has_room = false;  // then all look for it together
    }
    const runtime::Readiness ready = runtime::agree_on_readiness(
        agreement.native, {.has_room = has_room,
                           .budget_left_s = session_.budget_left_s(),
                           .known_digest = known ? known->digest : std::uint64_t{0}});
    if (ready.is_known) return std::move(known->view);
    if (knows_no_network_) return std::nullopt;
    net::GroupView view;
    bool may_look = true;
    // Rails are a matter of the transport.
    if (ready.has_room && !session_.rails().are_there()) {
      runtime::RecalledView recalled = recall_network(agreement, room, beside);
      view = std::move(recalled.seen.view);
      const bool has_time = session_.options().budget_s == 0 || ready.budget_left_s > 0;
      may_look = recalled.found == runtime::Found::measure && has_time && n_ranks_ == world().n_ranks;
    }
    if (view.network)
      remember_view(*world_ranks, view);
    else if (may_look)
      view = look_for_network(agreement, *world_ranks, ready.budget_left_s);
    knows_no_network_ = !view.network;
    if (knows_no_network_) return std::nullopt;
    return view;
  } catch (const Error&) {
    return std::nullopt;  // the library's own collectives failed here, and the program's will tell it so
  } catch (const std::exception& error) {
    lose("look for the network of", error.what());
    return std::nullopt;
  }
}

// Of a job that remembers its network. Needs no tags and no transport.
runtime::RecalledView Group::recall_network(LibraryAgreement& agreement, runtime::IdentityRoom& room,
                                            runtime::SaidBeside& beside) {
  const BusyTime::Turn busy(session_.arming_time());
  try {
    const std::vector<net::HostId> hosts =
        runtime::tell_identities(agreement.steps, agreement.native, session_.identity().host, room);
    return runtime::recall_view(agreement.steps, agreement.native, session_.options(), hosts, beside);
  } catch (const runtime::StaysNative&) {
    return {};
  }
}

// Parts of a job may do this at the same time, and would measure each other: only its whole does.
net::GroupView Group::look_for_network(LibraryAgreement& agreement, const std::vector<int>& world_ranks,
                                       double budget_left_s) {
  int n_world = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &n_world);
  tags_ = session_.tag_ranges().agree(comm_);
  if (!tags_) return {};
  rails_ = session_.rails().join(comm_, rank_, world_ranks);
  if (is_beside_mpi() && !rails_) {
    release();
    return {};
  }
  const BusyTime::Turn busy(session_.arming_time());
  runtime::Options options;
  runtime::ArmResult result;
  const auto reason = agreement.steps.agreement().failed([&] {
    options = options_within(budget_left_s);
    if (n_ranks_ < n_world) options.measure = runtime::MeasurePolicy::never;
    make_transports(world_ranks);
  });
  if (!reason) {
    runtime::ArmRequest request;
    request.network_only = true;
    request.as_remembered = true;  // an order of ranks costs time at worst, and arming will notice
    request.job = &session_.known();
    result = runtime::Communicator::arm(transport(), agreement.native, options, session_.identity(), request);
    session_.note_measuring(result.seconds_measuring);
    if (!result.view.network && !result.reason.empty()) why_native_ = std::move(result.reason);
    // Ended half-way, so messages under these tags may still be on their way: nobody gets them again.
    if (result.failed) lose_tags();
  }
  release();
  if (result.view.network) remember_view(world_ranks, result.view);
  return std::move(result.view);
}

void Group::remember_view(const std::vector<int>& world_ranks, const net::GroupView& view) {
  try {
    session_.known().remember_view(world_ranks, view);
  } catch (const std::exception&) {
    // No memory for it on this rank: its ranks look again next time.
  }
}

}  // namespace eco::preload
