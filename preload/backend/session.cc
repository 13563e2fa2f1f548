#include "preload/backend/session.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "eco/runtime/this_host.h"
#include "preload/backend/datatypes.h"
#include "preload/backend/errors_return.h"
#include "preload/backend/job_agreement.h"
#include "preload/backend/profile_file.h"
#include "preload/backend/report.h"
#include "preload/backend/world.h"

namespace eco::preload {
namespace {

std::vector<std::string> environment_names() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

}  // namespace

Session& Session::instance() {
  // Never destroyed: MPI may call back after main, and static destruction has no order across libraries.
  static Session* session = new Session();
  return *session;
}

void Session::start() {
  if (std::exchange(started_, true)) return;
  started_s_ = PMPI_Wtime();
  bool objection = false;
  try {
    read_options();
  } catch (const std::exception& error) {
    objection = true;
    std::fprintf(stderr, "eco: rank %d: %s; the program runs without ECO\n", world().rank, error.what());
  }
  if (switched_off_) options_.mode = runtime::Mode::off;
  if (options_.mode != runtime::Mode::off) background_.open();
  arms_ = agree(objection) && make_private_communicator() && open_rails();
  if (compares_) checks_.open(copy_of_world());
  if (compares_ && !checks_.is_open() && world().rank == 0) {
    std::fprintf(stderr, "eco: the MPI library has no communicator for ECO_CHECK; calls are not compared\n");
  }
  if (!arms_ && !checks_.is_open()) background_.close();
  if (off_) return;
  if (profiles_) clock_at_start_ = read_clock_together();
  find_types();
  pack_over(private_comm_);
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &Session::on_comm_free, &keyval_, this);
  int of_self = MPI_KEYVAL_INVALID;
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &Session::on_self_free, &of_self, this);
  PMPI_Comm_set_attr(MPI_COMM_SELF, of_self, this);
  PMPI_Comm_free_keyval(&of_self);  // it lasts as long as what hangs on it
  running_.store(true, std::memory_order_release);
}

void Session::read_options() {
  options_ = runtime::parse_options([](std::string_view variable) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(variable).c_str());
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  });
  if (!options_.quiet && options_.mode != runtime::Mode::off && world().rank == 0) {
    for (const std::string& name : runtime::unknown_variables(environment_names())) {
      std::fprintf(stderr,
                   "eco: %s is no option of ECO's and is ignored; `eco doctor` lists those there are\n",
                   name.c_str());
    }
  }
  identity_ = {.host = runtime::this_host(options_), .version = ECO_VERSION};
  slots_.store(options_.max_communicators);
  budget_left_us_.store(static_cast<std::int64_t>(options_.budget_s * 1e6));
}

bool Session::agree(bool objection) {
  const Vote vote = options_.mode == runtime::Mode::off ? Vote::off
                    : objection                         ? Vote::objects
                    : options_.profile_file.empty()     ? Vote::agrees
                                                        : Vote::profiles;
  const bool may_have_rails = options_.mode == runtime::Mode::on && background_.is_open();
  const std::string progress = background_.is_open() ? "joined" : "not joined";
  const JobAgreement job =
      agree_in_job({.version = std::string(ECO_VERSION) + ";" + std::to_string(plan::kPlanEpoch),
                    .settings = options_.agreed_text() + "(the library's progress: " + progress + ")\n",
                    .host = identity_.host.name,
                    .vote = vote,
                    .has_plan = !options_.plan_file.empty(),
                    .n_nics = may_have_rails ? JobRails::count_nics(options_) : 0},
                   options_.stall_s);
  same_version_ = job.same_version;
  has_plan_ = job.has_plan;
  nics_ = job.nics;
  const bool agree = job.vote >= Vote::agrees && job.difference.empty();
  profiles_ = agree && job.vote == Vote::profiles;
  compares_ = agree && options_.compare_calls;
  off_ = job.vote == Vote::off;
  if (off_) {
    why_native_ = "it is off on some ranks (ECO=off, or Fortran past ECO), the first of them rank " +
                  std::to_string(job.first_off);
  } else if (job.vote == Vote::objects) {
    why_native_ = "a rank could not read its options";
  } else if (!job.difference.empty()) {
    why_native_ = job.difference;
  } else if (options_.mode == runtime::Mode::observe) {
    why_native_ = "ECO=observe";
  }
  const bool is_said = off_ ? !job.all_off : !job.difference.empty();
  if (is_said && world().rank == 0)
    std::fprintf(stderr, "eco: the program runs without ECO: %s\n", why_native_.c_str());
  if (agree && !profiles_ && world().rank == job.first_profiling)
    std::fprintf(stderr, "eco: no profile: ECO_PROFILE is set on rank %d, but not on rank %d\n",
                 job.first_profiling, job.first_not_profiling);
  return why_native_.empty();
}

