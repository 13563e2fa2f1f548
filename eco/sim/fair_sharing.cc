#include "eco/sim/fair_sharing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace eco::sim {
namespace {

// Resources whose shares are this near to each other are full at the same time.
constexpr double kEqual = 1 + 1e-12;
constexpr double kNoLatency_s = 1e-9;  // a share needs a positive one
constexpr double kNoRate = -1;

}  // namespace

FairSharing::FairSharing(const std::vector<net::Resource>& resources, double tolerance)
    : tolerance_(tolerance), shared_(resources.size()) {
  for (std::size_t r = 0; r < resources.size(); ++r) shared_[r].bytes_per_s = resources[r].bytes_per_s;
}

void FairSharing::bring_to(Line& line, double s) {
  line.served += line.bytes_per_s * (s - line.at_s);
  line.at_s = s;
}

void FairSharing::changed(std::uint32_t resource, double s) {
  changed_s_ = std::max(changed_s_, s);
  if (shared_[resource].has_changed) return;
  shared_[resource].has_changed = true;
  changed_.push_back(resource);
}

void FairSharing::add(std::uint32_t number, const net::Route& route, std::uint32_t message, double bytes,
                      double s) {
  if (number >= lines_.size()) lines_.resize(number + 1);
  Line& line = lines_[number];
  if (line.n_hops == 0) {
    line.first_hop = hops_.size();
    line.weight = 1 / std::max(route.latency_s, kNoLatency_s);
    for (const int resource : route.resources) {
      const auto r = static_cast<std::uint32_t>(resource);
      if (std::isfinite(shared_[r].bytes_per_s)) hops_.push_back({r, 0});
    }
    line.n_hops = hops_.size() - line.first_hop;
  }
  if (line.messages.empty()) {
    line.served = 0;
    line.bytes_per_s = 0;
    line.at_s = s;
    for (Hop& hop : hops(line)) {
      hop.place = shared_[hop.resource].lines.size();
      shared_[hop.resource].lines.push_back(number);
    }
  }
  bring_to(line, s);
  line.messages.push_back({line.served + bytes, s, n_added_++, message});
  std::push_heap(line.messages.begin(), line.messages.end());
  ++n_messages_;
  // Its other resources are joined to this one.
  changed(hops(line).front().resource, s);
}

void FairSharing::leave(Line& line) {
  for (const Hop& hop : hops(line)) {
    std::vector<std::uint32_t>& lines = shared_[hop.resource].lines;
    const std::uint32_t last = lines.back();
    for (Hop& moved : hops(lines_[last])) {
      if (moved.resource == hop.resource) moved.place = hop.place;
    }
    lines[hop.place] = last;
    lines.pop_back();
  }
  line.solution = 0;
}

bool FairSharing::ends_by(double s) {
  if (!changed_.empty() && s > changed_s_ + kInstant_s) settle();
  while (!ends_.empty()) {
    const End& first = ends_.front();
    // All lines of a set are worked out together, or have left.
    const std::vector<std::uint32_t>& set = sets_[first.lines];
    const bool holds = std::any_of(
        set.begin(), set.end(), [&](std::uint32_t line) { return lines_[line].solution == first.solution; });
    if (holds) return first.s <= s;
    forget_first_end();
  }
  return false;
}

void FairSharing::forget_first_end() {
  free_sets_.push_back(ends_.front().lines);
  std::pop_heap(ends_.begin(), ends_.end());
  ends_.pop_back();
}

void FairSharing::take_ended(std::vector<std::uint32_t>& messages) {
  const End end = ends_.front();
  for (const std::uint32_t number : sets_[end.lines]) {
    Line& line = lines_[number];
    if (line.solution != end.solution) continue;
    const double served = line.served + line.bytes_per_s * (end.s - line.at_s);
    const auto ends = [&](const Message& message) {
      const double soon_s = kInstant_s + tolerance_ * (end.s - message.began_s);
      return message.until <= served + line.bytes_per_s * soon_s;
    };
    if (!ends(line.messages.front())) continue;
    bring_to(line, end.s);
    while (!line.messages.empty() && ends(line.messages.front())) {
      messages.push_back(line.messages.front().number);
      std::pop_heap(line.messages.begin(), line.messages.end());
      line.messages.pop_back();
      --n_messages_;
    }
    for (const Hop& hop : hops(line)) changed(hop.resource, end.s);
    if (line.messages.empty()) leave(line);
  }
  forget_first_end();
}

