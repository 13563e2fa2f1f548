// What a rank was doing, kept so that a stall can be explained: who is awaited, since when.
//
// Written by the Executor at a cost of a few stores per call and per wait; read by a signal handler or a timer of the
// preload. It never ends a call: under MPI a rank may be hours late.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace eco::exec {

class FlightRecorder {
 public:
  void begin_call(std::uint64_t recipe_digest, int n_ranks);
  // Of a call that has no recipe; `name` is kept and must live as long as this.
  void begin_call(const char* name, int n_ranks);
  // A peer below 0: a receive from anybody.
  void message_posted(int peer, bool is_send);
  void message_done(int peer, bool is_send);
  void group_started();
  void group_done();
  void end_call();

  // "call 17, recipe 9f3a..: awaiting 2 messages from rank 4, 1 send to rank 2, 1 native step(s) of an island", or "idle
  // after 17 calls".
  std::string describe() const;
  std::uint64_t n_calls() const { return calls_.load(std::memory_order_relaxed); }
  bool in_call() const { return in_call_.load(std::memory_order_relaxed); }
  // Grows whenever anything happens: unchanged between two looks means a stall.
  std::uint64_t progress() const { return progress_.load(std::memory_order_relaxed); }

 private:
  void begin(int n_ranks);

  struct Pending {
    std::atomic<int> sends{0};
    std::atomic<int> receives{0};
  };
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint64_t> recipe_digest_{0};
  std::atomic<const char*> name_{nullptr};  // instead
  std::atomic<std::uint64_t> progress_{0};
  std::atomic<bool> in_call_{false};
  std::atomic<int> groups_{0};          // operations of groups under way
  std::atomic<int> from_anybody_{0};    // receives
  std::unique_ptr<Pending[]> pending_;  // by peer; made at the first call, of one size from then on
  int n_ranks_ = 0;
};

}  // namespace eco::exec
