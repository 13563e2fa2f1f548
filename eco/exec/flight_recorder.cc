#include "eco/exec/flight_recorder.h"

#include <cstdio>

namespace eco::exec {

void FlightRecorder::begin_call(std::uint64_t recipe_digest, int n_ranks) {
  recipe_digest_.store(recipe_digest, std::memory_order_relaxed);
  begin(n_ranks);
}

void FlightRecorder::begin_call(const char* name, int n_ranks) {
  name_.store(name, std::memory_order_relaxed);
  begin(n_ranks);
}

void FlightRecorder::begin(int n_ranks) {
  if (!pending_) {
    pending_ = std::make_unique<Pending[]>(static_cast<std::size_t>(n_ranks));
    n_ranks_ = n_ranks;
  }
  calls_.fetch_add(1, std::memory_order_relaxed);
  progress_.fetch_add(1, std::memory_order_relaxed);
  in_call_.store(true, std::memory_order_release);
}

void FlightRecorder::message_posted(int peer, bool is_send) {
  if (peer < 0) {
    from_anybody_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  Pending& pending = pending_[static_cast<std::size_t>(peer)];
  (is_send ? pending.sends : pending.receives).fetch_add(1, std::memory_order_relaxed);
}

void FlightRecorder::message_done(int peer, bool is_send) {
  std::atomic<int>* count = &from_anybody_;
  if (peer >= 0) {
    Pending& pending = pending_[static_cast<std::size_t>(peer)];
    count = is_send ? &pending.sends : &pending.receives;
  }
  count->fetch_sub(1, std::memory_order_relaxed);
  progress_.fetch_add(1, std::memory_order_relaxed);
}

void FlightRecorder::group_started() { groups_.fetch_add(1, std::memory_order_relaxed); }

void FlightRecorder::group_done() {
  groups_.fetch_sub(1, std::memory_order_relaxed);
  progress_.fetch_add(1, std::memory_order_relaxed);
}

void FlightRecorder::end_call() { in_call_.store(false, std::memory_order_release); }

std::string FlightRecorder::describe() const {
  const auto calls = calls_.load(std::memory_order_relaxed);
  if (!in_call_.load(std::memory_order_acquire)) return "idle after " + std::to_string(calls) + " calls";
  std::string text = "call " + std::to_string(calls) + ", ";
  if (const char* name = name_.load(std::memory_order_relaxed)) {
    text += name;
  } else {
    char recipe[32];
    std::snprintf(recipe, sizeof recipe, "recipe %016llx",
                  static_cast<unsigned long long>(recipe_digest_.load(std::memory_order_relaxed)));
    text += recipe;
  }
  const char* separator = ": awaiting ";
  for (int peer = 0; peer < n_ranks_; ++peer) {
    const Pending& pending = pending_[static_cast<std::size_t>(peer)];
    const int receives = pending.receives.load(std::memory_order_relaxed);
    const int sends = pending.sends.load(std::memory_order_relaxed);
    if (receives > 0) {
      text += separator + std::to_string(receives) + " message(s) from rank " + std::to_string(peer);
      separator = ", ";
    }
    if (sends > 0) {
      text += separator + std::to_string(sends) + " send(s) to rank " + std::to_string(peer);
      separator = ", ";
    }
  }
  if (const int receives = from_anybody_.load(std::memory_order_relaxed); receives > 0) {
    text += separator + std::to_string(receives) + " message(s) from anybody";
    separator = ", ";
  }
  if (const int groups = groups_.load(std::memory_order_relaxed); groups > 0)
    text += separator + std::to_string(groups) + " native step(s) of an island";
  return text;
}

}  // namespace eco::exec
