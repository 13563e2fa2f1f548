// The parameters of pLogP (Kielmann, Bal, Verstoep 2000): what a message costs, as functions of its size.
//
//   PLogP net{.latency_s = 60e-6, .send_overhead = ..., .receive_overhead = ..., .gap = Curve({{8, 2e-6}, {65536, 13e-3}})};
//   net.gap(16384);                                   // g(16384), in seconds
//   net.gap(m) + net.latency_s;                       // when a message of m bytes, alone, is at its receiver
//
//   L       latency_s          from end to end, beyond the gap; the same for all sizes
//   os(m)   send_overhead      CPU time of the sender per message
//   or(m)   receive_overhead   CPU time of the receiver per message
//   g(m)    gap                least time between the starts of two messages of one sender: 1 / g(m) is the bandwidth
//
// Pure. How they are measured is eco/measure/plogp.h.
#pragma once

#include <cstddef>
#include <vector>

namespace eco::model {

struct Point {
  std::size_t bytes = 0;
  double seconds = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

// Seconds as a function of bytes: straight lines between the measured points.
class Curve {
 public:
  Curve() = default;  // 0 everywhere
  // Throws InvalidArgument unless bytes ascend and seconds are finite and not negative.
  explicit Curve(std::vector<Point> points);

  // Below the first point its value (a smaller message costs no less); beyond the last the slope from half its bytes
  // to there, never falling.
  double operator()(std::size_t bytes) const;
  const std::vector<Point>& points() const { return points_; }
  friend bool operator==(const Curve&, const Curve&) = default;

 private:
  std::vector<Point> points_;
};

// What the straight line through two points says at `bytes`; not below 0.
double on_line(const Point& a, const Point& b, std::size_t bytes);

struct PLogP {
  double latency_s = 0;
  Curve send_overhead;
  Curve receive_overhead;
  Curve gap;
  friend bool operator==(const PLogP&, const PLogP&) = default;
};

}  // namespace eco::model
