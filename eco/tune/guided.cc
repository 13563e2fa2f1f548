#include "eco/tune/guided.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "eco/base/quantile.h"

namespace eco::tune {
namespace {

// A median of few runs is as noisy as a mean of fewer.
constexpr double kMedianIsNoisier = std::numbers::pi / 2;
// Not in a race, or dropped from it: who is expected to gain less than this part of the regret that is stopped at.
constexpr double kDropped = 0.2;
// Runs of one point differ by no less, whatever few of them say.
constexpr double kLeastNoise = 0.005;
// What was known of the predictor's errors before a problem counts as much as so many of its measurements.
constexpr double kKnownBefore = 4;

double density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }
double probability(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

// Of max(0, x) for a normal x.
double expected_positive(double mean, double deviation) {
  if (deviation < 1e-9) return std::max(0.0, mean);
  const double z = mean / deviation;
  return mean * probability(z) + deviation * density(z);
}

// One problem's search.
class Tuning {
 public:
  // `number_of`: a number for each name.
  template <typename NumberOf>
  Tuning(const Space& space, std::size_t problem, const Oracle& oracle, const GuidedOptions& options,
         const Residuals& residuals, Learned learned, const NumberOf& number_of)
      : space_(space),
        options_(options),
        before_(residuals),
        errors_before_(learned.errors),
        learned_(learned),
        notes_(space, oracle) {
    for (std::size_t m = 0; m < space.forms.size(); ++m) {
      const Form& form = space.forms[m];
      for (std::size_t p = 0; p < form.points.size(); ++p) {
        const Point& point = form.points[p];
        const std::size_t segment = point.segment_bytes == 0 ? space.bytes : point.segment_bytes;
        choices_.push_back({m, p});
        features_.push_back({number_of(form.name.substr(0, form.name.find(' '))), number_of(form.name),
                             std::log2(static_cast<double>(space.bytes) + 1),
                             std::log2(static_cast<double>(segment) + 1), problem});
        log_predicted_.push_back(std::log(point.predicted_s));
      }
    }
    gains_.resize(choices_.size());
  }

  Tuned run() {
    if (choices_.empty()) return done("nothing to choose from");
    believe();
    for (;;) {
      std::vector<std::size_t> heat = propose();
      if (heat.empty()) return done("no more gain is expected");
      while (!heat.empty()) {
        std::vector<Choice> asked;
        for (const std::size_t i : heat) asked.push_back(choices_[i]);
        if (!notes_.ask(asked, 1)) return done("no time left");
        believe();
        std::erase_if(heat, [&](std::size_t i) {
          const bool lost = i != best_ && gains_[i] < kDropped * options_.least_gain;
          return lost || is_done(i);
        });
      }
    }
  }

  // What the next problems may know.
  void teach(Residuals& residuals) const {
    for (const std::size_t i : measured()) residuals.add(features_[i], log_ratio(i), variance(i));
  }
  Learned learned() const { return learned_; }

 private:
  const Runs& runs(std::size_t i) const { return notes_.runs(choices_[i]); }
  bool is_measured(std::size_t i) const { return !runs(i).empty(); }
  bool is_lame(std::size_t i) const { return notes_.asked(choices_[i]) && runs(i).empty(); }
  bool is_done(std::size_t i) const {
    return is_lame(i) || runs(i).size() >= static_cast<std::size_t>(options_.repeats);
  }

  std::vector<std::size_t> measured() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (is_measured(i)) all.push_back(i);
    }
    return all;
  }

  double log_ratio(std::size_t i) const { return std::log(notes_.seconds(choices_[i])) - log_predicted_[i]; }

  double variance(std::size_t i) const {
    const auto n = static_cast<double>(runs(i).size());
    return learned_.noise * learned_.noise / n * (n > 2 ? kMedianIsNoisier : 1.0);
  }

  // Half the interquartile range is what one run is usually off; a single delay does not count. With what was known before
  // as if it were one more.
  void learn_noise() {
    std::vector<double> off{learned_.noise};
    for (const std::size_t i : measured()) {
      const double middle = std::log(notes_.seconds(choices_[i]));
      if (runs(i).size() < 2) continue;
      for (const double seconds : runs(i)) off.push_back(std::abs(std::log(seconds) - middle));
    }
    if (off.size() > 2) learned_.noise = std::max(kLeastNoise, 1.48 * base::median(std::move(off)));
  }

