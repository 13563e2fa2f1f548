// From sizes that were planned to the rows of a table's entry: what serves between two of them, and for operations that do not
// commute.
//
//   RowMaker maker(view, {.forecast = ...});
//   entry.rows = maker.rows_of({{problem, row}, ...});
//
// Asked again and again while a plan grows, it proves and predicts nothing twice.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/plan/forecast.h"
#include "eco/plan/plan_table.h"

namespace eco::plan {

// Of so many bytes, cut to whole elements and equal blocks. Where elements are combined they are doubles, as when they are
// measured, or bytes where there would be less than one double for a rank.
coll::CommonProblem planned_problem(coll::Collective collective, int root, std::size_t bytes,
                                    const net::GroupView& view);

// A size of one collective and root class.
struct PlannedSize {
  const coll::CommonProblem* problem = nullptr;
  const Row* row = nullptr;     // with the recipe that serves there, if one does
  std::size_t up_to_bytes = 0;  // as far as that is served: what was asked for
  bool is_named = true;         // else it is served as if it were not named, and known to be open
};

struct RowOptions {
  ForecastOptions forecast;
  // Whether a winner that does not combine in rank order gets a second recipe that does, by prediction alone.
  bool search_in_order = true;
  // Whether sizes that are not named are served by what serves larger ones, and those that could not be measured by the
  // library; else both by a guess, if they are between two at which ECO won, or by the library.
  bool serves_open = true;
  std::function<bool()> time_is_up{};
};

class RowMaker {
 public:
  RowMaker(const net::GroupView& view, RowOptions options) : view_(view), options_(std::move(options)) {}

  // Ascending sizes of one entry.
  std::vector<Row> rows_of(const std::vector<PlannedSize>& sizes);

 private:
  Row row_between(const PlannedSize& below, const PlannedSize& above);
  void take_guess(Row& row, const std::vector<PlannedSize>& sizes, std::size_t at);
  std::optional<algo::Recipe> better_end(const algo::Recipe& below, const algo::Recipe& above,
                                         const coll::CommonProblem& at, const coll::CommonProblem& up_to);
  void add_open(std::vector<Row>& rows, const std::vector<PlannedSize>& sizes, std::size_t at);
  void find_in_order(const coll::CommonProblem& problem, Row& row);
  std::optional<algo::Recipe> in_order_of(const coll::CommonProblem& problem, const Row& row);
  bool is_proved(const algo::Recipe& recipe, const coll::CommonProblem& problem);

  const net::GroupView& view_;
  const RowOptions options_;
  std::map<std::string, bool> proved_;
  std::map<std::string, std::optional<algo::Recipe>> better_ends_;
  std::map<std::string, std::optional<algo::Recipe>> in_order_;
};

}  // namespace eco::plan
