// Says who is awaited when a served collective makes no progress. It never ends a call: a rank may be hours late.
//
// One thread that sleeps, started with the first armed communicator; it calls no MPI function. SIGUSR1 makes it print
// what every armed communicator is doing, if the program left that signal at its default.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "eco/exec/flight_recorder.h"

namespace eco::preload {

class Watcher {
 public:
  Watcher() = default;
  ~Watcher() { stop(); }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Local, any thread. `stall_s` 0: only SIGUSR1. The recorder must live until forget() or stop().
  void watch(const exec::FlightRecorder& recorder, std::string who, double stall_s);
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

  void start(double stall_s);
  void loop();
  void look(Watched& watched, Clock::time_point now) const;

  std::mutex mutex_;
  std::vector<Watched> watched_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  double stall_s_ = 0;
  bool owns_signal_ = false;
};

}  // namespace eco::preload
