#include "preload/backend/group.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <numeric>
#include <utility>

#include "eco/base/errors.h"
#include "eco/transport/mpi/mpi_native.h"
#include "preload/backend/errors_return.h"
#include "preload/backend/session.h"

namespace eco::preload {
namespace {

constexpr double kMicrosecondsPerSecond = 1e6;
// A vector is kept from call to call up to here; one rare large packed message shall not hold its memory for ever.
constexpr std::size_t kMostPackedKept = std::size_t{16} << 20;

// Local: the ranks in MPI_COMM_WORLD; nothing if some are beyond it, which is the same answer on all ranks: whoever is
// beyond this world for one rank has that rank beyond its own. Ranks that were spawned or connected agreed on nothing
// with this job in MPI_Init, and may run without ECO.
std::optional<std::vector<int>> ranks_in_world(MPI_Comm comm, int n_ranks) {
  MPI_Group members = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  if (PMPI_Comm_group(comm, &members) != MPI_SUCCESS) return std::nullopt;
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  std::vector<int> ranks(static_cast<std::size_t>(n_ranks));
  std::vector<int> in_world(ranks.size(), MPI_UNDEFINED);
  std::iota(ranks.begin(), ranks.end(), 0);
  PMPI_Group_translate_ranks(members, n_ranks, ranks.data(), world, in_world.data());
  PMPI_Group_free(&members);
  PMPI_Group_free(&world);
  if (std::find(in_world.begin(), in_world.end(), MPI_UNDEFINED) != in_world.end()) return std::nullopt;
  return in_world;
}

}  // namespace

Group::Group(Session& session, MPI_Comm comm) : session_(session), comm_(comm) {
  int is_inter = 0;
  PMPI_Comm_test_inter(comm, &is_inter);
  is_inter_ = is_inter != 0;
  PMPI_Comm_size(comm, &n_ranks_);
  PMPI_Comm_rank(comm, &rank_);
  if (is_inter_) {
    stay_native("an inter-communicator");
  } else if (n_ranks_ < 2) {
    stay_native("one rank only");
  } else if (!session.arms()) {
    stay_native(session.why_native());
  } else {
    // Programs make many communicators and use most of them a few times, which does not pay for a plan; the one of
    // the whole job does.
    calls_until_arming_ = comm == MPI_COMM_WORLD ? 0 : session.options().arm_after;
  }
}

void Group::prepare(coll::Collective collective) {
  if (state_ == State::waiting) {
    if (calls_until_arming_-- == 0) arm(collective);
    return;
  }
  if (state_ == State::armed && !runtime_->knows(collective)) learn(collective);
}

void Group::arm(coll::Collective first) {
  try {
    // Asked here and not for every communicator: it costs as much as the communicator has ranks, and most never arm.
    std::optional<std::vector<int>> world_ranks = ranks_in_world(comm_, n_ranks_);
    if (!world_ranks) return stay_native("it reaches beyond this job's MPI_COMM_WORLD");
    const ErrorsReturn errors_return(comm_);
    has_slot_ = session_.take_slot();
    bool has_room = has_slot_;
    const runtime::Options options = agree_on_budget(has_room);
    if (!has_room) {
      return stay_native("as many communicators as ECO_MAX_COMMUNICATORS allows are armed already");
    }
    tags_ = session_.tag_ranges().agree(comm_);
    if (!tags_) return stay_native("the MPI library has no more tags");
    arm_on(*std::move(world_ranks), options, first);
  } catch (const Error& error) {
    // The library's own collectives failed on this communicator, and the program's will tell it so.
    stay_native(error.what());
  } catch (const std::exception& error) {
    lose("arm", error.what());
  }
}

void Group::arm_on(std::vector<int> world_ranks, const runtime::Options& options, coll::Collective first) {
  const TagRanges& ranges = session_.tag_ranges();
  transport_ = std::make_unique<transport::mpi::MpiTransport>(
      session_.private_comm(), transport::mpi::Share{.first_tag = ranges.first_tag(*tags_),
                                                     .n_tags = ranges.tags_per_range(),
                                                     .rank = rank_,
                                                     .ranks = std::move(world_ranks)});
  transport::mpi::MpiNative native(comm_);
  runtime::ArmRequest request;
  // A barrier arms nothing and learns nothing (DESIGN, rule 3): its plan is made here or never.
  request.collectives = {first, coll::Collective::barrier};
  request.trust_network = session_.has_armed();  // this job has looked already
  const double began_s = PMPI_Wtime();
  runtime::ArmResult result =
      runtime::Communicator::arm(*transport_, native, options, session_.identity(), request);
  session_.note_arming(PMPI_Wtime() - began_s, result.seconds_measuring);
  if (!result.communicator) {
    // Ended half-way, so messages under these tags may still be on their way: nobody gets them again.
    if (result.failed) tags_.reset();
    return stay_native(std::move(result.reason));
  }

  runtime_ = std::move(result.communicator);
  state_ = State::armed;
  why_native_ = std::move(result.reason);
  session_.watch(*this);
}

void Group::learn(coll::Collective collective) {
  try {
    const ErrorsReturn errors_return(comm_);
    bool has_room = true;
    const runtime::Options options = agree_on_budget(has_room);
    transport::mpi::MpiNative native(comm_);
    const double began_s = PMPI_Wtime();
    runtime::Learned learned = runtime_->learn(native, options, session_.identity(), collective);
    session_.note_arming(PMPI_Wtime() - began_s, learned.seconds_measuring);
    if (serves_nothing()) why_native_ = std::move(learned.reason);
  } catch (const Error&) {
    // As in arm(). What was planned before stays.
  } catch (const std::exception& error) {
    lose("learn", error.what());
  }
}

// What a communicator's ranks agree on, from here through all of runtime::Communicator::arm() and learn(), they agree on
// by collectives of the library on the program's own communicator, so that ECO needs none of its own. That is sound:
// all ranks are inside one blocking collective of it and make the same calls in there, MPI allows no other thread a
// collective on it meanwhile, and the library keeps collectives apart from point-to-point messages. No attribute of it
// is copied. Its error handler is set aside meanwhile, because an error of ours is no error of the program's call; an
// error in point-to-point calls that other threads make on it at that moment comes back as a code instead.
runtime::Options Group::agree_on_budget(bool& has_room) {
  std::array<std::int64_t, 2> votes = {has_room ? 1 : 0,
                                       std::llround(session_.budget_left_s() * kMicrosecondsPerSecond)};
  if (PMPI_Allreduce(MPI_IN_PLACE, votes.data(), 2, MPI_INT64_T, MPI_MIN, comm_) != MPI_SUCCESS) {
    throw TransportError("MPI_Allreduce failed while a communicator's ranks agreed on their budget");
  }
  has_room = votes[0] == 1;
  runtime::Options options = session_.options();
  if (options.budget_s > 0) {
    if (votes[1] <= 0)
      options.measure = runtime::MeasurePolicy::never;
    else
      options.budget_s = static_cast<double>(votes[1]) / kMicrosecondsPerSecond;
  }
  return options;
}

// Of a rank that has no memory, say, between two agreements: the others know nothing of it and wait there, so this call
// errs as one does that failed half-way.
void Group::lose(const char* doing, const char* reason) {
  std::fprintf(stderr, "eco: cannot %s a communicator of %d ranks (%s); the communicator is lost\n", doing,
               n_ranks_, reason);
  poison();
}

void Group::stay_native(std::string why) {
  release();
  state_ = State::native;
  why_native_ = std::move(why);
}

bool Group::run(const coll::CommonProblem& problem, const algo::Recipe& recipe,
                const exec::Buffers& buffers) {
  if (runtime_->run(problem, recipe, buffers) != transport::Status::ok) poisoned_ = true;
  return !poisoned_;
}

double Group::planned_gain_s(const coll::CommonProblem& problem) const {
  const int subnet = coll::is_rooted(problem.collective)
                         ? runtime_->view().subnet_of_rank[static_cast<std::size_t>(problem.root)]
                         : 0;
  const plan::Row* row = runtime_->table().find_row(problem.collective, subnet, problem.bytes);
  if (row == nullptr || row->native_s <= 0 || row->measured_s <= 0) return 0;
  return row->native_s - row->measured_s;
}

void Group::packed_is_free() {
  for (std::vector<std::byte>* memory : {&packed_.input, &packed_.output}) {
    if (memory->capacity() > kMostPackedKept) std::vector<std::byte>().swap(*memory);
  }
}

void Group::release() {
  if (runtime_) session_.forget(*this);
  runtime_.reset();
  transport_.reset();
  // After an error messages under these tags may still be on their way.
  if (tags_ && !poisoned_) session_.tag_ranges().give_back(*tags_);
  tags_.reset();
  if (has_slot_) session_.give_slot_back();
  has_slot_ = false;
  if (state_ == State::armed) state_ = State::native;
}

}  // namespace eco::preload
