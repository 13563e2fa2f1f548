// What a communicator's calls came to that the library got, so that one like them looks up nothing: after work of the program's
// own, every table and function that a call goes through costs the time to fetch it from memory (docs/adr/0038).
//
//   if (const std::optional<PassedCall> known = passed.find(call)) ...
//   passed.add(call, {.bytes = 64, .fate = Fate::plan});
//   passed.forget();                                               // something else is planned now
//
// Local, and another on each rank: what is kept is what this rank would come to again. Kept are calls whose outcome follows from
// handles that are never freed (may_be_kept() in call.cc); a handle that says nothing on this rank is compared as it is.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "eco/base/hot.h"
#include "eco/base/place.h"
#include "preload/backend/profile.h"
#include "preload/backend/sides.h"

namespace eco::preload {

struct PassedCall {
  std::size_t bytes = 0;
  Fate fate = Fate::plan;
};

class PassedCalls {
 public:
  // Of a call that says its lengths, as add().
  ECO_ON_EVERY_CALL std::optional<PassedCall> find(const Call& call) const {
    const Kept& kept = kept_[place(call)];
    if (!kept.is_like(call)) return std::nullopt;
    return PassedCall{kept.bytes, kept.fate};
  }
  void add(const Call& call, const PassedCall& came_to) {
    kept_[place(call)] = {*call.lengths,   call.op,      came_to.bytes, call.root,
                          call.collective, came_to.fate, true};
  }
  void forget() { kept_ = {}; }

 private:
  // Each has one place, so that a look touches one line of memory.
  static constexpr int kBits = 3;
  struct alignas(64) Kept {
    Lengths lengths{};
    MPI_Op op = MPI_OP_NULL;
    std::size_t bytes = 0;
    int root = 0;
    coll::Collective collective{};
    Fate fate{};
    bool is_one = false;

    bool is_like(const Call& call) const {
      return is_one && call.collective == collective && call.root == root && call.op == op &&
             call.lengths == lengths;
    }
  };
  static_assert(sizeof(Kept) == 64);

  static std::size_t place(const Call& call) {
    const auto counts = static_cast<std::uint64_t>(call.lengths->in_count + call.lengths->out_count);
    const auto root = static_cast<std::uint64_t>(call.root);
    return base::place_of((counts << 24) ^ (root << 4) ^ static_cast<std::uint64_t>(call.collective), kBits);
  }

  std::array<Kept, std::size_t{1} << kBits> kept_{};
};

}  // namespace eco::preload
