// Map: Planning walks the problems (cells.h), has rank_candidates and shortlist choose what is worth measuring, asks
// what serves similar ones (similar.h), and decides what serves them; rows.h makes rows of that.
#include "eco/plan/planner.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "eco/plan/cells.h"
#include "eco/plan/choice.h"
#include "eco/plan/guidelines.h"
#include "eco/plan/native_guess.h"
#include "eco/plan/proving.h"
#include "eco/plan/ranking.h"
#include "eco/plan/rows.h"
#include "eco/plan/search.h"
#include "eco/plan/shortlist.h"
#include "eco/plan/similar.h"

namespace eco::plan {
namespace {

using algo::Recipe;
using coll::Collective;
using coll::CommonProblem;
using net::GroupView;

// A found recipe must be predicted this much faster than the best of the repertoire: below, the repertoire's is as good,
// and simpler.
constexpr double kWorthFinding = 0.97;

// What a problem is expected to take when it is measured, for the progress alone: begins and predictions, and some runs as
// long as the native guess.
constexpr double kBase_s = 0.5;
constexpr double kRuns = 15;

// Candidates measured where a run takes too long for a race: predictions are good there, and the second is mostly the
// first one's sibling under another send window.
constexpr std::size_t kLongShortlist = 2;

// What is said of a recipe's time that serves already: it is held against the others whatever they show.
constexpr double kRunsAnyway_s = 0;

// Compositions measured for a guideline that is broken.
constexpr std::size_t kRepairsTried = 2;

}  // namespace

const std::vector<std::size_t>& default_sizes() {
  static const std::vector<std::size_t> sizes = {
      8, 64, 1024, 8 * 1024, 16 * 1024, 64 * 1024, 128 * 1024, 512 * 1024, 1024 * 1024, 4 * 1024 * 1024};
  return sizes;
}

const std::vector<std::size_t>& sizes_in_job() {
  static const std::vector<std::size_t> sizes = [] {
    std::vector<std::size_t> all = default_sizes();
    constexpr std::size_t kMiB = 1024 * 1024;
    all.insert(all.end(), {32 * 1024, 256 * 1024, 2 * kMiB, 8 * kMiB, 16 * kMiB, 32 * kMiB});
    std::sort(all.begin(), all.end());
    return all;
  }();
  return sizes;
}

std::size_t size_class(std::size_t bytes) {
  const std::vector<std::size_t>& sizes = sizes_in_job();
  return static_cast<std::size_t>(std::lower_bound(sizes.begin(), sizes.end(), bytes) - sizes.begin());
}

std::optional<std::size_t> size_in_job(const GroupView& view, std::size_t bytes) {
  const std::vector<std::size_t>& sizes = view.n_hosts_on(0) > 1 ? sizes_in_job() : default_sizes();
  if (bytes > sizes.back()) return std::nullopt;
  return sizes_in_job()[size_class(bytes)];
}

namespace {

class Planning {
 public:
  Planning(const GroupView& view, const std::vector<Collective>& collectives, const PlannerOptions& options,
           const Measure& measure)
      : view_(view),
        options_(options),
        measure_(measure),
        rows_(view, {options.forecast, options.search_in_order, options.serves_open, options.time_is_up}),
        cells_(cells_of(view, collectives, options)),
        similar_(cells_, {options.effort, options.holds_out}) {
    for (Cell& cell : cells_.all) {
      if (cell.settled) continue;
      cell.native_guess_s = guess_native_s(cell.problem, view_);
      all_s_ += expected_s(cell);
    }
  }

  PlanTable run() {
    std::for_each(cells_.all.begin(), others(), [&](Cell& cell) {
      predict(cell);
      decide(cell);
    });
    // Other root classes: the greatest expected gain first, as long as the time lasts; held-out ones after their neighbours.
    std::for_each(others(), cells_.all.end(), [&](Cell& cell) { predict(cell); });
    std::stable_sort(others(), cells_.all.end(), [](const Cell& a, const Cell& b) {
      return a.held_out == b.held_out ? expected_gain(a) > expected_gain(b) : b.held_out;
    });
    std::for_each(others(), cells_.all.end(), [&](Cell& cell) { decide(cell); });
    if (measure_ && options_.mends) mend();
    PlanTable table = made();
    report("planned", 1.0);
    return table;
  }

