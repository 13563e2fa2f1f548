// How far the predictor is off, learned from every measurement: log(measured / predicted) as a Gaussian process.
//
//   residuals.add(feature, std::log(measured_s / predicted_s), variance);
//   residuals.fit();
//   residuals.belief(feature);         // what another point's residual is believed to be, and how surely
//
// Residuals of two points are the more alike, the more the points share: the problem (everything is slower than predicted), the
// algorithm, the form, and messages of a similar length (what a message costs the processor is what a prediction knows least);
// and the closer the sizes of their problems are. So what one size teaches is known at the next.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace eco::tune {

// What residuals depend on.
struct Feature {
  std::size_t algorithm = 0;  // a number for each: "broadcast/subnets"
  std::size_t form = 0;       // and one with its shapes and orders
  double log2_bytes = 0;      // of the problem
  double log2_segment = 0;
  std::size_t problem = 0;  // the same number: the same collective at the same size
};

// Standard deviations of the parts of a log residual, and over how many factors of two likeness fades by e. From the records of
// `eco validate` (bench/results/validate-*.json): predictions are off by 3 to 5 % in the middle of all recipes and by
// 15 to 30 % in the worst tenth, and up to 4 KiB by three times that. All recipes of a problem are off together by more
// than that: where the processors are busy, say, everything takes longer, which changes no choice.
struct ResidualScales {
  double problem = 1.0;
  double algorithm = 0.08;
  double form = 0.06;
  double segment = 0.3;
  double point = 0.03;
  double short_times = 3;     // all but the problem's, of the shortest messages
  double short_bytes = 4096;  // where half of that is left
  double size_reach = 4;
  double segment_reach = 1.5;
};

struct Belief {
  double mean = 0;
  double variance = 0;
  std::vector<double> shared{};  // with the observations: what covariance() needs
};

class Residuals {
 public:
  explicit Residuals(ResidualScales scales = {}) : scales_(scales) {}

  // `variance`: of the measurement's logarithm.
  void add(const Feature& feature, double log_ratio, double variance);
  // Takes the newest observations in, at most kMost: the oldest are forgotten.
  void fit();
  Belief belief(const Feature& feature) const;
  // Of two points' residuals, given their beliefs.
  double covariance(const Feature& a, const Belief& of_a, const Feature& b, const Belief& of_b) const;

  // How far off the newest n observations were, each against what the ones before it made believe: the sum of squares in
  // standard deviations. About n where the scales are right.
  double surprise(std::size_t n) const;

  static constexpr std::size_t kMost = 120;

 private:
  struct Observation {
    Feature feature;
    double log_ratio = 0;
    double variance = 0;
  };

  // Covariance before anything was measured.
  double likeness(const Feature& a, const Feature& b) const;
  // How many times less is known of messages so short.
  double excess(const Feature& feature) const;
  ResidualScales scales_;
  std::vector<Observation> all_;
  std::vector<double> factor_;    // lower Cholesky factor, row by row
  std::vector<double> whitened_;  // L^-1 of the ratios
};

}  // namespace eco::tune
