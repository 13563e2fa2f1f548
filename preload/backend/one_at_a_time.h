// What only one thread of the process does at a time, and another that comes meanwhile does later.
//
//   OneAtATime measuring;
//   const OneAtATime::Turn turn(measuring);
//   if (turn.is_alone()) ...
//
// Any thread; nobody waits. A thread takes no turn inside another one of its own.
#pragma once

#include <atomic>

namespace eco::preload {

class OneAtATime {
 public:
  class Turn {
   public:
    explicit Turn(OneAtATime& of) : of_(of), is_alone_(!of.is_taken_.exchange(true)) {}
    ~Turn() {
      if (is_alone_) of_.is_taken_.store(false);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    bool is_alone() const { return is_alone_; }

   private:
    OneAtATime& of_;
    bool is_alone_;
  };

 private:
  std::atomic<bool> is_taken_{false};
};

}  // namespace eco::preload
