#include "eco/runtime/missed_calls.h"

#include <algorithm>
#include <tuple>

#include "eco/plan/planner.h"

namespace eco::runtime {

void MissedCalls::add(const coll::CommonProblem& call) {
  if (!call.commutative) return;
  const Kind one{call.collective, call.root, plan::size_class(call.bytes), call.bytes, 1};
  const auto key = [](const Kind& kind) { return std::tie(kind.collective, kind.root, kind.size); };
  Kind* const end = kinds_.data() + n_kinds_;
  Kind* const kind =
      std::find_if(kinds_.data(), end, [&](const Kind& each) { return key(each) == key(one); });
  if (kind == end) {
    if (n_kinds_ < kMostKinds) kinds_[n_kinds_++] = one;
    return;
  }
  ++kind->calls;
  kind->least_bytes = std::min(kind->least_bytes, one.least_bytes);
}

double MissedCalls::gain_s(const KnownGroup& known) const {
  double seconds = 0;
  for (std::size_t i = 0; i < n_kinds_; ++i) {
    const Kind& kind = kinds_[i];
    const coll::CommonProblem least{.collective = kind.collective,
                                    .n_ranks = known.view.n_ranks(),
                                    .root = kind.root,
                                    .bytes = kind.least_bytes};
    seconds += static_cast<double>(kind.calls) * known.gain_s(least);
  }
  return seconds;
}

}  // namespace eco::runtime
