// Map: Planning walks the problems (cells), has rank_candidates and shortlist choose what is worth measuring, and turns the
// winners into rows.
#include "eco/plan/planner.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <utility>

#include "eco/plan/large_group.h"
#include "eco/plan/native_guess.h"
#include "eco/plan/ranking.h"
#include "eco/plan/search.h"
#include "eco/plan/shortlist.h"

namespace eco::plan {
namespace {

using algo::Recipe;
using coll::Collective;
using coll::CommonProblem;
using net::GroupView;

// A found recipe must be predicted this much faster than the best of the repertoire: below, the repertoire's is as good,
// and simpler.
constexpr double kWorthFinding = 0.97;

// How the reason of a row begins that stands for sizes between two measured ones.
constexpr std::string_view kBetween = "between: ";

// Whose elements are doubles when it is measured, or bytes where there would be less than one double for a rank.
bool sums(Collective collective) {
  return coll::is_reduction(collective) && collective != Collective::barrier;
}

CommonProblem problem_of(Collective collective, int root, std::size_t bytes, const GroupView& view) {
  CommonProblem problem;
  problem.collective = collective;
  problem.n_ranks = view.n_ranks();
  problem.root = root;
  if (coll::follows_graph(collective)) problem.neighbors = view.neighbors;
  const std::size_t n_blocks = coll::is_blocked(collective) ? static_cast<std::size_t>(problem.n_ranks) : 1;
  problem.element_bytes = sums(collective) && bytes >= n_blocks * sizeof(double) ? sizeof(double) : 1;
  problem.bytes = coll::whole_bytes(problem, bytes);
  return problem;
}

std::string times(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2fx", ratio);
  return text;
}

}  // namespace

const std::vector<std::size_t>& default_sizes() {
  static const std::vector<std::size_t> sizes = {
      8, 64, 1024, 8 * 1024, 16 * 1024, 64 * 1024, 128 * 1024, 512 * 1024, 1024 * 1024, 4 * 1024 * 1024};
  return sizes;
}

namespace {

// One problem that the table will speak about.
struct Cell {
  CommonProblem problem;
  std::size_t entry = 0;  // index into PlanTable::entries
  bool asked = true;      // else it is left to a later plan
  double native_guess_s = 0;
  std::vector<Candidate> candidates;  // those worth measuring, proved
  std::vector<Candidate> ranked;      // where they are to be raced: all that were predicted
  std::optional<Recipe> winner;
  Row row;  // its evidence
};

// A candidate that was measured beside the native collective.
struct Contender {
  const Candidate* candidate = nullptr;
  Measurement measured;
};

class Planning {
 public:
  Planning(const GroupView& view, const std::vector<Collective>& collectives, const PlannerOptions& options,
           const Measure& measure)
      : view_(view), options_(options), measure_(measure) {
    const int first_class = view.subnet_of_rank.empty() ? 0 : view.subnet_of_rank[0];
    for (const Collective collective : collectives) add_entry(collective, first_class);
    n_first_ = cells_.size();
    for (int s = 0; s < view.n_subnets(); ++s) {
      if (s == first_class) continue;
      for (const Collective collective : collectives) {
        if (coll::is_rooted(collective)) add_entry(collective, s);
      }
    }
    // Small sizes first in all entries: they cost little and every program has them.
    const auto by_size = [](const Cell& a, const Cell& b) { return a.problem.bytes < b.problem.bytes; };
    const auto boundary = cells_.begin() + static_cast<std::ptrdiff_t>(n_first_);
    std::stable_sort(cells_.begin(), boundary, by_size);
    std::stable_sort(boundary, cells_.end(), by_size);
  }

  PlanTable run() {
    for (std::size_t i = 0; i < n_first_; ++i) plan(cells_[i]);
    // Other root classes: the greatest expected gain first, as long as the time lasts.
    for (std::size_t i = n_first_; i < cells_.size(); ++i) predict(cells_[i]);
    std::stable_sort(cells_.begin() + static_cast<std::ptrdiff_t>(n_first_), cells_.end(),
                     [](const Cell& a, const Cell& b) { return expected_gain(a) > expected_gain(b); });
    for (std::size_t i = n_first_; i < cells_.size(); ++i) decide(cells_[i]);
    make_rows();
    report("planned", 1.0);
    return std::move(table_);
  }

