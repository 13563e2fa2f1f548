#include "eco/runtime/planning.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/measure/characterize.h"
#include "eco/net/store.h"
#include "eco/plan/planner.h"
#include "eco/runtime/borrowing.h"
#include "eco/runtime/communicator.h"
#include "eco/runtime/live_oracle.h"
#include "eco/runtime/measure_by_trials.h"
#include "eco/runtime/plan_by_hand.h"
#include "eco/runtime/trials.h"

namespace eco::runtime {
namespace {

using coll::Collective;

// A job samples the native collective where a call is guessed under this, or under this share of the time that there is:
// recipes run too.
constexpr double kMostNativeInJob_s = 0.3;
constexpr double kNativeShare = 0.6;
// One trial's aim in a job, where about twenty of them share the budget, and offline, where the median shall hold
// against interference of some 100 ms.
constexpr TrialLimits kInJob{.until_s = 0, .cell_s = 0.2, .fewest = 2, .most = 4, .in_turn = 2};
constexpr TrialLimits kOffline{.until_s = 0, .cell_s = 1.0, .fewest = 2, .most = 4, .in_turn = 4};
constexpr TrialLimits kExhaustive{.until_s = 0, .cell_s = 4.0, .fewest = 3, .most = 10, .in_turn = 5};
// Candidates measured beside the library's own. The predictor knows nothing of how a socket coalesces small messages,
// so its first few are closer together than it can tell.
constexpr std::size_t kShortlistInJob = 2;
constexpr std::size_t kShortlistOffline = 3;
// Offline they are those that a search has found to be the fastest; it asks no more after so long in one cell, and not at all where its
// first heat, four candidates that run twice each, would take longer. Of few cells it has more for each, within a share of a
// budget; but of one collective alone, which may be one part of many (eco tune --profile starts a job for each).
constexpr double kRaceOffline_s = 1.5;
constexpr double kLongRace_s = 4;
constexpr double kLongRaces_s = 16;
constexpr double kLongRaceShare = 0.1;
constexpr int kHeatRuns = 8;
// What a search expects to gain when it ends: as much as a recipe must gain to serve; where it has twice the time and more, less.
constexpr double kRaceGain = 0.05;
constexpr double kLongRaceGain = 0.02;
// Offline, for each problem, of searching beyond the repertoire: less than one of its trials.
constexpr double kSearchOffline_s = 0.25;
// Predicting 1,000 operations takes some 0.1 ms; tens of candidates, tens of cells.
constexpr std::size_t kOperationsPredictedInJob = 3'000;

// Whether a remembered plan of a collective is worth completing now. Offline, whenever rows are open or were made with less
// effort. A job uses what there is, so that measuring is paid for once and not by every short job; unless nothing at all was
// measured, because others had used up the budget.
bool wants_completion(const plan::PlanTable& table, Collective collective, bool offline,
                      plan::Effort effort) {
  bool open = false;
  bool measured = false;
  bool slight = false;
  for (const plan::Entry& entry : table.entries) {
    if (entry.collective != collective) continue;
    for (const plan::Row& row : entry.rows) {
      open = open || row.open;
      measured = measured || row.is_measured();
      slight = slight || (row.is_measured() && !row.is_measured(effort));
    }
  }
  return offline ? open || slight : open && !measured;
}

// What was spent on the row of a collective that most was spent on.
plan::Effort most_effort(const plan::PlanTable& table, Collective collective) {
  plan::Effort most = plan::Effort::estimate;
  for (const plan::Entry& entry : table.entries) {
    if (entry.collective != collective) continue;
    for (const plan::Row& row : entry.rows) {
      if (row.is_measured()) most = std::max(most, row.effort);
    }
  }
  return most;
}

class Planning {
 public:
  Planning(Steps& steps, transport::Transport& transport, transport::Native& native,
           const net::GroupView& view, const Options& options, const std::string& version,
           const PlanRequest& request)
      : steps_(steps),
        transport_(transport),
        native_(native),
        view_(view),
        options_(options),
        request_(request),
        offline_(options.budget_s == 0),
        effort_(offline_ ? request.effort : plan::Effort::job),
        clock_(measure::monotonic_clock()),
        store_(options.cache_dir),
        key_{view.network->fingerprint(), view.host_of_rank, library_name(native, transport),
             version + " plans " + std::to_string(plan::kPlanEpoch) + graph_key()} {}

