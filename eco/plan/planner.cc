// Map: rank_candidates and shortlist choose what is worth measuring for one problem (a cell); Planning walks the cells
// and turns the winners into rows. explain.cc prints.
#include "eco/plan/planner.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include "eco/base/errors.h"
#include "eco/plan/search.h"

namespace eco::plan {
namespace {

using algo::Recipe;
using coll::Collective;
using coll::CommonProblem;
using net::GroupView;

// Predictions of different patterns on one network are wrong by up to about a tenth, in any direction: a candidate this
// much above the cheapest cannot win a measurement.
constexpr double kHopeless = 1.25;
// Predictions closer than this are equal: then fewer messages win, since CPU time is what a prediction knows least.
constexpr double kEqual = 1.02;
// Of a problem that is one packet at most, where latency is all, times closer than this count as equal, predicted or
// measured: then who crosses least between subnets wins, since there others' traffic is, and delay that varies.
constexpr double kEqualShort = 1.05;
// A recipe that differs in its send window only is measured too if it is predicted within this: what a window is for,
// queues that overflow, is not in the predictor.
constexpr double kWindowPrice = 1.10;

// Forms of recipes (all but segment and window) of which more than one segment size is predicted, and recipes of which
// the windows are, where not all are. With 8 forms the best candidate of 2 cells in 34 was left out (predictions of all
// collectives at 8 B, 16 KiB and 1 MiB on 8 hosts of one switch and of three subnets; 3 % and 9 % lost), with 12 none by
// more than 0.3 %, for 5 % more time.
constexpr std::size_t kFormsRefined = 12;
constexpr std::size_t kWindowsTried = 4;

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
  const std::size_t n_blocks = coll::is_blocked(collective) ? static_cast<std::size_t>(problem.n_ranks) : 1;
  problem.element_bytes = sums(collective) && bytes >= n_blocks * sizeof(double) ? sizeof(double) : 1;
  problem.bytes = coll::whole_bytes(problem, bytes);
  return problem;
}

bool is_one_packet(const CommonProblem& problem, const GroupView& view) {
  return static_cast<double>(problem.bytes) <= view.network->packet_bytes;
}

// Messages between subnets first where they are what a short problem takes, all messages elsewhere.
std::pair<double, double> traffic(const Forecast& forecast, bool is_short) {
  return is_short ? std::pair(forecast.n_crossings, forecast.n_messages)
                  : std::pair(forecast.n_messages, forecast.n_crossings);
}

bool differs_in_window_only(const Recipe& a, const Recipe& b) {
  Recipe same = b;
  same.params.window = a.params.window;
  return a == same && a.params.window != b.params.window;
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

// Predicts the candidates of one problem. All of them, or, with `prune`, in three steps that leave most of them out: of
// each form (all but segment and window) one segment size; of the best forms all segment sizes; of the best of these
// the windows, which change little in a prediction.
class Ranking {
 public:
  Ranking(const CommonProblem& problem, const GroupView& view, const ForecastOptions& options, bool prune)
      : problem_(problem), view_(view), options_(options), prune_(prune) {
    for (const algo::Algorithm& algorithm : algo::registry()) {
      if (algorithm.collective != coll::algorithms_of(problem.collective)) continue;
      if (const auto reason = algorithm.why_not(problem, view)) {
        unable_.push_back({{algorithm.name, {}}, {}, *reason});
        continue;
      }
      for (algo::Params& params : algorithm.candidates(problem, view)) {
        left_.push_back({{algorithm.name, std::move(params)}, {}, {}});
      }
    }
  }

  std::vector<Candidate> run() && {
    if (prune_) {
      leave_out();
    } else {
      for (const Candidate& candidate : left_) predict(candidate.recipe);
    }
    std::stable_sort(able_.begin(), able_.end(), [](const Candidate& a, const Candidate& b) {
      if (a.forecast.given_up != b.forecast.given_up) return b.forecast.given_up;
      return a.forecast.seconds < b.forecast.seconds;
    });
    able_.insert(able_.end(), std::make_move_iterator(unable_.begin()),
                 std::make_move_iterator(unable_.end()));
    return std::move(able_);
  }

 private:
  static Recipe form_of(Recipe recipe) {
    recipe.params.segment_bytes = 0;
    recipe.params.window = 0;
    return recipe;
  }

  // Seconds, or infinity where it has lost or cannot be.
  double predict(const Recipe& recipe) {
    ForecastOptions limited = options_;
    if (prune_) limited.stop_after_s = std::min(options_.stop_after_s, kHopeless * best_s_);
    Candidate candidate = candidate_of(recipe, problem_, view_, limited);
    const double infinity = std::numeric_limits<double>::infinity();
    if (!candidate.why_not.empty()) {
      unable_.push_back(std::move(candidate));
      return infinity;
    }
    const double seconds = candidate.forecast.given_up ? infinity : candidate.forecast.seconds;
    best_s_ = std::min(best_s_, seconds);
    able_.push_back(std::move(candidate));
    return seconds;
  }

  void leave_out() {
    struct Form {
      std::vector<const Candidate*> members;  // of each segment size, without a window
      double seconds = 0;                     // of the one in the middle
    };
    std::vector<Form> forms;
    std::vector<const Candidate*> windowed;
    for (const Candidate& candidate : left_) {
      if (candidate.recipe.params.window != 0) {
        windowed.push_back(&candidate);
      } else if (forms.empty() || form_of(forms.back().members[0]->recipe) != form_of(candidate.recipe)) {
        const auto known = std::find_if(forms.begin(), forms.end(), [&](const Form& form) {
          return form_of(form.members[0]->recipe) == form_of(candidate.recipe);
        });
        if (known == forms.end()) {
          forms.push_back({{&candidate}, 0});
        } else {
          known->members.push_back(&candidate);
        }
      } else {
        forms.back().members.push_back(&candidate);
      }
    }
    for (Form& form : forms) form.seconds = predict(form.members[form.members.size() / 2]->recipe);
    std::stable_sort(forms.begin(), forms.end(),
                     [](const Form& a, const Form& b) { return a.seconds < b.seconds; });
    for (std::size_t f = 0; f < forms.size(); ++f) {
      for (std::size_t m = 0; m < forms[f].members.size(); ++m) {
        if (m == forms[f].members.size() / 2) continue;
        const Recipe& recipe = forms[f].members[m]->recipe;
        f < kFormsRefined ? static_cast<void>(predict(recipe)) : give_up(recipe);
      }
    }
    std::vector<std::pair<double, Recipe>> best;
    for (const Candidate& candidate : able_) {
      if (!candidate.forecast.given_up) best.emplace_back(candidate.forecast.seconds, candidate.recipe);
    }
    std::stable_sort(best.begin(), best.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    best.resize(std::min(best.size(), kWindowsTried));
    for (const Candidate* candidate : windowed) {
      const bool worth = std::any_of(best.begin(), best.end(), [&](const auto& b) {
        return differs_in_window_only(b.second, candidate->recipe);
      });
      worth ? static_cast<void>(predict(candidate->recipe)) : give_up(candidate->recipe);
    }
  }

  void give_up(const Recipe& recipe) {
    Candidate candidate{recipe, {}, {}};
    candidate.forecast.seconds = best_s_;
    candidate.forecast.given_up = true;
    able_.push_back(std::move(candidate));
  }

  const CommonProblem& problem_;
  const GroupView& view_;
  const ForecastOptions& options_;
  const bool prune_;
  double best_s_ = std::numeric_limits<double>::infinity();
  std::vector<Candidate> left_;
  std::vector<Candidate> able_;
  std::vector<Candidate> unable_;
};

}  // namespace

std::vector<Candidate> rank_candidates(const CommonProblem& problem, const GroupView& view,
                                       const ForecastOptions& options, bool prune) {
  return Ranking(problem, view, options, prune).run();
}

std::vector<const Candidate*> shortlist(const std::vector<Candidate>& ranked, std::size_t how_many,
                                        const CommonProblem& problem, const GroupView& view) {
  std::vector<const Candidate*> pool;  // cheapest first
  for (const Candidate& candidate : ranked) {
    if (!candidate.why_not.empty() || candidate.forecast.given_up) continue;
    if (!pool.empty() && candidate.forecast.seconds > kHopeless * pool.front()->forecast.seconds) break;
    pool.push_back(&candidate);
  }
  std::vector<const Candidate*> chosen;
  const auto take = [&](const Candidate* candidate) {
    if (chosen.size() < how_many && !prove(candidate->recipe, problem, view)) chosen.push_back(candidate);
    std::erase(pool, candidate);
  };

  // The leader: of the equally fast, the one of least traffic. One that the verifier refuses makes room.
  const bool is_short = is_one_packet(problem, view);
  while (!pool.empty() && chosen.empty()) {
    const double limit_s = (is_short ? kEqualShort : kEqual) * pool.front()->forecast.seconds;
    const Candidate* leader = pool.front();
    for (const Candidate* other : pool) {
      if (other->forecast.seconds <= limit_s &&
          traffic(other->forecast, is_short) < traffic(leader->forecast, is_short)) {
        leader = other;
      }
    }
    take(leader);
  }
  if (chosen.empty()) return chosen;
  const Candidate* leader = chosen.front();
  for (const Candidate* other : std::vector<const Candidate*>(pool)) {
    if (differs_in_window_only(leader->recipe, other->recipe) &&
        other->forecast.seconds <= kWindowPrice * leader->forecast.seconds) {
      take(other);
      break;
    }
  }
  // Others of another algorithm first: what a prediction is wrong about, it is wrong about for all sizes of segments. So
  // it is with native parts, which are guessed.
  const auto is_new = [&](const Candidate* candidate) {
    return std::none_of(chosen.begin(), chosen.end(), [&](const Candidate* other) {
      return other->recipe.algorithm == candidate->recipe.algorithm &&
             other->forecast.guesses_native == candidate->forecast.guesses_native;
    });
  };
  for (const Candidate* candidate : std::vector<const Candidate*>(pool)) {
    if (is_new(candidate)) take(candidate);
  }
  while (!pool.empty() && chosen.size() < how_many) take(pool.front());
  return chosen;
}

std::optional<Recipe> guess_native(const CommonProblem& problem, const GroupView& view) {
  for (const algo::Shape shape : {algo::Shape::binomial, algo::Shape::flat, algo::Shape::chain}) {
    Recipe recipe;
    recipe.algorithm = std::string(coll::name(coll::algorithms_of(problem.collective))) + "/" +
                       std::string(algo::name(shape));
    recipe.params.inside = recipe.params.between = shape;
    if (!algo::why_not(recipe, problem, view)) return recipe;
  }
  return std::nullopt;
}

double guess_native_s(const CommonProblem& problem, const GroupView& view) {
  const std::optional<Recipe> guess = guess_native(problem, view);
  return guess ? forecast(*guess, problem, view).seconds : 0;
}

namespace {

// One problem that the table will speak about.
struct Cell {
  CommonProblem problem;
  std::size_t entry = 0;  // index into PlanTable::entries
  bool asked = true;      // else it is left to a later plan
  double native_guess_s = 0;
  std::vector<Candidate> candidates;  // those worth measuring, proved
  std::optional<Recipe> winner;
  Row row;  // its evidence
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
      decide_by_measurement(cell);
    } else {
      decide_by_prediction(cell);
    }
  }

  void decide_by_prediction(Cell& cell) {
    const Candidate& best = cell.candidates.front();
    cell.row.predicted_s = best.forecast.seconds;
    cell.row.native_s = cell.native_guess_s;
    const double ratio = cell.native_guess_s / best.forecast.seconds;
    cell.row.reason = "predicted " + times(ratio) + " of a guess at native";
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
    std::optional<std::size_t> best;
    for (std::size_t i = 1; i < measured.size(); ++i) {
      if (measured[i] && (!best || measured[i]->median_s < measured[*best]->median_s)) best = i;
    }
    if (!best) {
      cell.row.reason = "no candidate was measured";
      return;
    }
    if (is_one_packet(cell.problem, view_)) {
      const double limit_s = kEqualShort * measured[*best]->median_s;
      for (std::size_t i = 1; i < measured.size(); ++i) {
        if (measured[i] && measured[i]->median_s <= limit_s &&
            traffic(cell.candidates[i - 1].forecast, true) <
                traffic(cell.candidates[*best - 1].forecast, true)) {
          best = i;
        }
      }
    }
    const Measurement eco = *measured[*best];
    cell.row.predicted_s = cell.candidates[*best - 1].forecast.seconds;
    cell.row.measured_s = eco.median_s;
    const double ratio = native.median_s / eco.median_s;
    const bool fast_enough = ratio > 1 + options_.gain_needed;
    const bool beyond_spread = eco.median_s + eco.spread_s < native.median_s - native.spread_s;
    cell.row.reason = "measured " + times(ratio);
    if (fast_enough && beyond_spread) {
      cell.winner = *recipes[*best];
    } else {
      cell.row.reason += fast_enough ? ", within the spread: native" : ": native";
    }
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