 private:
  // Of other root classes.
  std::vector<Cell>::iterator others() {
    return cells_.all.begin() + static_cast<std::ptrdiff_t>(cells_.n_first);
  }

  double expected_s(const Cell& cell) const { return kBase_s + kRuns * cell.native_guess_s; }

  static double expected_gain(const Cell& cell) {
    if (cell.ranked.empty() || !cell.ranked.front().why_not.empty()) return 0;
    return cell.native_guess_s / cell.ranked.front().forecast.seconds;
  }

  bool time_is_up() const { return options_.time_is_up && options_.time_is_up(); }

  void report(const std::string& what, double fraction) const {
    if (options_.progress) options_.progress(what, fraction);
  }

  // Fills what is ranked, unless the cell is settled.
  void predict(Cell& cell) {
    if (cell.settled) return;
    const auto settle = [&cell](std::string reason) {
      cell.leave_open(std::move(reason));
      cell.settled = true;
    };
    if (time_is_up()) return settle("no time left to plan it");
    if (measure_ && cell.native_guess_s > options_.most_native_s) {
      return settle("native not sampled: one call may take longer than a job should wait");
    }
    cell.ranked = rank_candidates(cell.problem, view_, options_.forecast, !options_.ranks_all);
  }

  // In front of the ranked candidates: what a search finds, where it is worth it.
  void add_found(const CommonProblem& problem, std::vector<Candidate>& ranked) const {
    if (options_.search_s <= 0 || ranked.empty() || !ranked.front().why_not.empty()) return;
    SearchOptions how;
    how.forecast = options_.forecast;
    const double end_s = options_.clock ? options_.clock() + options_.search_s : 0;
    how.time_is_up = [this, end_s] { return time_is_up() || (options_.clock && options_.clock() >= end_s); };
    SearchResult result = search(problem, view_, ranked, how);
    const double limit_s = kWorthFinding * ranked.front().forecast.seconds;
    std::erase_if(result.found, [&](const Candidate& found) { return found.forecast.seconds > limit_s; });
    ranked.insert(ranked.begin(), std::make_move_iterator(result.found.begin()),
                  std::make_move_iterator(result.found.end()));
  }

  void decide(Cell& cell) {
    if (cell.settled) return;
    const std::string what = std::string(coll::name(cell.problem.collective)) + " of " +
                             std::to_string(cell.problem.bytes) + " bytes";
    report(what, all_s_ > 0 ? done_s_ / all_s_ : 1.0);
    done_s_ += expected_s(cell);
    if (time_is_up()) {
      cell.leave_open("no time left to measure it");
    } else if (measure_ && similar_.is_left_out(cell)) {
      cell.left_out = true;
    } else if (measure_) {
      if (!decide_by_hints(cell)) decide_by_measurement(cell);
    } else {
      decide_by_prediction(cell);
    }
    cell.settled = true;
    cell.ranked = {};
    if (measure_ && options_.keep && cell.row.is_measured()) options_.keep(made());
  }

  std::vector<Candidate> shortlisted(const Cell& cell, std::size_t how_many) const {
    std::vector<Candidate> candidates;
    for (const Candidate* candidate : shortlist(cell.ranked, how_many, cell.problem, view_)) {
      candidates.push_back(*candidate);
    }
    return candidates;
  }

  // What serves there by native alone, and why.
  static Row native_row(const Cell& cell, std::string reason) {
    Row row;
    row.up_to_bytes = cell.problem.bytes;
    row.reason = std::move(reason);
    return row;
  }
  // Too long for a race.
  bool is_long(const Cell& cell) const {
    return !cell.ranked.empty() && cell.ranked.front().forecast.seconds > options_.race.longest_s;
  }
  static bool is_short(const Cell& cell) {
    return !cell.ranked.empty() && cell.ranked.front().forecast.seconds < kShort_s;
  }
  static std::string why_none(const Cell& cell) {
    return cell.ranked.empty() ? "no algorithm serves it" : "no candidate: " + cell.ranked.front().why_not;
  }

