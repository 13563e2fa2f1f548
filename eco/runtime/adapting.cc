// How a communicator follows ambient traffic: asked in calls that all ranks count alike (ambient_watch.h), it looks which links
// are loaded, has what calls take now predicted on such a network, and lets the program's own calls show what is faster.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <utility>

#include "eco/algo/algorithm.h"
#include "eco/base/errors.h"
#include "eco/measure/ambient.h"
#include "eco/plan/faster_under.h"
#include "eco/runtime/communicator.h"
#include "eco/runtime/steps.h"

namespace eco::runtime {
namespace {

using coll::CommonProblem;
using Choice = AmbientWatch::Choice;

constexpr double kNanoseconds_s = 1e-9;
constexpr double kNanoseconds_ms = 1e-6;
// For finding recipes, of all cells together and on rank 0, while all others wait.
constexpr double kMostPlanning_s = 0.2;
// New recipes of a race. The present one runs too, the table's, and the library's own where it may be as fast.
constexpr std::size_t kNew = 2;

// One line for each contender: its cell, and what it is.
constexpr std::string_view kTable = "table";

std::string line_of(std::size_t cell, const Choice& choice) {
  const std::string what = choice.is_of_table ? std::string(kTable)
                           : choice.recipe    ? choice.recipe->text()
                                              : std::string(algo::kNativePart);
  return std::to_string(cell) + ' ' + what + '\n';
}

// What each is goes to `names`.
std::vector<std::vector<Choice>> parse_contenders(const std::string& text, std::vector<std::string>& names) {
  std::vector<std::vector<Choice>> contenders(AmbientWatch::kCells);
  names.clear();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.find(' ');
    const std::size_t cell = std::stoul(line.substr(0, blank));
    const std::string what = line.substr(blank + 1);
    names.push_back(what);
    Choice choice{.is_of_table = what == kTable};
    if (what != kTable && what != algo::kNativePart) choice.recipe = algo::parse_recipe(what);
    contenders.at(cell).push_back(std::move(choice));
  }
  return contenders;
}

std::string fixed(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

}  // namespace

void Communicator::follow_ambient(Following when, NanosecondClock clock) {
  watch_ = std::make_unique<AmbientWatch>(when);
  watch_clock_ = std::move(clock);
  ambient_account_ = Account(watch_clock_());
}

void Communicator::begin_call(const CommonProblem& problem) {
  if (watch_) watch_->begin_call(problem, plan::root_subnet(problem, view_));
  begin_passing(problem);
}

// Where the recipe does not fit this root or these elements: the same on all ranks.
const algo::Recipe* Communicator::recipe_of(const CommonProblem& problem, const Choice* choice) const {
  if (choice == nullptr) return served_by_table(problem);
  if (!choice->recipe) return nullptr;
  if (is_built(problem, *choice->recipe) || !algo::why_not(*choice->recipe, problem, view_))
    return &*choice->recipe;
  return served_by_table(problem);
}

const algo::Recipe* Communicator::serves(const CommonProblem& problem) const {
  if (!may_be_served(problem)) return nullptr;
  return recipe_of(problem, watch_ ? watch_->settled(problem, plan::root_subnet(problem, view_)) : nullptr);
}

const algo::Recipe* Communicator::serves_this_call(const CommonProblem& problem) const {
  if (passing_ != nullptr || !may_be_served(problem)) return nullptr;
  return recipe_of(problem, watch_ ? watch_->at_hand() : nullptr);
}

void Communicator::account_for_race() {
  const std::span<const AmbientWatch::Raced> raced = watch_->raced();
  for (std::size_t i = 0; i < raced.size() && i < racing_.size(); ++i) {
    ambient_account_.add(watch_clock_(), [&] {
      const CommonProblem& problem = watch_->cells()[raced[i].cell].problem;
      const std::string took = raced[i].took_ns > 0
                                   ? fixed(kNanoseconds_ms * static_cast<double>(raced[i].took_ns), 3) + " ms"
                                   : "too few calls";
      return "race of " + std::string(coll::name(problem.collective)) + " " + std::to_string(problem.bytes) +
             " B: " + racing_[i] + ": " + took + (raced[i].serves ? ", serves" : "");
    });
  }
}

void Communicator::ask_about_ambient(transport::Native& native) {
  const std::int64_t began_ns = watch_clock_();
  for (std::size_t c = 0; c < watch_->cells().size(); ++c) {
    const CommonProblem& problem = watch_->cells()[c].problem;
    const double plan_s = table_.call_s(problem, view_);
    if (plan_s > 0) watch_->note_plan(c, std::llround(plan_s / kNanoseconds_s));
  }
  native.allreduce_min(watch_->question());
  const bool was_racing = watch_->is_racing();
  const AmbientWatch::Next next = watch_->conclude();
  if (was_racing) account_for_race();
  const std::int64_t asked_ns = watch_clock_();
  if (next == AmbientWatch::Next::look) look_at_ambient(native);
  if (watch_) watch_->note_spent(asked_ns - began_ns, watch_clock_() - asked_ns);
  forget_begins();
}

void Communicator::look_at_ambient(transport::Native& native) {
  Steps steps(native, transport_.rank(), transport_.n_ranks());
  try {
    const measure::AmbientOptions options{
        .host_of_rank = view_.host_of_rank,
        .clock = [this] { return kNanoseconds_s * static_cast<double>(watch_clock_()); },
        .turn = static_cast<unsigned>(watch_->told().looks)};
    const std::int64_t began_ns = watch_clock_();
    const net::Ambient found =
        measure::find_ambient(transport_, native, *view_.network, watch_->ambient(), options);
    ambient_account_.add(watch_clock_(), [&] {
      return "a look of " + fixed(kNanoseconds_ms * static_cast<double>(watch_clock_() - began_ns), 0) +
             " ms found " + found.describe(*view_.network);
    });
    if (watch_->judge(found) == AmbientWatch::Found::other) race(steps);
  } catch (const TransportError&) {  // on all ranks; messages may still be under way
    serve_nothing_more();
  } catch (const StaysNative&) {  // likewise: somebody had no memory, say
    watch_->begin_race({});
  }
}

void Communicator::serve_nothing_more() {
  table_.entries.clear();
  watch_.reset();
}

void Communicator::race(Steps& steps) {
  const std::string text = steps.look("", [&] { return std::pair(Found::text, contenders_text()); }).second;
  std::vector<std::vector<Choice>> contenders;
  Needs needs = agree(steps, [&](Needs& here) {
    contenders = parse_contenders(text, racing_);
    here = needs_;
    for (std::size_t c = 0; c < watch_->cells().size(); ++c) {
      for (const Choice& choice : contenders[c]) {
        if (choice.recipe) reserve(watch_->cells()[c].problem, *choice.recipe, here);
      }
    }
    check_tags(here);
  });
  provide(steps, std::move(needs));
  watch_->begin_race(std::move(contenders));
}

// Rank 0.
std::string Communicator::contenders_text() {
  net::GroupView loaded = view_;
  loaded.network = std::make_shared<const net::Network>(net::under(*view_.network, watch_->ambient()));
  const std::int64_t end_ns = watch_clock_() + std::llround(kMostPlanning_s / kNanoseconds_s);
  std::string text;
  const std::span<const AmbientWatch::Cell> cells = watch_->cells();
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const AmbientWatch::Cell& cell = cells[c];
    const std::int64_t now_ns = watch_clock_();
    const bool always = watch_->follows_always();
    if (cell.now_ns == 0 && !always) continue;  // hardly called now
    const std::int64_t cell_end_ns = now_ns + (end_ns - now_ns) / static_cast<std::int64_t>(cells.size() - c);
    plan::FasterOptions options{.how_many = kNew};
    options.time_is_up = [this, cell_end_ns] { return watch_clock_() >= cell_end_ns; };
    std::vector<Choice> contenders{cell.choice};
    const auto add = [&](Choice choice) {
      if (contenders.size() < AmbientWatch::kContenders &&
          std::find(contenders.begin(), contenders.end(), choice) == contenders.end())
        contenders.push_back(std::move(choice));
    };
    const algo::Recipe* const present =
        recipe_of(cell.problem, cell.choice.is_of_table ? nullptr : &cell.choice);
    const double now_s = kNanoseconds_s * static_cast<double>(cell.now_ns);
    const double present_s =
        always ? std::numeric_limits<double>::infinity()
        : present == nullptr
            ? now_s
            : plan::candidate_of(*present, cell.problem, loaded, options.forecast).forecast.seconds;
    for (algo::Recipe& recipe : plan::faster_under(cell.problem, loaded, present_s, options)) {
      if (present == nullptr || recipe != *present) add({.is_of_table = false, .recipe = std::move(recipe)});
    }
    add({});
    // Under traffic it is no faster than the plan has measured it without.
    const double native_s = table_.native_s(cell.problem, view_);
    if (present != nullptr && (always || (native_s > 0 && native_s < now_s))) add({.is_of_table = false});
    if (contenders.size() < 2) continue;
    for (const Choice& choice : contenders) text += line_of(c, choice);
  }
  return text;
}

}  // namespace eco::runtime