bool Session::make_private_communicator() {
  // Now or never: communicators are armed by calls of their own ranks, and this takes all.
  private_comm_ = copy_of_world();
  if (private_comm_ == MPI_COMM_NULL) {
    why_native_ = "the MPI library has no communicator for ECO";
    return false;
  }
  tag_ranges_.open(transport::mpi::largest_tag(), world().n_ranks, world().rank);
  return true;
}

bool Session::open_rails() {
  rails_.open(options_, identity_.host, private_comm_, background_.is_open(), nics_,
              [this] { background_.carry_beside(); });
  if (!options_.is_beside_mpi() || rails_.are_there()) return true;
  why_native_ = "ECO_TRANSPORT=" + std::string(runtime::name(options_.carrier)) + ", and " + rails_.reason();
  return false;
}

// A dup, because in MPI_Init the program has no attributes yet whose callbacks it could call.
MPI_Comm Session::copy_of_world() {
  const ErrorsReturn errors_return(MPI_COMM_WORLD);
  MPI_Comm copy = MPI_COMM_NULL;
  if (PMPI_Comm_dup(MPI_COMM_WORLD, &copy) != MPI_SUCCESS) return MPI_COMM_NULL;
  PMPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  return copy;
}

void Session::finish(bool collective) {
  bool expected = true;
  if (!running_.compare_exchange_strong(expected, false)) return;
  // Whoever is not here misses a call, or calls something else on MPI_COMM_WORLD.
  if (collective && checks_.is_open()) finish_checks();
  watcher_.stop();
  report(*this, collective && same_version_);
  if (profiles_) write_profile(*this, collective);
  rails_.close();
  background_.close();
  // Inside a delete callback the program's communicators are MPI's business already.
  if (collective) {
    release_groups();
    checks_.close();
    pack_over(MPI_COMM_NULL);
    if (private_comm_ != MPI_COMM_NULL) PMPI_Comm_free(&private_comm_);
  }
  // What still hangs on a communicator, as on a session's that outlives MPI_Finalize, is called back when that is freed.
  if (keyval_ != MPI_KEYVAL_INVALID) PMPI_Comm_free_keyval(&keyval_);
}

void Session::finish_checks() {
  const Found found = group(MPI_COMM_WORLD);
  const std::shared_ptr<CallCheck> check = found.group != nullptr ? found.group->check() : nullptr;
  static constexpr const char* kFinalize = "MPI_Finalize";
  const bool differ = check != nullptr && !check->differs() &&
                      !check->agrees(kFinalize, runtime::CallRecord(kFinalize), CallCheck::Waits::yes);
  if (differ) PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
  if (!differ) checks_.drain();
}

void Session::release_groups() {
  std::vector<Group*> groups;
  {
    const std::lock_guard lock(mutex_);
    groups = groups_;
  }
  for (Group* group : groups) PMPI_Comm_delete_attr(group->comm(), keyval_);
}

