#include "preload/backend/group.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <numeric>
#include <utility>

#include "eco/base/assert.h"
#include "eco/base/errors.h"
#include "eco/runtime/rails.h"
#include "preload/backend/library_agreement.h"
#include "preload/backend/session.h"
#include "preload/backend/world.h"

namespace eco::preload {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;
// Where cells of all roots are one.
constexpr int kAnyRoot = 0;

template <class Work>
std::int64_t works(const Work& work) {
  try {
    work();
    return 1;
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace

Group::Group(Session& session, MPI_Comm comm) : session_(session), comm_(comm) {
  int is_inter = 0;
  PMPI_Comm_test_inter(comm, &is_inter);
  is_inter_ = is_inter != 0;
  PMPI_Comm_size(comm, &n_ranks_);
  PMPI_Comm_rank(comm, &rank_);
  if (session.profiles()) {
    profile_ = session.profile().of_size(n_ranks_);
    const auto ranks = is_inter_ || n_ranks_ < 2 ? std::nullopt : ranks_in_world();
    if (ranks) arrivals_ = session.profile().arrivals().of_ranks(*ranks);
  }
  if (is_inter_) {
    stay_native("an inter-communicator");
  } else if (n_ranks_ < 2) {
    stay_native("one rank only");
  } else if (!session.arms()) {
    stay_native(session.why_native());
  } else {
    // Programs make many communicators and use most of them a few times, which does not pay for a plan. There is one of
    // the whole job, and what is measured for it serves later jobs.
    const bool is_world = comm == MPI_COMM_WORLD;
    arm_after_ = session.options().arm_after;
    if (is_world && (arm_after_ || session.has_plan())) arm_after_ = 0;
    if (is_world) pace_ = runtime::Pace(runtime::Pace::kFirstOfWorld);
    arms_when_due_ = is_world || arm_after_;
  }
}

// Whoever is beyond this world for one rank has that rank beyond its own. Ranks that were spawned or connected agreed on
// nothing with this job in MPI_Init, and may run without ECO.
std::optional<std::vector<int>> Group::ranks_in_world() const {
  MPI_Group members = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  if (PMPI_Comm_group(comm_, &members) != MPI_SUCCESS) return std::nullopt;
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  std::vector<int> ranks(static_cast<std::size_t>(n_ranks_));
  std::vector<int> in_world(ranks.size(), MPI_UNDEFINED);
  std::iota(ranks.begin(), ranks.end(), 0);
  PMPI_Group_translate_ranks(members, n_ranks_, ranks.data(), world, in_world.data());
  PMPI_Group_free(&members);
  PMPI_Group_free(&world);
  if (std::find(in_world.begin(), in_world.end(), MPI_UNDEFINED) != in_world.end()) return std::nullopt;
  return in_world;
}

Group::~Group() {
  release();
  if (check_) check_->forget_comm();
}

void Group::prepare(const coll::CommonProblem& problem) {
  if (state_ == State::waiting) {
    if (!left_native_.knows(problem, kAnyRoot) && is_due(problem.bytes)) arm(problem, AtHand::yes);
    note_missed(problem);
  }
  if (state_ != State::armed) return;
  if (!runtime_->knows(problem) || runtime_->may_be_learned_again(problem)) learn(problem);
  is_behind_open_ = std::exchange(is_open_, runtime_->is_open(problem));
  learn_wishes();
  if (runtime_->asks_who_is_late(problem.collective)) ask_who_is_late(problem.collective);
  if (runtime_->asks_about_ambient()) ask_about_ambient();
  runtime_->begin_call(problem);
}

void Group::note_beside(const coll::CommonProblem& call) {
  pace_.note(call.bytes);
  note_missed(call);
  if (!left_native_.knows(call, kAnyRoot)) beside_ = call;
}

void Group::prepare_in_barrier() {
  const std::optional<coll::CommonProblem> beside = std::exchange(beside_, std::nullopt);
  if (state_ == State::waiting && beside && is_due(0)) arm(*beside, AtHand::no);
  if (state_ == State::armed) learn_wishes();
}

bool Group::is_due(std::size_t bytes) {
  if (std::exchange(is_due_, false)) return true;
  if (!arm_after_) return pace_.is_due(bytes);
  if (passed_ == *arm_after_) return true;
  ++passed_;
  return false;
}

// What a communicator's ranks agree on, from here through all of runtime::Communicator::arm() and learn(), they agree on
// by collectives of the library on the program's own communicator, so that ECO needs none of its own. That is sound:
// all ranks are inside one blocking collective of it and make the same calls in there, MPI allows no other thread a
// collective on it meanwhile, and the library keeps collectives apart from point-to-point messages. No attribute of it
// is copied. Its error handler is set aside meanwhile, because an error of ours is no error of the program's call; an
// error in point-to-point calls that other threads make on it at that moment comes back as a code instead.
void Group::arm(const coll::CommonProblem& problem, AtHand at_hand) {
  try {
    // Asked here and not for every communicator: it costs as much as the communicator has ranks, and most never arm.
    const std::optional<std::vector<int>> world_ranks = ranks_in_world();
    if (!world_ranks) return stay_native("it reaches beyond this job's MPI_COMM_WORLD");
    LibraryAgreement agreement(comm_, rank_, n_ranks_);
    runtime::KnownInJob& job = session_.known();
    const std::shared_ptr<const runtime::KnownGroup> known = job.find(*world_ranks);
    const bool may_be_first = n_ranks_ == world().n_ranks && session_.claim_first();
    has_slot_ = session_.take_slot();
    TagRanges::Proposal tags(session_.tag_ranges());
    const runtime::Readiness ready = runtime::agree_on_readiness(
        agreement.native, {.has_room = has_slot_,
                           .is_first = may_be_first,
                           .budget_left_s = session_.budget_left_s(),
                           .passed_s = static_cast<double>(passed_ns_) / kNanosecondsPerSecond,
                           .arming_s = job.arming_s(false),
                           .known_arming_s = job.arming_s(true),
                           .known_gain_s = known && at_hand == AtHand::yes ? known->gain_s(problem) : 0,
                           .missed_gain_s = known ? missed_.gain_s(*known) : 0,
                           .early_s = session_.early_arming_left_s(),
                           .known_digest = known ? known->digest : 0,
                           .proposed_tags = tags.range()});
    const bool leaves_native = ready.is_known && known->leaves_native(problem);
    if (leaves_native || !(arms_when_due_ || ready.pays) || !may_try(ready.budget_left_s, tried_arming_s_)) {
      if (leaves_native) {
        left_native_.add(problem, kAnyRoot);
        why_native_ = runtime::kAsGood;
      }
      if (may_be_first) session_.give_first_back();
      return give_slot_back();
    }
    if (!ready.has_room) {
      return stay_native("as many communicators as ECO_MAX_COMMUNICATORS allows are armed already");
    }
    if (ready.same_tags) tags_ = tags.keep();
    if (!tags_) {
      tags.give_up();
      tags_ = session_.tag_ranges().agree(comm_);
    }
    if (!tags_) return stay_native("the MPI library has no more tags");
    rails_ = session_.rails().join(comm_, rank_, *world_ranks);
    if (is_beside_mpi() && !rails_)
      return stay_native("the job's transport over its rails is lost, or has no more tags");
    arm_on(agreement, *world_ranks, ready.budget_left_s, problem, ready.is_known ? known.get() : nullptr);
  } catch (const Error& error) {
    // The library's own collectives failed on this communicator, and the program's will tell it so.
    stay_native(error.what());
  } catch (const std::exception& error) {
    lose("arm", error.what());
  }
}

void Group::arm_on(LibraryAgreement& agreement, const std::vector<int>& world_ranks, double budget_left_s,
                   const coll::CommonProblem& first, const runtime::KnownGroup* known) {
  const BusyTime::Turn busy(session_.arming_time());
  const double began_s = PMPI_Wtime();
  const bool was_known = known != nullptr;
  runtime::Options options;
  const auto open = [&]() -> transport::Transport& {
    if (!transport_) {
      options = options_within(budget_left_s);
      make_transports(world_ranks);
    }
    return transport();
  };
  if (known != nullptr) {
    if (auto reason = agreement.steps.agreement().failed([&] { open(); }))
      return stay_native(std::move(*reason));
    // What is known may be planned for rails that were lost meanwhile, or that have no more tags.
    if (!runtime::choose_rails(*known->view.network, transport())) known = nullptr;
  }
  runtime::ArmResult result;
  if (known != nullptr) {
    result = runtime::Communicator::arm_known(transport(), agreement.native, *known);
  } else {
    runtime::ArmRequest request;
    // A barrier learns nothing for itself: its plan is made here or never.
    request.collectives = {coll::Collective::barrier};
    // What follows a graph is remembered with that, and learned beside.
    if (!coll::follows_graph(first.collective)) {
      request.collectives.push_back(first.collective);
      request.call = first;
    }
    request.job = &session_.known();
    result = runtime::Communicator::arm(agreement.steps, agreement.native, open, options, session_.identity(),
                                        request);
  }
  const double took_s = PMPI_Wtime() - began_s;
  session_.note_measuring(result.seconds_measuring);
  if (was_known) session_.note_known_arming(took_s);
  if (result.view.network) remember_view(world_ranks, result.view);
  session_.known().note_arming(known != nullptr, took_s - result.seconds_measuring);
  if (!result.communicator) {
    const bool had_no_budget = options.measure != session_.options().measure;
    if (result.wants_time || (had_no_budget && !result.failed))
      return try_again_later(budget_left_s, std::move(result.reason));
    // Ended half-way, so messages under these tags may still be on their way: nobody gets them again.
    if (result.failed) lose_tags();
    return stay_native(std::move(result.reason));
  }

  runtime_ = std::move(result.communicator);
  // Broadcasts that form receive from anybody, which these can't.
  const bool forms = session_.options().late && !is_beside_mpi();
  const bool follows = session_.options().ambient.has_value();
  std::array<std::int64_t, 2> able = {1, 1};  // on all ranks, to form and to follow
  const auto adapt = [&] {
    if (forms) {
      able[0] = works(
          [&] { runtime_->form_around_the_late(*session_.options().late, session_.options().forming); });
    }
    if (follows) able[1] = works([&] { runtime_->follow_ambient(*session_.options().ambient); });
  };
  if (forms || follows) agreement.steps.agreement().failed(adapt, able);
  if (able[0] == 0) runtime_->stay_static();
  if (able[1] == 0) runtime_->ignore_ambient();
  adapts_ = runtime_->forms_around_the_late() || runtime_->follows_ambient();
  state_ = State::armed;
  why_native_ = std::move(result.reason);
  session_.note_armed(*this);
  watch_ = session_.watch(runtime_->recorder(), rank_, n_ranks_);
  if (known == nullptr) {
    tried_learning_s_[static_cast<std::size_t>(first.collective)] = budget_left_s - result.seconds_measuring;
    remember(world_ranks);
  }
}

// The first half of the tags is for calls that the program waits in, one after the other, and for what is tried
// while arming; the second for those that run beside them.
void Group::make_transports(std::vector<int> world_ranks) {
  TagRanges& ranges = session_.tag_ranges();
  const int half = ranges.tags_per_range() / 2;
  transport::mpi::Share share{.first_tag = ranges.first_tag(*tags_),
                              .n_tags = half,
                              .rank = rank_,
                              .ranks = std::move(world_ranks),
                              .members = comm_};
  transport_ = std::make_unique<transport::mpi::MpiTransport>(session_.private_comm(), share);
  if (rails_ && !is_beside_mpi())
    joined_ = std::make_unique<transport::JoinedTransport>(*transport_, rails_->share());
  lane_ = std::make_shared<Lane>();
  share.first_tag += half;
  share.members = MPI_COMM_NULL;  // no groups there (Recipe::has_native_parts)
  lane_->comm = comm_;
  lane_->private_comm = session_.private_comm();
  lane_->share = std::move(share);
  lane_->give_tags_back = [&ranges, range = *tags_] { ranges.give_back(range); };
  if (check()) check()->set_lane(lane_);
  tags_.reset();
}

bool Group::any_order() const { return session_.options().any_order; }

bool Group::is_beside_mpi() const { return session_.options().is_beside_mpi(); }

transport::Transport& Group::transport() const {
  if (joined_) return *joined_;
  if (rails_) return rails_->share();
  return *transport_;
}

void Group::lose_tags() {
  if (lane_) lane_->lost = true;
  if (rails_) rails_->lose();
}

const std::shared_ptr<CallCheck>& Group::check() {
  if (std::exchange(has_check_, true)) return check_;
  if (!session_.checks().is_open() || is_inter_ || n_ranks_ < 2) return check_;
  if (std::optional<std::vector<int>> world_ranks = ranks_in_world()) {
    check_ = std::make_shared<CallCheck>(comm_, session_.checks().over(), rank_, std::move(*world_ranks));
    session_.checks().add(check_);
  }
  return check_;
}

bool Group::has_lane() const {
  return session_.serves_beside() && runtime_ && lane_ && runtime_->channels() <= lane_->share.n_tags;
}

void Group::schedule(BackgroundCall& call, const algo::Recipe& recipe) {
  const runtime::Communicator::Beside beside = runtime_->beside(call.problem, recipe);
  call.schedule = beside.schedule;
  call.recipe_digest = beside.recipe_digest;
  call.n_tags = beside.schedule->n_channels;  // all its ranks count them alike
  ECO_ASSERT(light, call.n_tags <= lane_->share.n_tags, "more channels than tags");
  call.check = check();
  if (call.check) call.number_in_check = call.check->n_calls();
  call.counted = {.gain = planned_gain(call.problem), .crossing = beside.crossing, .profile = profile_};
}

// With so much more than the last time.
bool Group::may_try(double budget_left_s, double tried_s) {
  constexpr double kMore = 1.25;
  return budget_left_s >= kMore * tried_s;
}

// As the program's calls earn it (Session::budget_left_s()), after more calls that all ranks count alike.
void Group::try_again_later(double budget_left_s, std::string why) {
  release();
  tried_arming_s_ = budget_left_s;
  arm_after_.reset();
  arms_when_due_ = false;
  why_native_ = std::move(why);
}

void Group::session_passed(std::uint64_t nanoseconds) {
  session_.note_passed(nanoseconds, is_open_ || is_behind_open_);
}

void Group::learn(const coll::CommonProblem& call) {
  passed_calls_.forget();
  try {
    LibraryAgreement agreement(comm_, rank_, n_ranks_);
    const runtime::Readiness ready =
        runtime::agree_on_readiness(agreement.native, {.budget_left_s = session_.budget_left_s()});
    double& tried_s = tried_learning_s_[static_cast<std::size_t>(call.collective)];
    if (runtime_->knows(call) && !may_try(ready.budget_left_s, tried_s)) return;
    const BusyTime::Turn busy(session_.arming_time());
    runtime::Options options;
    if (agreement.steps.agreement().failed([&] { options = options_within(ready.budget_left_s); })) return;
    tried_s = ready.budget_left_s;
    if (coll::follows_graph(call.collective)) runtime_->follow(neighbors_);
    const bool served = !serves_nothing();
    const double earned_s = std::clamp(session_.earned_left_s(), 0.0, ready.budget_left_s);
    runtime::Learned learned =
        runtime_->learn(agreement.native, options, session_.identity(), call, earned_s);
    session_.note_measuring(learned.seconds_measuring);
    session_.note_learned(*this);
    if (serves_nothing()) why_native_ = std::move(learned.reason);
    if (served && serves_nothing()) return;  // the transport was lost, which says nothing of others'
    if (const auto world_ranks = ranks_in_world()) remember(*world_ranks);
  } catch (const Error&) {
    // As in arm(). What was planned before stays.
  } catch (const std::exception& error) {
    lose("learn", error.what());
  }
}

void Group::learn_wishes() {
  if (!std::exchange(has_wishes_, false)) return;
  for (std::optional<coll::CommonProblem>& wish : wished_) {
    const std::optional<coll::CommonProblem> wished = std::exchange(wish, std::nullopt);
    if (wished && !runtime_->knows(*wished)) learn(*wished);
  }
}

void Group::ask_who_is_late(coll::Collective collective) {
  try {
    LibraryAgreement agreement(comm_, rank_, n_ranks_);
    runtime_->ask_who_is_late(agreement.native, collective);
    session_.counters().late_account().add(runtime_->take_late_account());
  } catch (const std::exception& error) {
    lose("agree on who is late in", error.what());  // others may form by now
  }
}

void Group::ask_about_ambient() {
  try {
    LibraryAgreement agreement(comm_, rank_, n_ranks_);
    const runtime::AmbientWatch::Told before = runtime_->ambient_watch()->told();
    runtime_->ask_about_ambient(agreement.native);
    if (runtime_->follows_ambient())
      session_.counters().ambient(runtime_->ambient_watch()->told().since(before));
    session_.counters().ambient_account().add(runtime_->take_ambient_account());
  } catch (const std::exception& error) {
    lose("agree on ambient traffic in", error.what());  // others may serve by another recipe by now
  }
}

Fate Group::fate_of(const coll::CommonProblem& call) const {
  if (!may_serve()) return Fate::communicator;
  if (!runtime_) return Fate::waiting;
  if (runtime_->passes_this_call()) return Fate::late;
  return runtime_->is_open(call) ? Fate::unplanned : Fate::plan;
}

runtime::Options Group::options_within(double budget_left_s) const {
  runtime::Options options = session_.options();
  if (options.budget_s == 0) return options;
  if (budget_left_s <= 0)
    options.measure = runtime::MeasurePolicy::never;
  else
    options.budget_s = budget_left_s;
  return options;
}

void Group::remember(const std::vector<int>& world_ranks) {
  try {
    session_.known().remember(world_ranks, runtime_->known_group());
  } catch (const std::exception&) {
    // No memory for it on this rank: then this rank knows nothing, and its groups arm from nothing.
  }
}

void Group::give_slot_back() {
  if (has_slot_) session_.give_slot_back();
  has_slot_ = false;
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

plan::Gain Group::planned_gain(const coll::CommonProblem& problem) const {
  return runtime_->table().gain(problem, runtime_->view());
}

void Group::release() {
  passed_calls_.forget();
  watch_.reset();
  runtime_.reset();
  // After an error messages under these tags may still be on their way.
  if (poisoned_) lose_tags();
  joined_.reset();
  rails_.reset();
  transport_.reset();
  if (tags_) session_.tag_ranges().give_back(*tags_);
  tags_.reset();
  if (lane_) session_.background().forget_comm(*lane_);
  lane_.reset();
  give_slot_back();
  if (state_ == State::armed) state_ = State::native;
}

}  // namespace eco::preload
