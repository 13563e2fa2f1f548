// Messages under way that share resources as TCP connections do: all at once, none waits for another.
//
//   FairSharing flows(network.resources);
//   flows.add(route_number, route, message, bytes, now_s);
//   while (flows.ends_by(next_event_s)) {             // rates are worked out here, once for all that changed
//     flows.take_ended(messages);                     // those that end at flows.end_s()
//   }
//
// Rates are max-min fair: a resource divides itself among the messages that cross it, and what some of them cannot
// use, since another resource holds them back, is for the others. Shares are in inverse proportion to the latency of
// the route, as TCP's are to the round trip.
//
// Messages of one route have one rate, so what counts is routes in use. Only the resources that are joined, by routes
// in use, to where something changed are worked out again. With a message end those whose rest would take less than
// `tolerance` of the time that they have been under way: many that began nearly together cost little then. Pure and
// deterministic. Moments less than kInstant_s apart are one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "eco/net/network.h"

namespace eco::sim {

class FairSharing {
 public:
  static constexpr double kInstant_s = 1e-9;

  explicit FairSharing(const std::vector<net::Resource>& resources, double tolerance = 1e-3);

  bool is_empty() const { return n_messages_ == 0; }
  // `number` names the route, the same resources and latency each time; numbers are small. Of at least one resource
  // that bytes take time on, and one byte. Moments of successive calls do not go back, nor before an end that was taken.
  void add(std::uint32_t number, const net::Route& route, std::uint32_t message, double bytes, double s);
  // Whether a message ends not later than `s`, if none is added before that.
  bool ends_by(double s);
  // When, after ends_by() said yes.
  double end_s() const { return ends_.front().s; }
  // Appends those that end at end_s(), after ends_by() said yes.
  void take_ended(std::vector<std::uint32_t>& messages);

 private:
  // What comes first is the greatest, as heaps have it.
  struct Message {
    double until = 0;  // of Line::served
    double began_s = 0;
    std::uint64_t added = 0;
    std::uint32_t number = 0;
    bool operator<(const Message& b) const { return until != b.until ? until > b.until : added > b.added; }
  };
  // The messages of one route.
  struct Line {
    std::size_t first_hop = 0;
    std::size_t n_hops = 0;
    double weight = 0;
    double served = 0;  // bytes of each of its messages that was there all the time
    double bytes_per_s = 0;
    double at_s = 0;  // when `served` was that
    std::uint64_t solution = 0;
    std::vector<Message> messages;  // a heap, the first to end on top
  };
  struct Hop {
    std::uint32_t resource = 0;
    std::size_t place = 0;  // in Shared::lines
  };
  struct Shared {
    double bytes_per_s = 0;
    std::vector<std::uint32_t> lines;  // in use
    std::uint64_t solution = 0;
    bool has_changed = false;
    // While rates are worked out: of the lines without a rate, and what is left for them.
    double left = 0;
    double weight = 0;
    std::size_t n_open = 0;
  };
  // When the first message of a set of lines that are joined ends; void once their rates are worked out again.
  struct End {
    double s = 0;
    std::uint64_t solution = 0;
    std::size_t lines = 0;  // index into sets_
    bool operator<(const End& b) const { return s != b.s ? s > b.s : solution > b.solution; }
  };

  std::span<Hop> hops(const Line& line) { return std::span(hops_).subspan(line.first_hop, line.n_hops); }
  static void bring_to(Line& line, double s);
  void changed(std::uint32_t resource, double s);
  void leave(Line& line);
  void forget_first_end();
  // The rates of all that is joined to what has changed.
  void settle();
  void solve(std::uint32_t seed);
  void fill(std::span<const std::uint32_t> lines);

  double tolerance_;
  std::vector<Shared> shared_;
  std::vector<Line> lines_;  // by number of the route
  std::vector<Hop> hops_;
  std::vector<End> ends_;  // a heap, the earliest on top
  std::vector<std::vector<std::uint32_t>> sets_;
  std::vector<std::size_t> free_sets_;
  std::vector<std::uint32_t> changed_;
  std::vector<std::uint32_t> joined_;  // resources of the set that is being worked out
  double changed_s_ = 0;
  std::uint64_t n_solutions_ = 0;
  std::uint64_t n_added_ = 0;
  std::size_t n_messages_ = 0;
};

}  // namespace eco::sim