  FoundPlan find(double& measuring_s) {
    FoundPlan plan;
    std::string source;  // rank 0's
    const Steps::Take take = [&](Found found, const std::string& text) {
      if (found == Found::text || found == Found::by_hand) plan = parsed(text);
    };
    const auto look_here = [&] {
      auto [found, text] = look(source);
      if (found == Found::measure && !is_recalled_) borrowed_ = borrow_plan(store_.newest_plans(), key_);
      return std::pair(found, plan_in_full(found, source, text));
    };
    const auto [found, text] = steps_.look("", look_here, take);
    if (found == Found::nothing) throw StaysNative{text};
    if (found == Found::measure) {
      const std::string table = made(source, measuring_s);
      std::string failure;  // rank 0's
      const auto remember = [&] {
        const plan::PlanTable all = remembered(plan::PlanTable::from_json(table), failure);
        if (!failure.empty()) source += ", not remembered: " + failure;
        return std::pair(Found::text, plan_in_full(Found::text, source, told(all)));
      };
      steps_.look("remembering the plan: ", remember, take);
      plan.not_remembered = std::move(failure);
    }
    plan.by_hand = found == Found::by_hand;
    return plan;
  }

  // Rank 0.
  std::string to_tell() {
    std::string source;
    const auto [found, text] = look(source);
    if (found != Found::text && found != Found::by_hand) return {};
    return std::string(1, static_cast<char>(found)) + plan_in_full(found, source, text);
  }
  static FoundPlan read_told(const std::string& text) {
    FoundPlan plan = parsed(text.substr(1));
    plan.by_hand = static_cast<Found>(text[0]) == Found::by_hand;
    return plan;
  }

 private:
  // A plan goes from rank 0 to the others behind a line that says where it is from; anything else goes as it is.
  std::string plan_in_full(Found found, const std::string& source, const std::string& text) const {
    if (found != Found::text && found != Found::by_hand) return text;
    std::string line = (request_.network.empty() ? "" : request_.network + "; ") + source;
    std::replace(line.begin(), line.end(), '\n', ' ');  // parts of it are from files
    return line + '\n' + text;
  }
  static FoundPlan parsed(const std::string& text) {
    const std::size_t end = text.find('\n');
    return {.table = plan::PlanTable::from_json(text.substr(end + 1)), .source = text.substr(0, end)};
  }

  // Rank 0. What the others are told of a plan: who learns has what it has, and asks for one collective. The text of all is
  // tens of kB, for every call of a new kind.
  std::string told(plan::PlanTable table) const {
    const auto is_asked_for = [this](const plan::Entry& entry) {
      return std::find(request_.collectives.begin(), request_.collectives.end(), entry.collective) !=
             request_.collectives.end();
    };
    if (request_.present != nullptr)
      std::erase_if(table.entries, [&](const plan::Entry& entry) { return !is_asked_for(entry); });
    return table.to_json();
  }

  bool follows_graph() const {
    return std::any_of(request_.collectives.begin(), request_.collectives.end(), coll::follows_graph);
  }
  // What follows a graph is remembered apart, for that graph.
  std::string graph_key() const { return follows_graph() ? " graph " + view_.neighbors->digest() : ""; }

