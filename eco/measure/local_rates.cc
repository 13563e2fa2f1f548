#include "eco/measure/local_rates.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

namespace eco::measure {
namespace {

constexpr std::size_t kElements =
    262144;  // 2 MiB of doubles: beyond a core's own caches, as large messages are
constexpr double kBytes = kElements * sizeof(double);
constexpr int kLocalRepeats = 9;

// If the clock shows nothing (it is coarse or virtual), the figure of an ordinary machine.
constexpr double kOrdinary_bytes_per_s = 4e9;

template <class Work>
double best_rate(const Clock& clock, const Work& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kLocalRepeats; ++i) {
    const double start = clock();
    work();
    least = std::min(least, clock() - start);
  }
  return least > 0 ? kBytes / least : kOrdinary_bytes_per_s;
}

// Keeps the compiler from leaving out work whose result nobody reads.
void keep(std::vector<double>& values) { asm volatile("" : : "g"(values.data()) : "memory"); }

}  // namespace

double copy_rate(const Clock& clock) {
  std::vector<double> from(kElements, 1.0);
  std::vector<double> to(kElements, 0.0);
  return best_rate(clock, [&] {
    std::memcpy(to.data(), from.data(), kElements * sizeof(double));
    keep(to);
  });
}

double combine_rate(const Clock& clock) {
  std::vector<double> left(kElements, 1.0);
  std::vector<double> right(kElements, 2.0);
  return best_rate(clock, [&] {
    for (std::size_t i = 0; i < kElements; ++i) right[i] += left[i];
    keep(right);
  });
}

}  // namespace eco::measure
