#include "eco/plan/explain.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>

#include "eco/algo/algorithm.h"
#include "eco/plan/closed_forecast.h"
#include "eco/plan/large_group.h"
#include "eco/plan/native_guess.h"
#include "eco/plan/ranking.h"

namespace eco::plan {
namespace {

// What is printed of many candidates; the rest is counted.
constexpr std::size_t kMostLines = 16;
// Of what is said of a candidate, under its recipe.
constexpr std::size_t kIndent = 52;
// A difference below this is no reason.
constexpr double kWorthNaming = 0.01;

std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 0.01 ? "%.3f" : "%.1f", seconds * 1e3);
  return text;
}

std::string percent(double fraction) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.0f %%", fraction * 100);
  return text;
}

std::string padded(const std::string& text, std::size_t width) {
  return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}

std::string size_text(std::size_t bytes) {
  constexpr std::size_t kKi = 1024;
  if (bytes >= kKi * kKi && bytes % (kKi * kKi) == 0) return std::to_string(bytes / (kKi * kKi)) + " MiB";
  if (bytes >= kKi && bytes % kKi == 0) return std::to_string(bytes / kKi) + " KiB";
  return std::to_string(bytes) + " bytes";
}

std::string headline(const coll::CommonProblem& problem, const net::GroupView& view) {
  std::string text{coll::name(problem.collective)};
  if (problem.collective != coll::Collective::barrier) text += " of " + size_text(problem.bytes);
  if (coll::is_rooted(problem.collective)) {
    const bool from_root = coll::output_bytes(problem, problem.root == 0 ? 1 : 0) > 0;
    text += (from_root ? " from rank " : " to rank ") + std::to_string(problem.root);
  }
  return text + " over " + std::to_string(view.n_ranks()) + " ranks, " + view.describe();
}

// What carries what, where that is not one and the same.
std::string rails_text(const net::Network& network) {
  if (network.n_rails() < 2) return {};
  std::string names = network.rails.empty() ? "" : network.rails.front();
  for (int rail = 1; rail < network.n_rails(); ++rail) {
    names += (names.empty() ? "" : ", ") + network.more_rails[static_cast<std::size_t>(rail - 1)].name;
    int n_hosts = 0;
    for (int host = 0; host < network.n_hosts(); ++host) n_hosts += network.has_rail(host, rail) ? 1 : 0;
    if (n_hosts < network.n_hosts())
      names += " on " + std::to_string(n_hosts) + " of " + std::to_string(network.n_hosts()) + " hosts";
  }
  return std::to_string(network.n_rails()) + " rails" + (names.empty() ? "" : " (" + names + ")") +
         ": under MPI, recipes over them go over TCP, all others over the library (--transport ucx: all over "
         "UCX)\n";
}

std::string describe(const Row& row) {
  std::string text = "the table says: " + (row.recipe ? row.recipe->text() : std::string("native"));
  text += "\n  up to " + std::to_string(row.up_to_bytes) + " bytes";
  if (!row.reason.empty()) text += "; " + row.reason;
  if (row.predicted_s > 0) text += "; predicted " + milliseconds(row.predicted_s) + " ms";
  if (row.measured_s > 0) text += "; measured " + milliseconds(row.measured_s) + " ms";
  if (row.native_s > 0)
    text += std::string("; native ") + (row.native_is_least ? "at least " : "") + milliseconds(row.native_s) +
            " ms";
  if (row.in_a_row) text += "; calls in a row";
  if (row.open) text += "; a guess until a job or eco tune measures it";
  return text + "\n";
}

