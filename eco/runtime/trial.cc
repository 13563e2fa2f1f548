#include "eco/runtime/trial.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <sstream>

#include "eco/base/errors.h"

namespace eco::runtime {

std::vector<std::size_t> Trial::order_of_check() const {
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (native_least_s > 0 && !predicted_s.empty())
    std::stable_partition(order.begin(), order.end(),
                          [&](std::size_t c) { return candidates[c].has_value(); });
  return order;
}

std::string Trial::text() const {
  std::ostringstream out;
  out.precision(std::numeric_limits<double>::max_digits10);
  out << coll::name(problem.collective) << ' ' << problem.n_ranks << ' ' << problem.root << ' '
      << problem.bytes << ' ' << problem.element_bytes << ' ' << keeps_all << ' ' << is_checked << ' '
      << calls_in_a_row << ' ' << predicted_s.size() << ' ' << native_least_s;
  for (const double seconds : predicted_s)
    out << ' ' << std::min(seconds, std::numeric_limits<double>::max());
  out << '\n';
  for (const auto& candidate : candidates)
    out << (candidate ? candidate->text() : std::string(algo::kNativePart)) << '\n';
  return out.str();
}

Trial Trial::parse(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string line;
  std::getline(lines, line);
  std::istringstream first{line};
  Trial trial;
  std::string collective;
  std::size_t n_predicted = 0;
  first >> collective >> trial.problem.n_ranks >> trial.problem.root >> trial.problem.bytes >>
      trial.problem.element_bytes >> trial.keeps_all >> trial.is_checked >> trial.calls_in_a_row >>
      n_predicted >> trial.native_least_s;
  for (double seconds = 0; trial.predicted_s.size() < n_predicted && first >> seconds;)
    trial.predicted_s.push_back(seconds);
  const auto known = coll::collective_from_name(collective);
  if (!first || !known) throw InvalidArgument("trial: '" + line + "' is not an order");
  trial.problem.collective = *known;
  while (std::getline(lines, line)) {
    if (line == algo::kNativePart)
      trial.candidates.emplace_back();
    else
      trial.candidates.emplace_back(algo::parse_recipe(line));
  }
  if (n_predicted != 0 && n_predicted != trial.candidates.size())
    throw InvalidArgument("trial: " + std::to_string(n_predicted) + " predictions of " +
                          std::to_string(trial.candidates.size()) + " candidates");
  return trial;
}

}  // namespace eco::runtime