  // Rank 0.
  std::pair<Found, std::string> look(std::string& source) {
    if (!options_.plan_file.empty()) {
      PlanByHand plan = read_plan(options_.plan_file, view_);
      std::erase_if(plan.table.entries, [&](const plan::Entry& entry) {
        return coll::follows_graph(entry.collective) != follows_graph();
      });
      prove_plan(plan.table, view_, "plan file " + plan.file);
      source = "plan from " + plan.file;
      return {Found::by_hand, plan.table.to_json()};
    }
    const bool may_measure = options_.measure != MeasurePolicy::never;
    std::string reason;
    is_recalled_ = recall(known_, reason);
    if (!is_recalled_ && request_.present != nullptr) known_ = present();
    if (effort_ == plan::Effort::estimate) {
      source = "plan estimated";
      return {Found::text, estimated().to_json()};
    }
    for (const Collective collective : request_.collectives) {
      const bool enough = request_.call ? knows_call(collective)
                                        : known_.knows(collective) &&
                                              !wants_completion(known_, collective, offline_, effort_);
      if (request_.anew || !enough) missing_.push_back(collective);
    }
    if (!may_measure && known_.entries.empty()) {
      return {Found::nothing, reason + ", and measuring is not allowed or its budget is used up"};
    }
    source = is_recalled_ || !known_.entries.empty() ? "plan remembered" : "no plan yet";
    if (!may_measure || missing_.empty()) return {Found::text, told(known_)};
    return {Found::measure, {}};
  }

  // Rank 0. What serves now, of the collectives that are planned in one file with these.
  plan::PlanTable present() const {
    plan::PlanTable table = *request_.present;
    std::erase_if(table.entries, [this](const plan::Entry& entry) {
      return coll::follows_graph(entry.collective) != follows_graph();
    });
    return table;
  }

  // Rank 0. Whether what is remembered says what serves calls like the one at hand.
  bool knows_call(Collective collective) const {
    const bool is_barrier = collective == Collective::barrier;
    const std::optional<std::size_t> bytes = is_barrier ? 0 : plan::size_in_job(view_, request_.call->bytes);
    if (!bytes) return true;  // the library serves it
    const int root_subnet = is_barrier ? 0 : plan::root_subnet(*request_.call, view_);
    const plan::Row* const of_class = known_.find_row(collective, root_subnet, *bytes);
    const plan::Row* const own =
        is_barrier ? of_class : known_.find_row(collective, root_subnet, request_.call->bytes);
    return (of_class != nullptr && !of_class->open) || (own != nullptr && own->stands());
  }

  // What is remembered for this group now. A file that can't be read, that is another group's under this one's name, or
  // whose recipes can't be proved, is forgotten and made again.
  bool recall(plan::PlanTable& table, std::string& reason) const {
    const net::FoundText file = store_.find_plan(key_);
    reason = file.reason.empty() ? "no plan is remembered" : file.reason;
    if (!file.text) return false;
    try {
      table = plan::PlanTable::from_json(*file.text);
      check(table, file.path);
      return true;
    } catch (const Error& error) {
      table = {};
      reason = error.what();
      return false;
    }
  }

  // The file's name is a digest of the key, and anybody may have changed or copied the file.
  void check(plan::PlanTable& table, const std::string& path) const {
    if (table.network != key_.fingerprint || table.library != key_.library ||
        table.host_of_rank != key_.host_of_rank) {
      throw CorruptFile("remembered plan " + path + " is of another network, library or placement");
    }
    if (!table.made_by.empty() && table.made_by != key_.eco_version) {
      throw CorruptFile("remembered plan " + path + " was made by ECO " + table.made_by + ", this is ECO " +
                        key_.eco_version);
    }
    // Proving takes up to a second while all ranks wait: once for each content of the file.
    if (table.proof == proof_of(table)) return;
    prove_plan(table, view_, "remembered plan " + path);
    table.proof = proof_of(table);
    const auto ignored = store_.remember_plan(key_, table.to_json());
  }

  // What telling all ranks something takes by the network: as many times the longest way as a tree of them is deep.
  std::int64_t reach_ns() const {
    double longest_s = 0;
    for (const net::Between& pair : view_.network->between) longest_s = std::max(longest_s, pair.latency_s);
    return static_cast<std::int64_t>(1e9 * longest_s * std::ceil(std::log2(view_.n_ranks())));
  }

