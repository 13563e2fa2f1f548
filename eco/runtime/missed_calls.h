// What a communicator's calls would have gained so far, had it been armed: by the plan that another one of the same ranks
// has.
//
//   missed.add(problem);                            // every call that nothing armed could serve
//   standing.missed_gain_s = missed.gain_s(known);  // what its ranks tell each other (readiness.h)
//
// Local, and the same on all ranks that have made the same calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "eco/base/hot.h"
#include "eco/coll/problem.h"
#include "eco/runtime/known_in_job.h"

namespace eco::runtime {

class MissedCalls {
 public:
  // Calls of one collective, root and size class (plan::size_class) are one kind. A program has few kinds of calls; what it
  // has beyond kMostKinds counts for nothing, as do operations that do not commute, for which plans may have no recipe.
  ECO_ON_EVERY_CALL void add(const coll::CommonProblem& call);

  // In seconds, each kind by the row that serves the least of its calls.
  double gain_s(const KnownGroup& known) const;

 private:
  static constexpr std::size_t kMostKinds = 12;
  struct Kind {
    coll::Collective collective{};
    int root = 0;
    std::size_t size = 0;  // class
    std::size_t least_bytes = 0;
    std::uint64_t calls = 0;
  };
  std::array<Kind, kMostKinds> kinds_{};
  std::size_t n_kinds_ = 0;
};

}  // namespace eco::runtime
