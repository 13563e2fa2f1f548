// A point in virtual time that remembers how it was reached.
#pragma once

namespace eco::sim {

// With the part of it that was not spent on transfers along the chain of causes.
struct Moment {
  double s = 0;
  double latency_s = 0;
  double overhead_s = 0;
  double combine_s = 0;

  Moment after_transfer(double seconds) const { return {s + seconds, latency_s, overhead_s, combine_s}; }
  Moment after_latency(double seconds) const {
    return {s + seconds, latency_s + seconds, overhead_s, combine_s};
  }
  Moment after_overhead(double seconds) const {
    return {s + seconds, latency_s, overhead_s + seconds, combine_s};
  }
  Moment after_combine(double seconds) const {
    return {s + seconds, latency_s, overhead_s, combine_s + seconds};
  }
};

// The later one is the cause.
inline const Moment& later(const Moment& a, const Moment& b) { return b.s > a.s ? b : a; }

}  // namespace eco::sim