  // Collective. The table's text on rank 0, nothing on the others.
  std::string made(std::string& source, double& measuring_s) {
    const double start_s = clock_();
    std::unique_ptr<Trials> trials;
    CommonStart start(native_, reads_one_clock(native_, steps_.rank(), steps_.n_ranks()),
                      std::max(offline_ ? CommonStart::kQuiet_ns : CommonStart::kQuick_ns, reach_ns()));
    if (offline_) start.fit();
    steps_.together("", [&] { trials = std::make_unique<Trials>(transport_, native_, view_, start); });
    std::string text;
    std::optional<std::string> reason;
    bool lost = false;
    try {
      if (steps_.rank() == 0) {
        text = conduct(*trials, start_s);
      } else {
        trials->follow();
      }
    } catch (const TransportError& error) {  // thrown by a trial, and there on every rank
      reason = error.what();
      lost = true;
    } catch (const std::exception& error) {
      reason = error.what();
    }
    const double took_s = clock_() - start_s;
    measuring_s += took_s;
    const bool none_lost = steps_.agreement().all(!lost);
    try {
      steps_.together("making a plan: ", [&] {
        if (reason) throw Error(*reason);
      });
    } catch (StaysNative& native) {
      native.transport_lost = !none_lost;
      throw;
    }
    source = "plan made in this job in " + seconds_text(took_s);
    if (borrowed_) source += ", starting from " + borrowed_->from;
    return text;
  }

  // Rank 0. Ends the trials whatever happens; a lost transport has ended them on all ranks already.
  std::string conduct(Trials& trials, double start_s) {
    try {
      const std::string text = conducted(trials, start_s);
      trials.end();
      return text;
    } catch (const TransportError&) {
      throw;
    } catch (...) {
      trials.end();
      throw;
    }
  }

  // Sizes, and what is known of them.
  plan::PlannerOptions asked() const {
    plan::PlannerOptions how;
    how.known = &known_;
    if (borrowed_) how.borrowed = &borrowed_->table;
    how.anew = request_.anew;
    how.effort = effort_;
    how.progress = request_.progress;
    if (!request_.sizes.empty()) {
      how.sizes = request_.sizes;
      std::sort(how.sizes.begin(), how.sizes.end());
      how.left_open = plan::default_sizes();
    }
    if (request_.call) {
      how.sizes.clear();
      if (const auto bytes = plan::size_in_job(view_, request_.call->bytes)) how.sizes.push_back(*bytes);
      how.left_open = plan::default_sizes();
      how.serves_open = false;
      how.root_subnet = plan::root_subnet(*request_.call, view_);
    }
    return how;
  }

  // Rank 0. What is measured already, and the rest by prediction.
  plan::PlanTable estimated() const {
    plan::PlanTable table = plan::make_plan(view_, request_.collectives, asked(), nullptr);
    table.library = key_.library;
    return table;
  }

  // Rank 0.
  std::string conducted(Trials& trials, double start_s) {
    TrialLimits limits = effort_ == plan::Effort::exhaustive ? kExhaustive : offline_ ? kOffline : kInJob;
    const bool limited = !offline_ || request_.most_s > 0;
    limits.until_s = limited ? start_s + request_.most_s : std::numeric_limits<double>::infinity();
    plan::PlannerOptions how = asked();
    how.shortlist = offline_ ? kShortlistOffline : kShortlistInJob;
    if (offline_) {
      how.keep = [this](const plan::PlanTable& table) {
        std::string ignored;
        remembered(table, ignored);
      };
      search_long(how, trials, limits.until_s);
    } else {
      how.most_native_s = std::max(kMostNativeInJob_s, kNativeShare * request_.most_s);
      how.search_in_order = false;
      how.forecast.most_operations = kOperationsPredictedInJob;
    }
    if (limited) how.time_is_up = [this, limits] { return clock_() >= limits.until_s; };
    plan::PlanTable table = plan::make_plan(view_, missing_, how, measure_by_trials(trials, clock_, limits));
    table.library = key_.library;
    return table.to_json();
  }