  void decide_by_prediction(Cell& cell) {
    add_found(cell.problem, cell.ranked);
    const std::vector<Candidate> candidates = shortlisted(cell, 1);
    if (candidates.empty()) {
      cell.row = native_row(cell, why_none(cell));
      return;
    }
    const Candidate& best = candidates.front();
    const double ratio = cell.native_guess_s / best.forecast.seconds;
    cell.row = native_row(cell, "predicted " + times_text(ratio) + " of a guess at native" +
                                    by_estimate_text(cell.problem, view_));
    cell.row.effort = Effort::estimate;
    cell.row.predicted_s = best.forecast.seconds;
    cell.row.native_s = cell.native_guess_s;
    if (ratio > 1 + options_.gain_needed) cell.row.recipe = best.recipe;
  }

  // Whether what serves similar problems serves this one too: it is held against native and what is predicted best.
  bool decide_by_hints(Cell& cell) {
    const Hints given = similar_.hints(cell);
    if (given.empty()) return false;
    // Where nothing is raced there is no search that a hint could spare, and all are measured in one trial.
    const bool is_all = is_long(cell);
    std::vector<Candidate> candidates = shortlisted(cell, is_all ? kLongShortlist : 1);
    for (const std::optional<Recipe>& hint : given) {
      if (hint) add_candidate(cell.problem, *hint, candidates);
    }
    const bool is_new = measure(cell, candidates);
    if (is_all || agrees(cell.row.recipe, given)) return true;
    if (is_new) cell.row.effort = Effort::job;  // a short trial, if there is no time for the search
    return false;
  }

  void decide_by_measurement(Cell& cell) {
    add_found(cell.problem, cell.ranked);
    std::vector<Candidate> candidates;
    // Those that a search has measured to be the fastest, if it had time; else those by prediction.
    if (options_.race.oracle_of) {
      for (const Candidate* candidate :
           raced_shortlist(cell.ranked, options_.shortlist, cell.problem, view_, options_.race, guided_))
        candidates.push_back(*candidate);
    }
    // A race of short calls is won by chance: those that are predicted best are held against its winners.
    if (candidates.empty() || is_short(cell)) {
      const std::size_t how_many = std::min(options_.shortlist, is_long(cell) ? kLongShortlist : SIZE_MAX);
      for (Candidate& candidate : shortlisted(cell, how_many)) {
        if (!has(candidates, candidate.recipe)) candidates.push_back(std::move(candidate));
      }
    }
    const std::optional<Recipe> borrowed = borrow(cell);
    if (borrowed && !candidates.empty()) add_candidate(cell.problem, *borrowed, candidates);
    // What served so far, as a job or a trial with the neighbours' recipes found, is not forgotten by a search that did not
    // look at it.
    const std::optional<Recipe> so_far = cell.row.recipe;
    if (so_far && !candidates.empty()) add_candidate(cell.problem, *so_far, candidates);
    measure(cell, candidates);
    if (borrowed && cell.row.recipe == borrowed) cell.row.reason += "; borrowed";
  }

  std::optional<Recipe> borrow(const Cell& cell) const {
    if (options_.borrowed == nullptr) return std::nullopt;
    const Entry& entry = cells_.entries[cell.entry];
    const Recipe* recipe = options_.borrowed->lookup(entry.collective, entry.root_subnet, cell.problem.bytes);
    return recipe != nullptr ? std::optional(*recipe) : std::nullopt;
  }

  static bool has(const std::vector<Candidate>& candidates, const Recipe& recipe) {
    return std::any_of(candidates.begin(), candidates.end(),
                       [&](const Candidate& other) { return other.recipe == recipe; });
  }

  // If it is new there, and can be run.
  void add_candidate(const CommonProblem& problem, const Recipe& recipe,
                     std::vector<Candidate>& candidates) const {
    if (has(candidates, recipe) || prove(recipe, problem, view_)) return;
    candidates.push_back(candidate_of(recipe, problem, view_, options_.forecast));
  }