 private:
  void add_entry(Collective collective, int root_subnet) {
    const std::size_t entry = table_.entries.size();
    const bool rooted = coll::is_rooted(collective);
    table_.entries.push_back({collective, rooted ? root_subnet : 0, {}});
    const int root = rooted ? root_in(root_subnet) : 0;
    for (const auto& [bytes, asked] : sizes_of(collective)) {
      Cell cell;
      cell.problem = problem_of(collective, root, bytes, view_);
      cell.entry = entry;
      cell.asked = asked;
      cells_.push_back(std::move(cell));
    }
  }

  int root_in(int subnet) const {
    const auto& ranks = view_.subnets[static_cast<std::size_t>(subnet)].ranks;
    return *std::min_element(ranks.begin(), ranks.end());
  }

  // Sizes of a collective's cells, and whether they are asked for now. Barriers have one, of no bytes.
  std::map<std::size_t, bool> sizes_of(Collective collective) const {
    if (collective == Collective::barrier) return {{0, true}};
    std::map<std::size_t, bool> sizes;
    const auto add = [&](std::size_t bytes, bool asked) {
      bytes = problem_of(collective, 0, bytes, view_).bytes;
      if (bytes > 0) sizes.emplace(bytes, asked);
    };
    for (const std::size_t bytes : options_.sizes) add(bytes, true);
    for (const std::size_t bytes : options_.left_open) add(bytes, false);
    return sizes;
  }

  static double expected_gain(const Cell& cell) {
    if (cell.candidates.empty()) return 0;
    return cell.native_guess_s / cell.candidates.front().forecast.seconds;
  }

  bool time_is_up() const { return options_.time_is_up && options_.time_is_up(); }

  void report(const std::string& what, double fraction) const {
    if (options_.progress) options_.progress(what, fraction);
  }

  // True if an earlier table has measured this cell.
  bool take_known(Cell& cell) const {
    if (options_.known == nullptr) return false;
    const Entry& entry = table_.entries[cell.entry];
    const Row* row = options_.known->find_row(entry.collective, entry.root_subnet, cell.problem.bytes);
    if (row == nullptr || row->up_to_bytes != cell.problem.bytes || row->native_s <= 0) return false;
    cell.row = *row;
    cell.winner = row->recipe;
    return true;
  }

  static void leave_open(Cell& cell, std::string reason) {
    cell.row.reason = std::move(reason);
    cell.row.open = true;
  }

  void plan(Cell& cell) {
    predict(cell);
    decide(cell);
  }

  // Fills the candidates, or the reason why there are none.
  void predict(Cell& cell) {
    if (take_known(cell)) return;
    cell.row.up_to_bytes = cell.problem.bytes;
    if (!cell.asked) return leave_open(cell, "not asked for");
    if (time_is_up()) return leave_open(cell, "no time left to plan it");
    cell.native_guess_s = guess_native_s(cell.problem, view_);
    if (measure_ && cell.native_guess_s > options_.most_native_s) {
      return leave_open(cell, "native not sampled: one call may take longer than a job should wait");
    }
    std::vector<Candidate> ranked = rank_candidates(cell.problem, view_, options_.forecast, true);
    add_found(cell.problem, ranked);
    for (const Candidate* candidate : shortlist(ranked, options_.shortlist, cell.problem, view_)) {
      cell.candidates.push_back(*candidate);
    }
    if (options_.race.oracle_of) cell.ranked = ranked;
    if (cell.candidates.empty()) {
      cell.row.reason = ranked.empty() ? "no algorithm serves it" : "no candidate: " + ranked.front().why_not;
    }
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
    const std::string what = std::string(coll::name(cell.problem.collective)) + " of " +
                             std::to_string(cell.problem.bytes) + " bytes";
    report(what, static_cast<double>(n_decided_++) / static_cast<double>(cells_.size()));
    if (cell.candidates.empty()) return;
    if (time_is_up()) return leave_open(cell, "no time left to measure it");
    if (measure_) {
      if (options_.race.oracle_of) find_by_racing(cell);
      decide_by_measurement(cell);
    } else {
      decide_by_prediction(cell);
    }
  }

