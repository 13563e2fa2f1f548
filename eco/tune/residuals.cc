#include "eco/tune/residuals.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace eco::tune {
namespace {

double square(double x) { return x * x; }
double fading(double distance, double reach) { return std::exp(-std::abs(distance) / reach); }

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

void Residuals::add(const Feature& feature, double log_ratio, double variance) {
  all_.push_back({feature, log_ratio, variance});
}

double Residuals::likeness(const Feature& a, const Feature& b) const {
  const double sizes = fading(a.log2_bytes - b.log2_bytes, scales_.size_reach);
  const double segments = fading(a.log2_segment - b.log2_segment, scales_.segment_reach);
  const bool same_problem = a.problem == b.problem;
  double alike = square(scales_.segment) * segments;
  if (a.algorithm == b.algorithm) alike += square(scales_.algorithm);
  if (a.form == b.form) {
    alike += square(scales_.form) * segments;
    if (same_problem && a.log2_segment == b.log2_segment) alike += square(scales_.point);
  }
  alike *= sizes * excess(a) * excess(b);
  return same_problem ? alike + square(scales_.problem) : alike;
}

double Residuals::excess(const Feature& feature) const {
  const double share = std::exp2(feature.log2_bytes) / scales_.short_bytes;
  return 1 + (scales_.short_times - 1) / (1 + share);
}

void Residuals::fit() {
  if (all_.size() > kMost) all_.erase(all_.begin(), all_.end() - static_cast<std::ptrdiff_t>(kMost));
  const std::size_t n = all_.size();
  factor_.assign(n * n, 0.0);
  whitened_.assign(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    const std::span row_i(&factor_[i * n], i);
    for (std::size_t j = 0; j <= i; ++j) {
      const std::span row_j(&factor_[j * n], j);
      const double noise = i == j ? all_[i].variance : 0.0;
      const double rest = likeness(all_[i].feature, all_[j].feature) + noise - dot(row_j, row_i.first(j));
      factor_[i * n + j] = i == j ? std::sqrt(std::max(rest, 1e-12)) : rest / factor_[j * n + j];
    }
    whitened_[i] = (all_[i].log_ratio - dot(row_i, std::span(whitened_).first(i))) / factor_[i * n + i];
  }
}

Belief Residuals::belief(const Feature& feature) const {
  const std::size_t n = whitened_.size();
  Belief belief;
  belief.shared.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::span row(&factor_[i * n], i);
    const double rest = likeness(feature, all_[i].feature) - dot(row, std::span(belief.shared).first(i));
    belief.shared[i] = rest / factor_[i * n + i];
  }
  belief.mean = dot(belief.shared, whitened_);
  belief.variance = std::max(0.0, likeness(feature, feature) - dot(belief.shared, belief.shared));
  return belief;
}

double Residuals::covariance(const Feature& a, const Belief& of_a, const Feature& b,
                             const Belief& of_b) const {
  return likeness(a, b) - dot(of_a.shared, of_b.shared);
}

double Residuals::surprise(std::size_t n) const {
  const auto newest = std::span(whitened_).last(std::min(n, whitened_.size()));
  return dot(newest, newest);
}

}  // namespace eco::tune
