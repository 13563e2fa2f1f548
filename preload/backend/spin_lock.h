// A lock that code called from inside the library may try: nobody waits in there, and the thread may hold it already.
//
//   const std::lock_guard lock(busy);                  // the program's own calls; held for moments, or by themselves
//   const std::unique_lock lock(busy, std::try_to_lock); if (!lock) return;           // from the library's progress
#pragma once

#include <atomic>
#include <thread>

namespace eco::preload {

class SpinLock {
 public:
  void lock() {
    while (!try_lock()) std::this_thread::yield();
  }
  bool try_lock() { return !flag_.test_and_set(std::memory_order_acquire); }
  void unlock() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_;
};

}  // namespace eco::preload