  // Instead of the candidates by prediction those that a search has measured to be the fastest, if it had time.
  void find_by_racing(Cell& cell) {
    std::vector<Candidate> raced;
    for (const Candidate* candidate :
         raced_shortlist(cell.ranked, options_.shortlist, cell.problem, view_, options_.race, guided_))
      raced.push_back(*candidate);
    if (!raced.empty()) cell.candidates = std::move(raced);
    cell.ranked.clear();
  }

  void decide_by_prediction(Cell& cell) {
    const Candidate& best = cell.candidates.front();
    cell.row.predicted_s = best.forecast.seconds;
    cell.row.native_s = cell.native_guess_s;
    const double ratio = cell.native_guess_s / best.forecast.seconds;
    cell.row.reason = "predicted " + times(ratio) + " of a guess at native" + how_chosen(cell);
    if (ratio > 1 + options_.gain_needed) cell.winner = best.recipe;
  }

  void decide_by_measurement(Cell& cell) {
    std::vector<const Recipe*> recipes{nullptr};
    double expected_s = cell.native_guess_s;
    for (const Candidate& candidate : cell.candidates) {
      recipes.push_back(&candidate.recipe);
      expected_s += candidate.forecast.seconds;
    }
    const auto measured = measure_(cell.problem, recipes, expected_s);
    if (measured.empty()) return leave_open(cell, "no time left to measure it");
    if (!measured[0]) return leave_open(cell, "native not sampled: too slow for the time there was");
    const Measurement native = *measured[0];
    cell.row.native_s = native.median_s;
    std::vector<Contender> contenders;
    for (std::size_t i = 1; i < measured.size(); ++i) {
      if (measured[i]) contenders.push_back({&cell.candidates[i - 1], *measured[i]});
    }
    if (contenders.empty()) {
      cell.row.reason = "no candidate was measured";
      return;
    }
    std::vector<Contender> winners;
    std::copy_if(contenders.begin(), contenders.end(), std::back_inserter(winners),
                 [&](const Contender& one) { return why_native(one.measured, native).empty(); });
    const Contender best =
        best_of(winners.empty() ? contenders : winners, is_one_packet(cell.problem, view_));
    cell.row.predicted_s = best.candidate->forecast.seconds;
    cell.row.measured_s = best.measured.median_s;
    cell.row.reason = "measured " + times(native.median_s / best.measured.median_s);
    if (winners.empty()) {
      cell.row.reason += why_native(best.measured, native);
    } else {
      cell.winner = best.candidate->recipe;
    }
    cell.row.reason += how_chosen(cell);
  }

  // What a row of a large group says besides.
  std::string how_chosen(const Cell& cell) const {
    return is_by_estimate(cell.problem, view_) ? std::string("; candidates ") + kByEstimate : "";
  }

  // What stands against serving instead of the native collective; empty if nothing does.
  std::string why_native(const Measurement& eco, const Measurement& native) const {
    if (native.median_s / eco.median_s <= 1 + options_.gain_needed) return ": native";
    const bool beyond_spread = eco.median_s + eco.spread_s < native.median_s - native.spread_s;
    return beyond_spread ? "" : ", within the spread: native";
  }

  // The fastest; of short problems, where equally fast ones differ in whose traffic they meet, the lightest of these.
  static Contender best_of(const std::vector<Contender>& contenders, bool one_packet) {
    if (one_packet) {
      std::vector<Timed> timed;
      for (const Contender& one : contenders)
        timed.push_back({one.measured.median_s, &one.candidate->forecast});
      return contenders[lightest_of_equals(timed, one_packet)];
    }
    return *std::min_element(
        contenders.begin(), contenders.end(),
        [](const Contender& a, const Contender& b) { return a.measured.median_s < b.measured.median_s; });
  }

  void make_rows() {
    for (std::size_t e = 0; e < table_.entries.size(); ++e) {
      std::vector<const Cell*> cells;
      std::vector<const Cell*> left;
      for (const Cell& cell : cells_) {
        if (cell.entry == e) (cell.asked || cell.row.native_s > 0 ? cells : left).push_back(&cell);
      }
      std::sort(cells.begin(), cells.end(),
                [](const Cell* a, const Cell* b) { return a->problem.bytes < b->problem.bytes; });
      const Cell* previous = nullptr;
      for (const Cell* cell : cells) {
        if (previous != nullptr) add_row_between(table_.entries[e], *previous, *cell);
        Row row = cell->row;
        row.recipe = cell->winner;
        add_row(table_.entries[e], std::move(row));
        previous = cell;
      }
      for (const Cell* cell : left) add_open_row(table_.entries[e], *cell);
      if (sums(table_.entries[e].collective)) {
        for (Row& row : table_.entries[e].rows) find_in_order(table_.entries[e], row);
      }
    }
  }