std::string parts_of(const algo::Recipe& recipe) {
  std::string text;
  for (const std::string& part : recipe.params.parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

// Where the formula is of another opinion than the simulation.
std::string check(const Candidate& candidate, const coll::CommonProblem& problem,
                  const net::GroupView& view) {
  const auto closed = contradiction(candidate, problem, view);
  if (!closed) return "";
  std::string text = std::string(kIndent, ' ') + "check: its closed form " +
                     std::string(closed->form->formula) + " says " + milliseconds(closed->least_s);
  if (closed->most_s > closed->least_s) text += " to " + milliseconds(closed->most_s);
  return text + " ms\n";
}

std::string line(const Candidate& candidate, const Candidate& cheapest, bool is_cheapest) {
  const Forecast& f = candidate.forecast;
  std::string text = padded(milliseconds(f.seconds), 10) + padded(milliseconds(f.terms.transfer_s), 10) +
                     padded(milliseconds(f.terms.latency_s), 10) +
                     padded(milliseconds(f.terms.overhead_s), 10) +
                     padded(milliseconds(f.terms.combine_s), 10) + "  " + candidate.recipe.text() + "\n" +
                     std::string(kIndent, ' ');
  if (is_cheapest) {
    text += "cheapest; busiest: " + f.busiest + ", " + milliseconds(f.busiest_s) + " ms";
  } else {
    text += why_it_lost(candidate, cheapest);
  }
  if (f.extrapolated) text += " (extrapolated from fewer segments)";
  if (f.guesses_native) text += " (native parts guessed: " + parts_of(algo::stand_in(candidate.recipe)) + ")";
  return text + "\n";
}

// The reason why none of several can serve, if it is one and the same.
std::optional<std::string> why_none(const std::vector<Candidate>& ranked) {
  if (ranked.empty() || ranked.front().why_not.empty()) return std::nullopt;
  const std::string& reason = ranked.front().why_not;
  const auto says_so = [&](const Candidate& candidate) { return candidate.why_not == reason; };
  return std::all_of(ranked.begin(), ranked.end(), says_so) ? std::optional(reason) : std::nullopt;
}

}  // namespace

std::string why_it_lost(const Candidate& candidate, const Candidate& cheapest) {
  if (!candidate.why_not.empty()) return candidate.why_not;
  const Forecast& mine = candidate.forecast;
  const Forecast& best = cheapest.forecast;
  if (mine.given_up) return "given up: more than " + percent(mine.seconds / best.seconds - 1);
  const double more_s = mine.seconds - best.seconds;
  std::string text = percent(more_s / best.seconds) + ": ";
  if (more_s <= kWorthNaming * best.seconds) return text + "as good as the cheapest";
  // A busier bottleneck explains a longer time, if it is busier by about as much.
  if (mine.busiest_s - best.busiest_s > more_s / 2) {
    return text + mine.busiest + " carries " + milliseconds(mine.busiest_s) + " ms instead of " +
           best.busiest + " " + milliseconds(best.busiest_s);
  }
  struct Difference {
    const char* what;
    double more_s;
  };
  const std::array<Difference, 4> differences = {{
      {"waits longer for bytes to pass (longer chain or larger segments)",
       mine.terms.transfer_s - best.terms.transfer_s},
      {"more latencies one after the other", mine.terms.latency_s - best.terms.latency_s},
      {"more messages at one rank", mine.terms.overhead_s - best.terms.overhead_s},
      {"more combining at one rank", mine.terms.combine_s - best.terms.combine_s},
  }};
  const auto largest = std::max_element(differences.begin(), differences.end(),
                                        [](const auto& a, const auto& b) { return a.more_s < b.more_s; });
  return text + largest->what + ", " + milliseconds(largest->more_s) + " ms";
}

std::string explain(const coll::CommonProblem& problem, const net::GroupView& view, const Row* row,
                    const std::vector<Candidate>& ranked) {
  std::string text = headline(problem, view) + "\n" + rails_text(*view.network);
  if (row != nullptr) text += describe(*row);
  if (const std::string how = estimates_text(problem, view); !how.empty()) text += "candidates " + how + "\n";
  const std::optional<std::string> nothing_because = why_none(ranked);
  text += nothing_because ? "\nno algorithm: " + *nothing_because + "\n"
                          : std::string("\nms predicted  transfer   latency  overhead   combine  recipe\n");
  std::size_t n_lines = 0;
  std::size_t n_more = 0;
  for (const Candidate& candidate : ranked) {
    if (!candidate.why_not.empty()) continue;
    const bool is_chosen = row != nullptr && row->recipe && *row->recipe == candidate.recipe;
    if (n_lines >= kMostLines && !is_chosen) {
      ++n_more;
      continue;
    }
    text += line(candidate, ranked.front(), n_lines == 0) + check(candidate, problem, view);
    ++n_lines;
  }
  if (n_more > 0) text += "and " + std::to_string(n_more) + " slower ones\n";
  if (const auto guess = guess_native(problem, view)) {
    text += padded(milliseconds(guess_native_s(problem, view)), 10) +
            "  a guess at the native collective: whole messages in rank order, " + guess->algorithm + "\n";
  }
  for (const Candidate& candidate : ranked) {
    if (!candidate.why_not.empty() && !nothing_because)
      text += "not possible: " + candidate.recipe.text() + ": " + candidate.why_not + "\n";
  }
  return text;
}

std::string explain(const coll::CommonProblem& problem, const net::GroupView& view, const Row* row) {
  std::vector<Candidate> ranked = rank_candidates(problem, view, {}, !estimates_text(problem, view).empty());
  // A recipe that a search has found is no candidate of the repertoire, and is shown among them.
  const auto is_chosen = [&](const Candidate& candidate) { return candidate.recipe == *row->recipe; };
  if (row != nullptr && row->recipe && std::none_of(ranked.begin(), ranked.end(), is_chosen) &&
      !algo::why_not(*row->recipe, problem, view)) {
    Candidate chosen = candidate_of(*row->recipe, problem, view);
    const auto slower = [&](const Candidate& candidate) {
      return !candidate.why_not.empty() || candidate.forecast.seconds > chosen.forecast.seconds;
    };
    ranked.insert(std::find_if(ranked.begin(), ranked.end(), slower), std::move(chosen));
  }
  return explain(problem, view, row, ranked);
}

}  // namespace eco::plan
