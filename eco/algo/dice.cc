#include "eco/algo/dice.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace eco::algo {
namespace {

// Odd ones among them, and those at which libraries change how they send.
constexpr std::array<std::size_t, 8> kSegmentsToTry = {1, 24, 100, 999, 1392, 4096, 8624, 65536};
// More of them would take long to prove, and show nothing that so many do not.
constexpr std::size_t kMostSegments = 150;

std::size_t throw_segment(std::size_t bytes, std::mt19937_64& dice) {
  if (dice() % 3 == 0) return 0;
  return std::max(kSegmentsToTry[dice() % kSegmentsToTry.size()], bytes / kMostSegments + 1);
}

}  // namespace

void exchange_parts(const Algorithm& algorithm, Params& params, std::mt19937_64& dice) {
  for (std::size_t i = 0; i < params.parts.size(); ++i) {
    std::string& part = params.parts[i];
    if (part == kNativePart && dice() % 2 == 0) continue;
    const std::string collective = std::string(coll::name(algorithm.parts[i])) + "/";
    std::vector<std::string> alike;
    for (const Algorithm& other : registry()) {
      if (other.name.starts_with(collective)) alike.push_back(other.name);
    }
    part = alike[dice() % alike.size()];
  }
  params.leaders = static_cast<int>(1 + dice() % 3);
}

Recipe throw_recipe(const coll::CommonProblem& problem, const net::GroupView& view, std::mt19937_64& dice) {
  std::vector<const Algorithm*> able;
  for (const Algorithm& each : registry()) {
    if (each.collective == coll::algorithms_of(problem.collective) && !each.why_not(problem, view))
      able.push_back(&each);
  }
  if (able.empty()) return {};
  const Algorithm& algorithm = *able[dice() % able.size()];
  const std::vector<Params> candidates = algorithm.candidates(problem, view);
  if (candidates.empty()) return {algorithm.name, {}};
  Params params = candidates[dice() % candidates.size()];
  if (dice() % 2 == 0) params.segment_bytes = throw_segment(problem.bytes, dice);
  if (dice() % 4 == 0) params.window = static_cast<int>(dice() % 4);
  if (params.head + params.tail > 0 && dice() % 2 == 0) {
    params.head = static_cast<int>(dice() % 4);
    params.tail = static_cast<int>(dice() % 4);
  }
  if (!params.parts.empty() && dice() % 2 == 0) exchange_parts(algorithm, params, dice);
  return {algorithm.name, params};
}

}  // namespace eco::algo