  // Sizes between two measured ones: ECO's only if it won at both, by the recipe that is predicted better in the
  // (geometric) middle.
  void add_row_between(Entry& entry, const Cell& below, const Cell& above) {
    if (below.problem.bytes + 1 >= above.problem.bytes) return;
    Row row;
    row.up_to_bytes = above.problem.bytes - 1;
    row.reason = std::string(kBetween) + "ECO did not win at both measured ends";
    if (below.winner && above.winner) {
      CommonProblem middle = above.problem;
      middle.bytes = static_cast<std::size_t>(
          std::sqrt(static_cast<double>(below.problem.bytes) * static_cast<double>(above.problem.bytes)));
      middle.bytes = coll::whole_bytes(middle, middle.bytes);
      double best_s = std::numeric_limits<double>::infinity();
      for (const Recipe* recipe : {&*below.winner, &*above.winner}) {
        if (prove(*recipe, middle, view_) || prove(*recipe, above.problem, view_)) continue;
        const double seconds = forecast(*recipe, middle, view_, options_.forecast).seconds;
        if (seconds >= best_s) continue;
        best_s = seconds;
        row.recipe = *recipe;
      }
      row.reason = std::string(kBetween) +
                   (row.recipe ? "ECO won at both measured ends" : "neither end's recipe fits");
    }
    add_row(entry, std::move(row));
  }

  // A size that nobody asked for is served as if it were not named, and is known to be open.
  void add_open_row(Entry& entry, const Cell& cell) {
    const auto serves = std::lower_bound(entry.rows.begin(), entry.rows.end(), cell.problem.bytes,
                                         [](const Row& a, std::size_t b) { return a.up_to_bytes < b; });
    if (serves != entry.rows.end() && serves->up_to_bytes == cell.problem.bytes) {
      serves->open = true;
      return;
    }
    Row row = cell.row;
    if (serves != entry.rows.end() && serves->recipe && !prove(*serves->recipe, cell.problem, view_)) {
      row.recipe = serves->recipe;
    }
    entry.rows.insert(serves, std::move(row));
  }

  // For operations that do not commute the winner, if it combines in rank order; else whatever does and is predicted
  // to be well below what the library was measured at.
  void find_in_order(const Entry& entry, Row& row) const {
    if (!row.recipe || row.in_order) return;
    CommonProblem problem = problem_of(entry.collective, root_in(entry.root_subnet), row.up_to_bytes, view_);
    problem.commutative = false;
    if (!prove(*row.recipe, problem, view_)) {
      row.in_order = row.recipe;
      return;
    }
    if (!options_.search_in_order || row.native_s <= 0 || time_is_up()) return;
    ForecastOptions limited = options_.forecast;
    limited.stop_after_s = row.native_s / kHopeless;
    const std::vector<Candidate> ranked = rank_candidates(problem, view_, limited, true);
    for (const Candidate* candidate : shortlist(ranked, 1, problem, view_)) {
      row.in_order = candidate->recipe;
    }
  }

  // A row that would do the same as a between-row before it is joined with it, and keeps the measured evidence.
  static void add_row(Entry& entry, Row row) {
    if (!entry.rows.empty()) {
      const Row& last = entry.rows.back();
      if (last.reason.starts_with(kBetween) && last.recipe == row.recipe) entry.rows.pop_back();
    }
    entry.rows.push_back(std::move(row));
  }

  const GroupView& view_;
  const PlannerOptions& options_;
  const Measure& measure_;
  PlanTable table_;
  std::vector<Cell> cells_;
  std::size_t n_first_ = 0;
  std::size_t n_decided_ = 0;
  tune::Guided guided_;
};

}  // namespace

PlanTable make_plan(const GroupView& view, const std::vector<Collective>& collectives,
                    const PlannerOptions& options, const Measure& measure) {
  PlanTable table = Planning(view, collectives, options, measure).run();
  table.network = view.network->fingerprint();
  table.host_of_rank = view.host_of_rank;
  return table;
}

}  // namespace eco::plan