void FairSharing::settle() {
  const std::uint64_t before = n_solutions_;
  for (const std::uint32_t seed : changed_) {
    shared_[seed].has_changed = false;
    if (shared_[seed].solution <= before) solve(seed);
  }
  changed_.clear();
}

// What is joined to the resource, by lines in use, gets its rates.
void FairSharing::solve(std::uint32_t seed) {
  if (shared_[seed].lines.empty()) return;
  const std::uint64_t solution = ++n_solutions_;
  if (free_sets_.empty()) {
    free_sets_.push_back(sets_.size());
    sets_.emplace_back();
  }
  const std::size_t set = free_sets_.back();
  free_sets_.pop_back();
  std::vector<std::uint32_t>& lines = sets_[set];
  lines.clear();
  joined_.assign(1, seed);
  shared_[seed].solution = solution;
  for (std::size_t i = 0; i < joined_.size(); ++i) {
    for (const std::uint32_t number : shared_[joined_[i]].lines) {
      Line& line = lines_[number];
      if (line.solution == solution) continue;
      line.solution = solution;
      bring_to(line, changed_s_);
      lines.push_back(number);
      for (const Hop& hop : hops(line)) {
        if (shared_[hop.resource].solution == solution) continue;
        shared_[hop.resource].solution = solution;
        joined_.push_back(hop.resource);
      }
    }
  }
  fill(lines);
  double first_s = std::numeric_limits<double>::infinity();
  for (const std::uint32_t number : lines) {
    const Line& line = lines_[number];
    first_s = std::min(first_s, (line.messages.front().until - line.served) / line.bytes_per_s);
  }
  ends_.push_back({changed_s_ + std::max(first_s, 0.0), solution, set});
  std::push_heap(ends_.begin(), ends_.end());
}

// Water rises in all lines alike; where a resource is full its lines have their rates, and the rest rises on
// (progressive filling: Bertsekas and Gallager, Data Networks, 6.5.2).
void FairSharing::fill(std::span<const std::uint32_t> lines) {
  for (const std::uint32_t resource : joined_) {
    Shared& shared = shared_[resource];
    shared.left = shared.bytes_per_s;
    shared.weight = 0;
    shared.n_open = shared.lines.size();
  }
  for (const std::uint32_t number : lines) {
    Line& line = lines_[number];
    line.bytes_per_s = kNoRate;
    const double weight = line.weight * static_cast<double>(line.messages.size());
    for (const Hop& hop : hops(line)) shared_[hop.resource].weight += weight;
  }
  while (!joined_.empty()) {
    double level = std::numeric_limits<double>::infinity();
    for (const std::uint32_t resource : joined_) {
      level = std::min(level, shared_[resource].left / shared_[resource].weight);
    }
    for (const std::uint32_t resource : joined_) {
      Shared& full = shared_[resource];
      if (full.n_open == 0 || full.left > level * full.weight * kEqual) continue;
      for (const std::uint32_t number : full.lines) {
        Line& line = lines_[number];
        if (line.bytes_per_s != kNoRate) continue;
        line.bytes_per_s = line.weight * level;
        const double weight = line.weight * static_cast<double>(line.messages.size());
        for (const Hop& hop : hops(line)) {
          Shared& crossed = shared_[hop.resource];
          crossed.left = std::max(crossed.left - weight * level, 0.0);
          crossed.weight -= weight;
          --crossed.n_open;
        }
      }
    }
    std::erase_if(joined_, [this](std::uint32_t resource) { return shared_[resource].n_open == 0; });
  }
}

}  // namespace eco::sim