  // Times as believed now, the best one by them, and what every point is expected to gain over it.
  void believe() {
    learn_noise();
    Residuals now = before_;
    const std::vector<std::size_t> known = measured();
    for (const std::size_t i : known) now.add(features_[i], log_ratio(i), variance(i));
    now.fit();
    // The first measurement tells how far off all of the problem is, and nothing else.
    if (known.size() > 1) {
      const auto n = static_cast<double>(known.size() - 1);
      learned_.errors = (kKnownBefore * errors_before_ + now.surprise(known.size() - 1)) / (kKnownBefore + n);
    }
    std::vector<Belief> beliefs;
    for (const Feature& feature : features_) beliefs.push_back(now.belief(feature));
    // Among measured ones, if there are any: a prediction alone is nobody's best.
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (is_lame(i) || (!known.empty() && !is_measured(i))) continue;
      const double mean = log_predicted_[i] + beliefs[i].mean;
      if (mean < best) {
        best = mean;
        best_ = i;
      }
    }
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const double ahead = best - (log_predicted_[i] + beliefs[i].mean);
      const double together = now.covariance(features_[i], beliefs[i], features_[best_], beliefs[best_]);
      const double variance =
          learned_.errors * (beliefs[i].variance + beliefs[best_].variance - 2 * together);
      gains_[i] = i == best_ || is_lame(i) ? 0 : expected_positive(ahead, std::sqrt(std::max(0.0, variance)));
    }
    expected_regret_ = expected_regret();
    if (is_measured(best_)) notes_.choose(choices_[best_]);
  }

  // Of all that may still be run: the sum over forms of the most that one point of each is expected to gain, since the points
  // of a form win or lose together.
  double expected_regret() const {
    std::vector<double> of_form(space_.forms.size(), 0.0);
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (is_done(i)) continue;
      double& most = of_form[choices_[i].form];
      most = std::max(most, gains_[i]);
    }
    double sum = 0;
    for (const double gain : of_form) sum += gain;
    return sum;
  }

  // The next heat: the best, if it has not been run as often as it should, and the most promising others. Empty where nothing
  // is worth it.
  std::vector<std::size_t> propose() const {
    std::vector<std::size_t> heat;
    if (!is_done(best_)) heat.push_back(best_);
    if (!notes_.best() || expected_regret_ >= options_.least_gain) {
      std::vector<std::size_t> others;
      for (std::size_t i = 0; i < choices_.size(); ++i) {
        if (i != best_ && !is_done(i) && gains_[i] >= kDropped * options_.least_gain) others.push_back(i);
      }
      std::stable_sort(others.begin(), others.end(),
                       [&](std::size_t a, std::size_t b) { return gains_[a] > gains_[b]; });
      // One of each form: what is wrong with a form's prediction would make a whole heat of it mislead.
      std::vector<bool> has_form(space_.forms.size(), false);
      for (const std::size_t i : others) {
        if (heat.size() >= options_.heat) break;
        if (has_form[choices_[i].form]) continue;
        has_form[choices_[i].form] = true;
        heat.push_back(i);
      }
    }
    return heat;
  }

  Tuned done(std::string why) {
    Tuned tuned = std::move(notes_).result(std::move(why));
    tuned.expected_regret = expected_regret_;
    return tuned;
  }

  const Space& space_;
  const GuidedOptions& options_;
  const Residuals& before_;
  double errors_before_;
  Learned learned_;
  Notes notes_;
  std::vector<Choice> choices_;
  std::vector<Feature> features_;
  std::vector<double> log_predicted_;
  std::vector<double> gains_;
  std::size_t best_ = 0;
  double expected_regret_ = 0;
};

}  // namespace

Tuned Guided::tune(const Space& space, const Oracle& oracle, const GuidedOptions& options) {
  const auto number_of = [this](const std::string& name) {
    return numbers_.emplace(name, numbers_.size()).first->second;
  };
  Tuning tuning(space, n_problems_++, oracle, options, residuals_, learned_, number_of);
  Tuned tuned = tuning.run();
  tuning.teach(residuals_);
  learned_ = tuning.learned();
  return tuned;
}

}  // namespace eco::tune
