#include "eco/runtime/communicator.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "eco/algo/algorithm.h"
#include "eco/base/assert.h"
#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/late/channels.h"
#include "eco/runtime/abandoned.h"
#include "eco/runtime/combine.h"
#include "eco/runtime/common_start.h"

namespace eco::runtime {
namespace {

using coll::Collective;
using coll::CommonProblem;
using transport::Status;

// A program alternates between few sizes; beyond that building costs less than looking.
constexpr std::size_t kBuiltKept = 8;
// While recipes are compared each call has another.
constexpr std::size_t kBuiltKeptInRaces = AmbientWatch::kCells * AmbientWatch::kContenders;

// Tags come again after so many large calls. Any number would do, since messages of one tag match in order; several
// make a message of the wrong call show as a mismatch instead of as wrong bytes, and transports remember each tag.
constexpr int kTagTurns = 64;
// Whoever is in a call for so many times as long as it takes, and the patience of a form, was not late to it.
constexpr std::int64_t kWaited = 2;

bool same_call(const CommonProblem& a, const CommonProblem& b) {
  const auto all = [](const CommonProblem& p) {
    return std::tuple(p.collective, p.n_ranks, p.root, p.bytes, p.element_bytes, p.commutative, p.exact,
                      p.neighbors);
  };
  return all(a) == all(b);
}

}  // namespace

Communicator::Communicator(transport::Transport& transport, net::GroupView view, plan::PlanTable table)
    : transport_(transport),
      view_(std::move(view)),
      table_(std::move(table)),
      running_(std::make_shared<Running>(transport)),
      known_(view_.n_subnets()) {
  built_.reserve(kBuiltKept);
}

bool Communicator::may_be_served(const CommonProblem& problem) const {
  return problem.n_ranks == view_.n_ranks() &&
         (problem.bytes > 0 || problem.collective == Collective::barrier);
}

// Null: none, or its ranks may differ in their bytes (learn()).
const plan::Row* Communicator::row_of(const CommonProblem& call) const {
  if (coll::follows_graph(call.collective)) return nullptr;
  return table_.find_row(call.collective, plan::root_subnet(call, view_), call.bytes);
}

bool Communicator::is_open(const CommonProblem& call) const {
  const plan::Row* const row = row_of(call);
  return row != nullptr && row->open;
}

bool Communicator::stands(const CommonProblem& call) const {
  const plan::Row* const row = row_of(call);
  return row != nullptr && row->stands();
}

bool Communicator::may_be_learned_again(const CommonProblem& call) {
  return is_open(call) && again_[static_cast<std::size_t>(call.collective)].is_due(call.bytes);
}

const algo::Recipe* Communicator::served_by_table(const CommonProblem& problem) const {
  const algo::Recipe* recipe = table_.lookup(problem.collective, plan::root_subnet(problem, view_),
                                             problem.bytes, problem.commutative);
  if (recipe == nullptr || is_built(problem, *recipe)) return recipe;
  // Rows were planned for some elements and some root of the subnet: what does not fit others is the library's.
  return algo::why_not(*recipe, problem, view_) ? nullptr : recipe;
}

bool Communicator::is_built(const CommonProblem& problem, const algo::Recipe& recipe) const {
  return std::any_of(built_.begin(), built_.end(), [&](const Built& known) {
    return same_call(known.problem, problem) && known.recipe == recipe;
  });
}

const Communicator::Built& Communicator::built(const CommonProblem& problem, const algo::Recipe& recipe) {
  for (Built& known : built_) {
    if (same_call(known.problem, problem) && known.recipe == recipe) {
      known.last_use = calls_;
      return known;
    }
  }
  const algo::Algorithm* algorithm = algo::find(recipe.algorithm);
  ECO_ASSERT(light, algorithm != nullptr, "a table holds known recipes only");
  if (built_.size() >= (watch_ ? kBuiltKeptInRaces : kBuiltKept)) {
    built_.erase(std::min_element(built_.begin(), built_.end(),
                                  [](const Built& a, const Built& b) { return a.last_use < b.last_use; }));
  }
  auto schedule = std::make_shared<const sched::Schedule>(
      algorithm->build(problem, view_, recipe.params, transport_.rank()));
  built_.push_back({problem,
                    recipe,
                    std::move(schedule),
                    std::stoull(base::digest(recipe.text()), nullptr, 16),
                    {},
                    calls_});
  if (late_) form(built_.back());
  if (view_.n_subnets() > 1)
    built_.back().crossing = sched::count_crossing(*built_.back().schedule, view_.subnet_of_rank);
  return built_.back();
}

void Communicator::reserve(const CommonProblem& problem, const algo::Recipe& recipe, Needs& needs) {
  if (const auto reason = algo::why_not(recipe, problem, view_)) {
    throw InvalidArgument("plan: '" + recipe.text() + "' does not fit this group: " + *reason);
  }
  const sched::Schedule& schedule = *built(problem, recipe).schedule;
  needs.channels = std::max(needs.channels, schedule.n_channels);
  for (const coll::RankGroup& group : schedule.groups) {
    if (std::find(needs.groups.begin(), needs.groups.end(), group) == needs.groups.end())
      needs.groups.push_back(group);
  }
  std::size_t scratch_bytes = schedule.scratch_bytes;
  if (late_) {
    CommonProblem exact = problem;
    exact.exact = true;
    if (const auto form = form_of(recipe, exact))
      scratch_bytes = std::max(scratch_bytes, form->scratch_bytes());
  }
  if (!running_->executor.reserve(scratch_bytes)) {
    throw Unsupported("rank " + std::to_string(transport_.rank()) + " has no memory for " +
                      std::to_string(scratch_bytes) + " bytes of scratch");
  }
}

void Communicator::reserve(const std::vector<plan::Entry>& entries, Needs& needs) {
  for (const plan::Entry& entry : entries) {
    CommonProblem problem;
    problem.collective = entry.collective;
    problem.n_ranks = view_.n_ranks();
    if (coll::follows_graph(entry.collective)) problem.neighbors = view_.neighbors;
    if (coll::is_rooted(entry.collective)) {
      if (entry.root_subnet >= view_.n_subnets()) {
        throw InvalidArgument("plan: there is no subnet " + std::to_string(entry.root_subnet) +
                              " in this group");
      }
      problem.root = view_.subnets[static_cast<std::size_t>(entry.root_subnet)].ranks.front();
    }
    for (const plan::Row& row : entry.rows) {
      problem.bytes = coll::whole_bytes(problem, row.up_to_bytes);
      for (const auto* recipe : {&row.recipe, &row.in_order}) {
        problem.commutative = recipe == &row.recipe;
        if (*recipe) reserve(problem, **recipe, needs);
      }
    }
  }
  check_tags(needs);
}

void Communicator::check_tags(const Needs& needs) const {
  const int n_tags = transport_.max_tag() + 1 - n_forming_tags_;
  if (needs.channels > n_tags) {
    throw Unsupported("the plan needs " + std::to_string(needs.channels) + " tags, the library has " +
                      std::to_string(n_tags));
  }
}

std::shared_ptr<const KnownGroup> Communicator::known_group() const {
  auto known = std::make_shared<KnownGroup>(KnownGroup{view_, table_, known_, provenance_});
  // Others of these ranks have other graphs, or none.
  known->view.neighbors.reset();
  std::erase_if(known->table.entries,
                [](const plan::Entry& entry) { return coll::follows_graph(entry.collective); });
  for (const Collective each : {Collective::neighbor_allgather, Collective::neighbor_alltoall})
    known->planned.forget(each);
  std::string text =
      view_.network->measured_at + ";" + view_.network->fingerprint() + ";" + known->table.to_json();
  for (const int host : view_.host_of_rank) text += " " + std::to_string(host);
  text += " " + known->planned.text();
  known->digest = std::max<std::uint64_t>(1, std::stoull(base::digest(text), nullptr, 16));
  return known;
}

void Communicator::form_around_the_late(late::Plan plan, Forming when) {
  // As many turns as there are ranks: nobody is further ahead of a rank than that (late/mended_broadcast.h), in calls that
  // trust nobody.
  const int n_tags = transport_.max_tag() + 1;
  const auto fits = [&](int n_turns) {
    const int wanted = late::kChannels * n_turns;
    return 2 * wanted <= n_tags && needs_.channels <= n_tags - wanted;
  };
  const int n_trusting_turns = static_cast<int>(Lateness::kTrusting) * view_.n_ranks();
  may_trust_ = when == Forming::where_it_pays && fits(n_trusting_turns);
  n_forming_turns_ = may_trust_ ? n_trusting_turns : view_.n_ranks();
  if (!fits(n_forming_turns_)) return;
  late_ = plan;
  late_account_ = Account(now_ns());
  if (when == Forming::where_it_pays) {
    lateness_ = std::make_unique<std::vector<Lateness>>();
    lateness_->reserve(coll::kCollectives);
    // None is a copy of another, which would have no room for leaves.
    for (int i = 0; i < coll::kCollectives; ++i)
      lateness_->emplace_back(transport_.n_ranks(), transport_.rank());
  }
  n_forming_tags_ = late::kChannels * n_forming_turns_;
  keep_forming_tags_off_rails();
  built_.clear();  // as schedules alone
  Needs needs = needs_;
  reserve(table_.entries, needs);  // once more: memory for the forms
}

void Communicator::stay_static() {
  late_.reset();
  lateness_.reset();
  n_forming_tags_ = 0;
  built_.clear();
}

// Trials may have sent messages of these tags over rails; forms know of none.
void Communicator::keep_forming_tags_off_rails() {
  const auto n_tags = static_cast<std::size_t>(n_forming_tags_);
  if (n_tags > 0)
    transport_.set_rails(transport_.max_tag() + 1 - n_forming_tags_,
                         std::vector<std::uint8_t>(n_tags, transport::kNoRail));
}

std::optional<late::Form> Communicator::form_of(const algo::Recipe& recipe,
                                                const CommonProblem& problem) const {
  if (lateness_ && !late::has_work_ahead(problem)) return std::nullopt;
  // What ends for all at once gains too little to pay for another way than the recipe's.
  if (lateness_ && !coll::is_rooted(problem.collective) && !late::goes_the_same_way(recipe, problem, view_))
    return std::nullopt;
  return late::form_of(*late_, recipe, problem, view_, planned_as_leaves(problem.collective));
}

void Communicator::form(Built& call) const {
  if (!call.schedule->rails.empty()) return;  // forms know of none
  call.forming = form_of(call.recipe, call.problem);
  if (!lateness_ || !late::forms(*late_, call.problem.collective)) return;
  call.library_s = library_s(call.problem, call.recipe);
  call.goes_other_ways = call.forming || call.library_s > 0;
  call.unskewed_s = table_.recipe_s(call.problem, view_);
  call.patience_s = late::patience_s(view_, call.problem);
}

void Communicator::ask_who_is_late(transport::Native& native, Collective collective) {
  Lateness& lateness = lateness_of(collective);
  native.allreduce_min(lateness.question());
  native.allreduce_sum(lateness.sums());
  const bool leaves_change = lateness.conclude();
  if (lateness.verdict() || leaves_change) account_for_late(collective);
  if (!leaves_change) return;
  for (Built& known : built_) {
    if (known.forming && known.problem.collective == collective) form(known);
  }
}

void Communicator::account_for_late(Collective collective) {
  const Lateness& lateness = lateness_of(collective);
  late_account_.add(now_ns(), [&] {
    std::string text =
        std::string(coll::name(collective)) + " of " + std::to_string(view_.n_ranks()) + " ranks";
    if (lateness.verdict()) text += ": " + lateness.verdict()->text();
    std::string leaves;
    for (const int rank : lateness.leaves()) leaves += (leaves.empty() ? "" : ", ") + std::to_string(rank);
    if (leaves.empty() && !lateness.verdict()) leaves = "nobody any more";
    return text + (leaves.empty() ? "" : "; late in most calls: " + leaves);
  });
}

void Communicator::forget_begins() {
  if (!lateness_) return;
  for (Lateness& each : *lateness_) each.forget_begin();
}

Status Communicator::run_forming(const Built& call, late::Form::Trust trust, const exec::Buffers& buffers) {
  const int turn = static_cast<int>(forming_calls_ % static_cast<std::uint64_t>(n_forming_turns_));
  const int tag_base = transport_.max_tag() + 1 - n_forming_tags_ + turn * late::kChannels;
  ++forming_calls_;
  exec::Executor& executor = running_->executor;
  running_->source = call.forming->source(transport_.rank(), buffers, executor.scratch(), trust);
  return executor.run(*running_->source, tag_base, call.digest);
}

// Of what ends for all at once nobody leaves early there either. Numbers that round are to come out alike in all calls, unless
// they may be added up in any order. A least is no time, and calls in a row say nothing beside others.
double Communicator::library_s(const CommonProblem& problem, const algo::Recipe& recipe) const {
  const bool rounds = coll::is_reduction(problem.collective) && !problem.exact;
  if (!coll::is_rooted(problem.collective) || rounds || algo::is_on_rails(recipe)) return 0;
  const plan::Row* const row = row_of(problem);
  if (row == nullptr || !row->is_measured() || row->native_is_least || row->in_a_row) return 0;
  return table_.native_s(problem, view_);
}

bool Communicator::waits_anyway(const CommonProblem& problem) const {
  return late::root_waits(problem.collective) && problem.root == transport_.rank();
}

// What is not known to take any time takes no more than the rank that was in the call for least.
void Communicator::note(Lateness& lateness, const Built& call, std::int64_t took_ns) const {
  const bool waits = waits_anyway(call.problem);
  // In a race calls go over recipes whichever way is tried.
  lateness.note_in_call(took_ns, !waits && !(watch_ && watch_->is_racing()));
  const auto nanoseconds = [](double seconds) { return std::llround(seconds * 1e9); };
  const std::int64_t with_patience_ns = nanoseconds(call.patience_s) + nanoseconds(call.unskewed_s);
  if (last_trusted_)
    return lateness.note_trusted(call.unskewed_s > 0 && took_ns > kWaited * with_patience_ns);
  if (last_formed_) return lateness.note_found(running_->source->late(), may_trust(call));
  if (lateness.way() != Lateness::Way::recipe) return lateness.note_nothing();
  lateness.note_other_ways(call.forming.has_value(), nanoseconds(call.library_s));
  if (waits) return lateness.note_waits_anyway();
  lateness.note_took(took_ns, with_patience_ns + (call.unskewed_s > 0 ? 0 : took_ns));
}

// To the library, for as long as lateness_ says so.
void Communicator::begin_passing(const CommonProblem& problem) {
  passing_ = nullptr;
  if (!lateness_ || lateness_of(problem.collective).way() != Lateness::Way::library) return;
  // There recipes are compared by what these calls take.
  if (watch_ && watch_->is_racing()) return;
  const algo::Recipe* const recipe = serves_this_call(problem);
  if (recipe == nullptr || library_s(problem, *recipe) <= 0) return;
  passing_ = &lateness_of(problem.collective);
  passing_waits_ = waits_anyway(problem);
  passing_->note_begin(now_ns());
}

void Communicator::end_passing(std::int64_t took_ns) {
  Lateness& lateness = *std::exchange(passing_, nullptr);
  lateness.note_in_call(took_ns, !passing_waits_);
  lateness.note_nothing();
}

Status Communicator::run(const CommonProblem& problem, const algo::Recipe& recipe,
                         const exec::Buffers& buffers) {
  if (poisoned_) return Status::failed;
  const Built& call = built(problem, recipe);
  const int tag_base = take_tags(call);
  ++calls_;
  Lateness* const lateness = call.goes_other_ways ? &lateness_of(problem.collective) : nullptr;
  last_formed_ = call.forming && (lateness == nullptr || lateness->way() == Lateness::Way::form);
  last_trusted_ = last_formed_ && lateness != nullptr && lateness->trusts() && may_trust(call);
  const std::int64_t began_ns = lateness != nullptr ? now_ns() : 0;
  if (lateness != nullptr) lateness->note_begin(began_ns);
  const std::int64_t watched_from_ns = watch_ ? watch_clock_() : 0;
  Status status = Status::ok;
  if (problem.collective == Collective::barrier) {
    const exec::Buffers token{.input = running_->token,
                              .output = running_->all_tokens,
                              .input_is_output = false,
                              .combine = or_of_bytes()};
    status = running_->executor.run(*call.schedule, token, tag_base, call.digest);
  } else if (last_formed_) {
    status = run_forming(call, last_trusted_ ? late::Form::Trust::yes : late::Form::Trust::no, buffers);
  } else {
    status = running_->executor.run(*call.schedule, buffers, tag_base, call.digest);
  }
  if (lateness != nullptr) note(*lateness, call, now_ns() - began_ns);
  if (watch_) watch_->note_took(watch_clock_() - watched_from_ns);
  last_crossing_ = call.crossing;
  if (status != Status::ok) {
    poisoned_ = true;
    keep_until_exit(running_);
  }
  return status;
}

// As many as this very call has channels, which all its ranks count alike: another length or root than those that were
// reserved may have more. Of a graph, parts that no edge joins may differ in their bytes (docs/adr/0016), and so take the
// same.
int Communicator::take_tags(const Built& call) {
  const int own = call.schedule->n_channels;
  const int n = coll::follows_graph(call.problem.collective) ? std::max(own, needs_.channels) : own;
  const int n_tags = transport_.max_tag() + 1 - n_forming_tags_;
  ECO_ASSERT(light, n <= n_tags, "more channels than tags");
  if (next_tag_ + n > std::min(n_tags, std::max(n, kTagTurns * needs_.channels))) next_tag_ = 0;
  return std::exchange(next_tag_, next_tag_ + n);
}

Communicator::Beside Communicator::beside(const CommonProblem& problem, const algo::Recipe& recipe) {
  const Built& call = built(problem, recipe);
  return {call.schedule, call.digest, call.crossing};
}

std::vector<int> hosts_of_ranks(const net::Network& network, const std::vector<net::HostId>& identities,
                                bool by_name) {
  if (!by_name) return net::locate_hosts(network, identities);
  // A name that stands for two hosts (network namespaces of one machine) recognises neither.
  constexpr int kTwo = -1;
  std::unordered_map<std::string_view, int> host_named;
  for (int host = 0; host < network.n_hosts(); ++host) {
    const auto [place, is_new] = host_named.emplace(network.hosts[static_cast<std::size_t>(host)].name, host);
    if (!is_new) place->second = kTwo;
  }
  std::vector<net::HostId> known = identities;
  for (net::HostId& identity : known) {
    const auto named = host_named.find(identity.name);
    if (named != host_named.end() && named->second != kTwo)
      identity = network.hosts[static_cast<std::size_t>(named->second)];
  }
  return net::locate_hosts(network, known);
}

std::string transport_name(const transport::Native& native, const transport::Transport& transport) {
  return native.library() + " " + transport.kind();
}

std::string transport_name(const transport::Native& native) {
  return native.library() + " " + transport::kOwnMessages;
}

std::string library_name(const transport::Native& native, const transport::Transport& transport) {
  return transport.kind() == transport::kOwnMessages ? native.library() : transport_name(native, transport);
}

}  // namespace eco::runtime