  double longest_race_s(const plan::PlannerOptions& how, double until_s) const {
    if (missing_.size() < 2) return kRaceOffline_s;
    const auto n_cells = static_cast<double>(missing_.size() * std::max<std::size_t>(1, how.sizes.size()));
    const double share_s = kLongRaceShare * (until_s - clock_());
    return std::max(kRaceOffline_s, std::min({kLongRace_s, kLongRaces_s / n_cells, share_s}));
  }

  // What there is time for offline.
  void search_long(plan::PlannerOptions& how, Trials& trials, double until_s) {
    const bool exhaustive = effort_ == plan::Effort::exhaustive;
    how.clock = clock_;
    how.search_s = kSearchOffline_s;
    how.holds_out = !exhaustive;
    how.mends = true;
    how.ranks_all = exhaustive;
    how.race.measures_all = exhaustive;
    const double race_s = longest_race_s(how, until_s);
    how.race.least_gain = race_s < 2 * kRaceOffline_s ? kRaceGain : kLongRaceGain;
    if (!exhaustive) how.race.longest_s = race_s / kHeatRuns;
    how.race.oracle_of = [this, &trials, until_s, exhaustive, race_s](
                             const coll::CommonProblem& problem,
                             const std::vector<std::vector<algo::Recipe>>& recipes) {
      const double end_s = exhaustive ? until_s : std::min(clock_() + race_s, until_s);
      return live_oracle(trials, problem, recipes, [this, end_s] { return clock_() < end_s; });
    };
  }

  // Rank 0. What was made is added to what is remembered by now: another job may have written since this one looked, and
  // what was tuned meanwhile with more effort stays. Two that write at the same instant lose one's measurements, which are
  // then made again.
  plan::PlanTable remembered(const plan::PlanTable& mine, std::string& failure) const {
    plan::PlanTable all;
    std::string reason;
    if (!recall(all, reason)) all = known_;
    all.network = mine.network;
    all.library = key_.library;
    all.made_by = key_.eco_version;
    all.host_of_rank = mine.host_of_rank;
    plan::PlanTable added = mine;
    std::erase_if(added.entries, [&](const plan::Entry& entry) {
      const plan::Effort theirs = most_effort(all, entry.collective);
      return theirs > effort_ && theirs > most_effort(known_, entry.collective);
    });
    all.take(added);
    all.proof = proof_of(all);  // the planner proves what it writes down
    failure = store_.remember_plan(key_, all.to_json()).value_or("");
    return all;
  }

  Steps& steps_;
  transport::Transport& transport_;
  transport::Native& native_;
  const net::GroupView& view_;
  const Options& options_;
  const PlanRequest& request_;
  const bool offline_;
  const plan::Effort effort_;
  Clock clock_;
  net::Store store_;
  net::PlanKey key_;
  // Rank 0: what earlier jobs had time for, and what is to be planned now.
  plan::PlanTable known_;
  bool is_recalled_ = false;  // from the store
  std::optional<Borrowed> borrowed_;
  std::vector<Collective> missing_;
};

}  // namespace

std::string plan_to_tell(Steps& steps, transport::Transport& transport, transport::Native& native,
                         const net::GroupView& view, const Options& options, const std::string& version,
                         const PlanRequest& request) {
  return Planning(steps, transport, native, view, options, version, request).to_tell();
}

FoundPlan told_plan(const std::string& text) { return Planning::read_told(text); }

FoundPlan find_plan(Steps& steps, transport::Transport& transport, transport::Native& native,
                    const net::GroupView& view, const Options& options, const std::string& version,
                    const PlanRequest& request, double& measuring_s) {
  return Planning(steps, transport, native, view, options, version, request).find(measuring_s);
}

}  // namespace eco::runtime
