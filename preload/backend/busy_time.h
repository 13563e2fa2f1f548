// How long at least one thread was at something, however many were at it together.
//
//   BusyTime arming;
//   { const BusyTime::Turn turn(arming); ... }
//   arming.seconds();
//
// Any thread.
#pragma once

#include <mpi.h>

#include <mutex>

namespace eco::preload {

class BusyTime {
 public:
  class Turn {
   public:
    explicit Turn(BusyTime& of) : of_(of) { of_.enter(); }
    ~Turn() { of_.leave(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    BusyTime& of_;
  };

  // Of the turns that are over, and of those together with one that is not, none.
  double seconds() const {
    const std::lock_guard lock(mutex_);
    return seconds_;
  }

 private:
  void enter() {
    const std::lock_guard lock(mutex_);
    if (n_inside_++ == 0) since_s_ = PMPI_Wtime();
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    if (--n_inside_ == 0) seconds_ += PMPI_Wtime() - since_s_;
  }

  mutable std::mutex mutex_;
  int n_inside_ = 0;
  double since_s_ = 0;
  double seconds_ = 0;
};

}  // namespace eco::preload
