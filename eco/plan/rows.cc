#include "eco/plan/rows.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include "eco/plan/proving.h"
#include "eco/plan/ranking.h"
#include "eco/plan/shortlist.h"

namespace eco::plan {
namespace {

using algo::Recipe;
using coll::CommonProblem;

// How the reason of a row begins that stands for sizes between two measured ones.
constexpr std::string_view kBetween = "between: ";
constexpr int kMostRanksGuessed = 64;

// Whose elements are combined.
bool sums(coll::Collective collective) {
  return coll::is_reduction(collective) && collective != coll::Collective::barrier;
}

std::string key_of(const CommonProblem& problem, const std::optional<Recipe>& recipe) {
  return std::string(coll::name(problem.collective)) + ' ' + std::to_string(problem.root) + ' ' +
         std::to_string(problem.bytes) + ' ' + std::to_string(problem.element_bytes) +
         (problem.commutative ? " " : " in order ") + (recipe ? recipe->text() : std::string());
}

// A row that would do the same as a between-row before it is joined with it, and keeps the measured evidence.
void add(std::vector<Row>& rows, Row row) {
  if (!rows.empty() && rows.back().reason.starts_with(kBetween) && rows.back().recipe == row.recipe) {
    rows.pop_back();
  }
  rows.push_back(std::move(row));
}

}  // namespace

CommonProblem planned_problem(coll::Collective collective, int root, std::size_t bytes,
                              const net::GroupView& view) {
  CommonProblem problem;
  problem.collective = collective;
  problem.n_ranks = view.n_ranks();
  problem.root = root;
  if (coll::follows_graph(collective)) problem.neighbors = view.neighbors;
  const bool has_whole = bytes >= coll::n_blocks(problem) * coll::kPlannedElementBytes;
  problem.element_bytes = sums(collective) && has_whole ? coll::kPlannedElementBytes : 1;
  problem.bytes = coll::whole_bytes(problem, bytes);
  return problem;
}

std::vector<Row> RowMaker::rows_of(const std::vector<PlannedSize>& sizes) {
  std::vector<Row> rows;
  const PlannedSize* previous = nullptr;
  bool is_behind_open = false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const PlannedSize& size = sizes[i];
    if (!size.is_named) {
      is_behind_open = true;
      continue;
    }
    const bool has_gap = previous != nullptr && previous->up_to_bytes + 1 < size.problem->bytes;
    // Where the library serves what is open, calls above that are planned at this size, whatever won below.
    const bool is_at_open = is_behind_open || size.row->open;
    if (has_gap && (options_.serves_open || !is_at_open)) add(rows, row_between(*previous, size));
    is_behind_open = size.row->open;
    Row row = *size.row;
    row.up_to_bytes = size.up_to_bytes;
    if (row.open && !options_.serves_open) take_guess(row, sizes, i);
    find_in_order(*size.problem, row);
    add(rows, std::move(row));
    previous = &size;
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!sizes[i].is_named) add_open(rows, sizes, i);
  }
  return rows;
}

// Sizes between two measured ones: ECO's only if it won at both, by the recipe that is predicted better in the (geometric)
// middle.
Row RowMaker::row_between(const PlannedSize& below, const PlannedSize& above) {
  Row row;
  row.up_to_bytes = above.problem->bytes - 1;
  row.reason = std::string(kBetween) + "ECO did not win at both measured ends";
  if (!below.row->recipe || !above.row->recipe) return row;
  CommonProblem middle = *above.problem;
  middle.bytes = static_cast<std::size_t>(
      std::sqrt(static_cast<double>(below.problem->bytes) * static_cast<double>(above.problem->bytes)));
  middle.bytes = coll::whole_bytes(middle, middle.bytes);
  row.recipe = better_end(*below.row->recipe, *above.row->recipe, middle, *above.problem);
  row.reason =
      std::string(kBetween) + (row.recipe ? "ECO won at both measured ends" : "neither end's recipe fits");
  find_in_order(*above.problem, row);
  return row;
}

