// What a communicator's last calls came to that the library got, so that one like them looks up nothing: after work of the
// program's own, every table and function that a call goes through costs the time to fetch it from memory (docs/adr/0038).
//
//   if (const PassedCall* known = passed.find(call)) ...
//   passed.add(call, {.bytes = 64, .fate = Fate::plan});
//   passed.forget();                                      // something else is planned now
//
// Local: what is kept is what this rank would come to again. Handles that a program may free and use again are not kept.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>

#include "eco/base/hot.h"
#include "preload/backend/profile.h"
#include "preload/backend/sides.h"

namespace eco::preload {

struct PassedCall {
  std::size_t bytes = 0;
  Fate fate = Fate::plan;
};

class PassedCalls {
 public:
  // Null: none like it. Of calls that say their lengths alone.
  ECO_ON_EVERY_CALL const PassedCall* find(const Call& call) const {
    for (const Kept& kept : kept_) {
      if (kept.is_like(call)) return &kept.came_to;
    }
    return nullptr;
  }
  void add(const Call& call, const PassedCall& came_to) {
    kept_[next_] = {*call.lengths, call.op, call.collective, call.root, true, came_to};
    next_ = (next_ + 1) % kept_.size();
  }
  void forget() { kept_ = {}; }

 private:
  // A program alternates between few.
  static constexpr std::size_t kKept = 4;
  struct Kept {
    Lengths lengths{};
    MPI_Op op = MPI_OP_NULL;
    coll::Collective collective{};
    int root = 0;
    bool is_one = false;
    PassedCall came_to{};

    bool is_like(const Call& call) const {
      return is_one && call.collective == collective && call.root == root && call.op == op &&
             call.lengths == lengths;
    }
  };
  std::array<Kept, kKept> kept_{};
  std::size_t next_ = 0;
};

}  // namespace eco::preload
