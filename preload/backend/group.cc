#include "preload/backend/group.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "preload/backend/session.h"

namespace eco::preload {
namespace {

constexpr double kMicrosecondsPerSecond = 1e6;
// A vector kept from call to call up to here; one rare large packed broadcast shall not hold its memory for ever.
constexpr std::size_t kMostPackedKept = std::size_t{16} << 20;

// Local, and the same answer on all ranks: whoever is beyond this world for one rank has that rank beyond its own.
// Ranks that were spawned or connected agreed on nothing with this job in MPI_Init, and may run without ECO.
bool within_world(MPI_Comm comm, int n_ranks) {
  if (comm == MPI_COMM_WORLD) return true;
  MPI_Group members = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  if (PMPI_Comm_group(comm, &members) != MPI_SUCCESS) return false;
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  std::vector<int> ranks(static_cast<std::size_t>(n_ranks));
  std::vector<int> in_world(ranks.size(), MPI_UNDEFINED);
  std::iota(ranks.begin(), ranks.end(), 0);
  PMPI_Group_translate_ranks(members, n_ranks, ranks.data(), world, in_world.data());
  PMPI_Group_free(&members);
  PMPI_Group_free(&world);
  return std::find(in_world.begin(), in_world.end(), MPI_UNDEFINED) == in_world.end();
}

}  // namespace

Group::Group(Session& session, MPI_Comm comm) : session_(session), comm_(comm) {
  int is_inter = 0;
  PMPI_Comm_test_inter(comm, &is_inter);
  PMPI_Comm_size(comm, &n_ranks_);
  PMPI_Comm_rank(comm, &rank_);
  if (is_inter != 0) {
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

void Group::count_towards_arming() {
  if (state_ != State::waiting) return;
  if (calls_until_arming_-- == 0) arm();
}

void Group::arm() {
  // Asked here and not for every communicator: it costs as much as the communicator has ranks, and most never arm.
  if (!within_world(comm_, n_ranks_)) return stay_native("it reaches beyond this job's MPI_COMM_WORLD");
  double budget_s = 0;
  if (!all_have_room(budget_s)) {
    return stay_native("as many communicators as ECO_MAX_COMMUNICATORS allows are armed already");
  }
  if (!make_private_communicator()) return stay_native("the MPI library has no more communicators");

  runtime::Options options = session_.options();
  if (options.budget_s > 0) {
    if (budget_s <= 0)
      options.measure = runtime::MeasurePolicy::never;
    else
      options.budget_s = budget_s;
  }
  transport_ = std::make_unique<transport::mpi::MpiTransport>(private_);
  native_ = std::make_unique<transport::mpi::MpiNative>(private_);
  const double began_s = PMPI_Wtime();
  runtime::ArmResult result = runtime::Communicator::arm(*transport_, *native_, options, session_.identity());
  session_.note_arming(PMPI_Wtime() - began_s, result.seconds_measuring);
  if (!result.communicator) return stay_native(std::move(result.reason));

  runtime_ = std::move(result.communicator);
  state_ = State::armed;
  why_native_.clear();
  session_.watch(*this);
}

bool Group::all_have_room(double& budget_s) {
  has_slot_ = session_.take_slot();
  const double left_s = session_.budget_left_s();
  std::array<std::int64_t, 2> votes = {has_slot_ ? 1 : 0, std::llround(left_s * kMicrosecondsPerSecond)};
  if (PMPI_Allreduce(MPI_IN_PLACE, votes.data(), 2, MPI_INT64_T, MPI_MIN, comm_) != MPI_SUCCESS) return false;
  budget_s = static_cast<double>(votes[1]) / kMicrosecondsPerSecond;
  return votes[0] == 1;
}

bool Group::make_private_communicator() {
  // Not a dup, which would call the program's attribute callbacks. Running out of context ids must not end the
  // program, so the error is wanted back; the library reports it on all ranks.
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(comm_, &handler);
  PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  const int code = PMPI_Comm_split(comm_, 0, rank_, &private_);
  PMPI_Comm_set_errhandler(comm_, handler);
  PMPI_Errhandler_free(&handler);
  if (code != MPI_SUCCESS) private_ = MPI_COMM_NULL;
  return code == MPI_SUCCESS;
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
  const int subnet = problem.collective == coll::Collective::broadcast
                         ? runtime_->view().subnet_of_rank[static_cast<std::size_t>(problem.root)]
                         : 0;
  const plan::Row* row = runtime_->table().find_row(problem.collective, subnet, problem.bytes);
  if (row == nullptr || row->native_s <= 0 || row->measured_s <= 0) return 0;
  return row->native_s - row->measured_s;
}

std::vector<std::byte>& Group::packed(std::size_t bytes) {
  packed_.resize(bytes);
  return packed_;
}

void Group::packed_is_free() {
  if (packed_.capacity() > kMostPackedKept) std::vector<std::byte>().swap(packed_);
}

void Group::release() {
  if (runtime_) session_.forget(*this);
  runtime_.reset();
  native_.reset();
  transport_.reset();
  if (private_ != MPI_COMM_NULL) PMPI_Comm_free(&private_);
  if (has_slot_) session_.give_slot_back();
  has_slot_ = false;
  if (state_ == State::armed) state_ = State::native;
}

}  // namespace eco::preload