Session::Found Session::find_group(MPI_Comm comm) const {
  if (comm == MPI_COMM_NULL) return {};
  const std::uint64_t generation = generation_.load(std::memory_order_acquire);
  if (const std::optional<Group*> before = found_groups_.find(comm, generation)) return {.group = *before};
  void* value = nullptr;
  int found = -1;  // stays so if the library never came to look
  const int code = PMPI_Comm_get_attr(comm, keyval_, &value, &found);
  if (code != MPI_SUCCESS || found < 0) return {.refused = true, .code = code};
  Group* const group = found != 0 ? static_cast<Group*>(value) : nullptr;
  found_groups_.keep(comm, generation, group);
  return {.group = group};
}

Session::Found Session::group(MPI_Comm comm) {
  const Found known = find_group(comm);
  if (known.group != nullptr || known.refused || comm == MPI_COMM_NULL) return known;
  auto* made = new Group(*this, comm);
  if (PMPI_Comm_set_attr(comm, keyval_, made) != MPI_SUCCESS) {
    delete made;
    return {};
  }
  generation_.fetch_add(1, std::memory_order_release);
  const std::lock_guard lock(mutex_);
  groups_.push_back(made);
  return {.group = made};
}

bool Session::take_slot() {
  int free = slots_.load();
  while (free > 0) {
    if (slots_.compare_exchange_weak(free, free - 1)) return true;
  }
  return false;
}

void Session::note_measuring(double seconds) {
  measuring_us_.fetch_add(static_cast<std::int64_t>(seconds * 1e6));
  const double earned_s = std::clamp(earned_left_s(), 0.0, seconds);
  earned_spent_us_.fetch_add(static_cast<std::int64_t>(earned_s * 1e6));
  budget_left_us_.fetch_sub(static_cast<std::int64_t>((seconds - earned_s) * 1e6));
}

void Session::note_armed(const Group& group) {
  note_learned(group);
  const std::lock_guard lock(mutex_);
  ++armed_;
}

void Session::note_learned(const Group& group) {
  const std::lock_guard lock(mutex_);
  provenance_ = group.armed()->provenance();
}

std::unique_ptr<Watch> Session::watch(const exec::FlightRecorder& recorder, int rank, int n_ranks,
                                      const char* doing) {
  std::string who = "rank " + std::to_string(world().rank) + " (" + std::to_string(rank) + " of " +
                    std::to_string(n_ranks) + " in its communicator)" + doing;
  return std::make_unique<Watch>(watcher_, recorder, std::move(who),
                                 Watcher::When{.stall_s = options_.stall_s, .signal = options_.stall_signal});
}

Session::Summary Session::summary() {
  const std::lock_guard lock(mutex_);
  Summary summary{.provenance = provenance_,
                  .armed = armed_,
                  .communicators = freed_,
                  .wall_s = PMPI_Wtime() - started_s_,
                  .arming_s = arming_time_.seconds(),
                  .measuring_s = static_cast<double>(measuring_us_.load()) * 1e-6};
  for (const Group* group : groups_) summary.communicators.add(*group);
  return summary;
}

void Session::Communicators::add(const Group& group) {
  OfSize& same_size = by_size[group.n_ranks()];
  ++same_size.number;
  if (!group.serves_nothing()) {
    ++able;
    return;
  }
  ++native[group.why_native()];
  ++same_size.native[group.why_native()];
}

int Session::on_comm_free(MPI_Comm, int, void* value, void* extra) {
  auto* session = static_cast<Session*>(extra);
  auto* group = static_cast<Group*>(value);
  {
    const std::lock_guard lock(session->mutex_);
    std::erase(session->groups_, group);
    session->freed_.add(*group);
  }
  session->generation_.fetch_add(1, std::memory_order_release);
  delete group;
  return MPI_SUCCESS;
}

int Session::on_self_free(MPI_Comm, int, void*, void* extra) {
  static_cast<Session*>(extra)->finish(/*collective=*/false);
  return MPI_SUCCESS;
}

}  // namespace eco::preload
