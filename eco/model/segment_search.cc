#include "eco/model/segment_search.h"

#include <algorithm>
#include <map>

#include "eco/base/errors.h"

namespace eco::model {
namespace {

// Hill climbing ends when a step is finer than this part of the number of segments: curves are not known better.
constexpr std::size_t kFinest = 32;

// Segments are looked for by their number k, s = m / k rounded up to an element: between two such sizes the last segment
// is only shorter, which no operation gains from.
class Search {
 public:
  Search(const SegmentRange& range, const std::function<double(std::size_t)>& cost)
      : range_(range), cost_(cost) {}

  SegmentChoice run() {
    const std::size_t least = allowed(range_.least_bytes);
    for (std::size_t k = 1;; k *= 2) {
      consider(k);
      if (segment_of(k) <= least) break;
    }
    // From one power of two to the next is a factor of two: a quarter looks half way.
    for (std::size_t step = std::max<std::size_t>(1, best_k_ / 4);
         step >= std::max<std::size_t>(1, best_k_ / kFinest);) {
      const std::size_t here = best_k_;
      consider(here + step);
      if (here > step) consider(here - step);
      if (best_k_ == here) step /= 2;
    }
    best_.n_asked = static_cast<int>(known_.size());
    return best_;
  }

 private:
  std::size_t segment_of(std::size_t k) const { return allowed((range_.bytes + k - 1) / k); }

  // Whole elements, upwards, between the least segment and the message.
  std::size_t allowed(std::size_t bytes) const {
    const std::size_t wanted = std::max({bytes, range_.least_bytes, std::size_t{1}});
    const std::size_t elements = (wanted + range_.element_bytes - 1) / range_.element_bytes;
    return std::min(elements * range_.element_bytes, range_.bytes);
  }

  void consider(std::size_t k) {
    const std::size_t segment = segment_of(k);
    if (known_.contains(segment)) return;
    const double seconds = known_[segment] = cost_(segment);
    const bool is_better = best_k_ == 0 || seconds < best_.seconds ||
                           (seconds == best_.seconds && segment > best_.segment_bytes);
    if (!is_better) return;
    best_k_ = k;
    best_ = {segment, seconds, 0};
  }

  const SegmentRange& range_;
  const std::function<double(std::size_t)>& cost_;
  std::map<std::size_t, double> known_;
  std::size_t best_k_ = 0;
  SegmentChoice best_;
};

}  // namespace

SegmentChoice search_segment(const SegmentRange& range, const std::function<double(std::size_t)>& cost) {
  if (range.bytes == 0 || range.element_bytes == 0) {
    throw InvalidArgument("segment search: a message and its elements have at least one byte");
  }
  return Search(range, cost).run();
}

}  // namespace eco::model