// Until it is measured: what serves a size between two at which ECO won. Proving takes time, and all ranks wait meanwhile.
void RowMaker::take_guess(Row& row, const std::vector<PlannedSize>& sizes, std::size_t at) {
  if (view_.n_ranks() > kMostRanksGuessed) return;
  const auto is_planned = [](const PlannedSize& size) { return size.is_named && !size.row->open; };
  const auto here = sizes.begin() + static_cast<std::ptrdiff_t>(at);
  const auto below = std::find_if(std::make_reverse_iterator(here), sizes.rend(), is_planned);
  const auto above = std::find_if(here, sizes.end(), is_planned);
  if (below == sizes.rend() || above == sizes.end()) return;
  if (!below->row->recipe || !above->row->recipe) return;
  row.recipe = better_end(*below->row->recipe, *above->row->recipe, *here->problem, *here->problem);
  if (row.recipe) row.reason += "; a guess, since ECO won below and above";
}

// The one that is predicted to be faster at `at`, of those that serve from there up to `up_to`.
std::optional<Recipe> RowMaker::better_end(const Recipe& below, const Recipe& above, const CommonProblem& at,
                                           const CommonProblem& up_to) {
  const std::string key = key_of(at, below) + '\n' + key_of(up_to, above);
  const auto known = better_ends_.find(key);
  if (known != better_ends_.end()) return known->second;
  std::optional<Recipe> better;
  double best_s = std::numeric_limits<double>::infinity();
  for (const Recipe* recipe : {&below, &above}) {
    if (!is_proved(*recipe, at) || !is_proved(*recipe, up_to)) continue;
    const double seconds = forecast(*recipe, at, view_, options_.forecast).seconds;
    if (seconds >= best_s) continue;
    best_s = seconds;
    better = *recipe;
  }
  return better_ends_.emplace(key, better).first->second;
}

void RowMaker::add_open(std::vector<Row>& rows, const std::vector<PlannedSize>& sizes, std::size_t at) {
  const PlannedSize& size = sizes[at];
  const auto serves = std::lower_bound(rows.begin(), rows.end(), size.up_to_bytes,
                                       [](const Row& a, std::size_t b) { return a.up_to_bytes < b; });
  if (serves != rows.end() && serves->up_to_bytes == size.up_to_bytes) {
    serves->open = true;
    return;
  }
  Row row = *size.row;
  row.up_to_bytes = size.up_to_bytes;
  if (!options_.serves_open) {
    take_guess(row, sizes, at);
  } else if (serves != rows.end() && serves->recipe && is_proved(*serves->recipe, *size.problem)) {
    row.recipe = serves->recipe;
  }
  find_in_order(*size.problem, row);
  rows.insert(serves, std::move(row));
}

// For operations that do not commute the winner, if it combines in rank order; else whatever does and is predicted to be
// well below what the library was measured at.
void RowMaker::find_in_order(const CommonProblem& at, Row& row) {
  if (!row.recipe || row.in_order || !sums(at.collective)) return;
  CommonProblem problem = planned_problem(at.collective, at.root, row.up_to_bytes, view_);
  problem.commutative = false;
  const std::string key = key_of(problem, row.recipe);
  const auto known = in_order_.find(key);
  row.in_order = known != in_order_.end() ? known->second
                                          : in_order_.emplace(key, in_order_of(problem, row)).first->second;
}

std::optional<Recipe> RowMaker::in_order_of(const CommonProblem& problem, const Row& row) {
  if (is_proved(*row.recipe, problem)) return row.recipe;
  const bool has_time = !options_.time_is_up || !options_.time_is_up();
  if (!options_.search_in_order || row.native_s <= 0 || !has_time) return std::nullopt;
  ForecastOptions limited = options_.forecast;
  limited.stop_after_s = row.native_s / kHopeless;
  const std::vector<Candidate> ranked = rank_candidates(problem, view_, limited, true);
  const auto best = shortlist(ranked, 1, problem, view_);
  return best.empty() ? std::nullopt : std::optional(best.front()->recipe);
}

bool RowMaker::is_proved(const Recipe& recipe, const CommonProblem& problem) {
  const std::string key = key_of(problem, recipe);
  const auto known = proved_.find(key);
  return known != proved_.end() ? known->second : (proved_[key] = !prove(recipe, problem, view_).has_value());
}

}  // namespace eco::plan