  // Whether it was.
  bool measure(Cell& cell, const std::vector<Candidate>& candidates) {
    if (candidates.empty()) {
      cell.row = native_row(cell, why_none(cell));
      return false;
    }
    std::string why_open;
    std::optional<Row> row = measured(cell, candidates, why_open);
    if (row) {
      cell.row = std::move(*row);
    } else {
      cell.leave_open(std::move(why_open));
    }
    return row.has_value();
  }

  std::optional<Row> measured(const Cell& cell, const std::vector<Candidate>& candidates,
                              std::string& why_open) const {
    std::vector<const Recipe*> recipes{nullptr};
    Beforehand known{{cell.row.is_measured() ? cell.row.native_s : cell.native_guess_s},
                     similar_.native_least_s(cell)};
    for (const Candidate& candidate : candidates) {
      recipes.push_back(&candidate.recipe);
      known.predicted_s.push_back(candidate.recipe == cell.row.recipe ? kRunsAnyway_s
                                                                      : candidate.forecast.seconds);
    }
    const auto measured = measure_(cell.problem, recipes, known);
    why_open = measured.empty() ? "no time left to measure it"
                                : "native not sampled: too slow for the time there was";
    if (measured.empty() || !measured[0]) return std::nullopt;
    std::vector<Contender> contenders;
    for (std::size_t i = 1; i < measured.size(); ++i) {
      if (measured[i]) contenders.push_back({&candidates[i - 1], *measured[i]});
    }
    Row row = choose(cell.problem, view_, *measured[0], contenders, options_.gain_needed);
    row.effort = options_.effort;
    return row;
  }

  // What takes longer than others that do its work too, done like these, if that is faster.
  void mend() {
    std::vector<Served> served;
    for (const Cell& cell : cells_.all) {
      const Row& row = cell.row;
      const double native_s = row.native_is_least ? 0 : row.native_s;  // not known
      const double seconds = row.recipe ? row.measured_s : native_s;
      served.push_back({cell.problem, row.is_measured() ? seconds : 0, row.recipe, row.in_a_row});
    }
    for (const Violation& violation : violations(served)) {
      Cell& cell = cells_.all[violation.broken];
      if (time_is_up() || !cell.asked) continue;
      std::vector<Candidate> candidates = repairs(violation, served, view_, options_.forecast, kRepairsTried);
      if (candidates.empty()) continue;
      if (cell.row.recipe)
        candidates.push_back(candidate_of(*cell.row.recipe, cell.problem, view_, options_.forecast));
      std::string ignored;
      std::optional<Row> row = measured(cell, candidates, ignored);
      if (!row || !row->recipe || row->recipe == cell.row.recipe) continue;
      row->reason += "; mended: " + violation.text();
      row->effort = std::max(row->effort, cell.row.effort);  // what served was held against it
      cell.row = std::move(*row);
      if (options_.keep) options_.keep(made());
    }
  }

  // As it is now.
  PlanTable made() {
    PlanTable table;
    table.entries = cells_.entries;
    table.network = view_.network->fingerprint();
    table.host_of_rank = view_.host_of_rank;
    for (std::size_t e = 0; e < table.entries.size(); ++e) {
      std::vector<PlannedSize> sizes;
      for (const Cell& cell : cells_.all) {
        if (cell.entry == e && !cell.left_out)
          sizes.push_back({&cell.problem, &cell.row, cell.up_to_bytes, cell.asked || cell.row.native_s > 0});
      }
      std::sort(sizes.begin(), sizes.end(), [](const PlannedSize& a, const PlannedSize& b) {
        return a.problem->bytes < b.problem->bytes;
      });
      table.entries[e].rows = rows_.rows_of(sizes);
    }
    return table;
  }

  const GroupView& view_;
  const PlannerOptions& options_;
  const Measure& measure_;
  RowMaker rows_;
  Cells cells_;
  const Similar similar_;
  double all_s_ = 0;
  double done_s_ = 0;
  tune::Guided guided_;
};

}  // namespace

PlanTable make_plan(const GroupView& view, const std::vector<Collective>& collectives,
                    const PlannerOptions& options, const Measure& measure) {
  return Planning(view, collectives, options, measure).run();
}

}  // namespace eco::plan
