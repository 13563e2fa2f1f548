#include "eco/model/plogp.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "eco/base/errors.h"

namespace eco::model {

double on_line(const Point& a, const Point& b, std::size_t bytes) {
  const double width = static_cast<double>(b.bytes) - static_cast<double>(a.bytes);
  const double place = (static_cast<double>(bytes) - static_cast<double>(a.bytes)) / width;
  return std::max(0.0, a.seconds + place * (b.seconds - a.seconds));
}

Curve::Curve(std::vector<Point> points) : points_(std::move(points)) {
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (!std::isfinite(points_[i].seconds) || points_[i].seconds < 0) {
      throw InvalidArgument("curve: the value at " + std::to_string(points_[i].bytes) +
                            " bytes is not a time");
    }
    if (i > 0 && points_[i].bytes <= points_[i - 1].bytes) {
      throw InvalidArgument("curve: bytes are not ascending at " + std::to_string(points_[i].bytes));
    }
  }
}

double Curve::operator()(std::size_t bytes) const {
  if (points_.empty()) return 0;
  if (bytes <= points_.front().bytes || points_.size() == 1) return points_.front().seconds;
  const auto above = std::lower_bound(points_.begin(), points_.end(), bytes,
                                      [](const Point& point, std::size_t b) { return point.bytes < b; });
  if (above != points_.end()) return on_line(*(above - 1), *above, bytes);
  // Over a factor of two at least: the slope between two close points is mostly noise.
  const Point& last = points_.back();
  auto before = points_.end() - 2;
  while (before != points_.begin() && 2 * before->bytes > last.bytes) --before;
  return std::max(last.seconds, on_line(*before, last, bytes));
}

}  // namespace eco::model
