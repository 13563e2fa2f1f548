// Says who is awaited when a served collective makes no progress. It never ends a call: a rank may be hours late.
//
// One thread that sleeps, started with the first armed communicator; it calls no MPI function. Where the user wants it,
// SIGUSR1 makes it print what every armed communicator is doing, if the program left that signal at its default. Unasked
// the signal stays what it is: batch systems end ranks by it. Processes that the program forks have it at its default.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "eco/exec/flight_recorder.h"

namespace eco::preload {

class Watcher {
 public:
  Watcher() = default;
  ~Watcher() { stop(); }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // When to speak: after so long without progress (0: never), and when SIGUSR1 asks.
  struct When {
    double stall_s = 0;
    bool signal = false;
  };
  // Local, any thread; `when` is the first call's. The recorder must live until forget() or stop().
  void watch(const exec::FlightRecorder& recorder, std::string who, When when);
  void forget(const exec::FlightRecorder& recorder);
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    const exec::FlightRecorder* recorder;
    std::string who;
    std::uint64_t progress = 0;
    Clock::time_point since;
    bool reported = false;
  };

  void start(When when);
  void loop();
  void look(Watched& watched, Clock::time_point now) const;

  std::mutex mutex_;
  std::vector<Watched> watched_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  When when_;
  bool owns_signal_ = false;
};

// As long as it lives the recorder is watched. The watcher must live longer.
class Watch {
 public:
  Watch(Watcher& watcher, const exec::FlightRecorder& recorder, std::string who, Watcher::When when)
      : watcher_(watcher), recorder_(recorder) {
    watcher_.watch(recorder_, std::move(who), when);
  }
  ~Watch() { watcher_.forget(recorder_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  Watcher& watcher_;
  const exec::FlightRecorder& recorder_;
};

}  // namespace eco::preload
