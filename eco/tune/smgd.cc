// The paper names what SMGD has (a scan, an order by current optima and by the rates of change of gradients, a threshold) and
// shows which points it took, but no procedure. This is ours from these words:
//
//   scan      the two largest segments of every form: a value and a gradient. A form beyond the threshold is rejected.
//   descend   one step in the form that is predicted to reach the lowest time, again and again.
//   predict   curves fall like exp(-x) (section 4.2), so each gradient is a fixed part q of the one before, and what a form
//             can still reach is its last time less g q / (1 - q). q is the rate of change that was seen, one half before
//             there are three points.
//   prune     a form ends where MGD would end it, and where what it is predicted to reach is above the best time known.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "eco/tune/descent.h"

namespace eco::tune {
namespace {

constexpr std::size_t kScanned = 2;
constexpr double kUsualRate = 0.5;
// Nothing falls so slowly that it would reach more than this many times its last gradient.
constexpr double kSlowestRate = 0.8;

double reachable_s(const Descent& descent) {
  const std::vector<double>& seconds = descent.seconds();
  const std::size_t n = seconds.size();
  if (n < 2) return descent.best_s();
  const double gradient = seconds[n - 2] - seconds[n - 1];
  if (!(gradient > 0) || !std::isfinite(gradient)) return descent.best_s();
  const double before = n > 2 ? seconds[n - 3] - seconds[n - 2] : 0;
  const double rate =
      before > 0 && std::isfinite(before) ? std::min(gradient / before, kSlowestRate) : kUsualRate;
  return seconds[n - 1] - gradient * rate / (1 - rate);
}

}  // namespace

Tuned smgd(const Space& space, const Oracle& oracle, const SearchOptions& options) {
  Notes notes(space, oracle);
  std::vector<Descent> left;
  for (std::size_t m = 0; m < space.forms.size(); ++m) {
    const std::size_t n_points = space.forms[m].points.size();
    left.emplace_back(notes, m, n_points, options);
    for (std::size_t p = 0; p < std::min(kScanned, n_points); ++p) {
      if (!left.back().step()) return std::move(notes).result("no time left");
    }
  }
  const auto best_s = [&] { return notes.best() ? notes.seconds(*notes.best()) : 0.0; };
  std::erase_if(left, [&](const Descent& one) { return one.best_s() > options.reject_times * best_s(); });
  for (;;) {
    std::erase_if(left, [&](const Descent& one) {
      return one.ended() || (one.best_s() > best_s() && reachable_s(one) >= best_s());
    });
    if (left.empty()) return std::move(notes).result("no form is predicted to become the best");
    const auto next = std::min_element(left.begin(), left.end(), [](const Descent& a, const Descent& b) {
      return reachable_s(a) < reachable_s(b);
    });
    if (!next->step()) return std::move(notes).result("no time left");
  }
}

}  // namespace eco::tune
