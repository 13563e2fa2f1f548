// Agreement of a group through the native collectives: what every arming step ends with.
//
//   Agreement all(native, rank, n_ranks);
//   if (auto reason = all.failed([&] { parse(text); })) stay_native(*reason);      // the same answer on every rank
//
// All functions are collective. They throw TransportError only where the native library itself fails, and share() where
// a rank has no memory for the text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eco/transport/native.h"

namespace eco::runtime {

class Agreement {
 public:
  static constexpr std::size_t kReasonRoom =
      2048;  // reasons travel in fixed room: memory may be what is lacking
  static constexpr std::size_t kMostNumbers = 2;

  Agreement(transport::Native& native, int rank, int n_ranks)
      : native_(native), rank_(rank), n_ranks_(n_ranks) {}

  // Runs `work`, which must not communicate, and then learns whether it threw on any rank: the reason of the lowest
  // such rank, on every rank the same (cut off after kReasonRoom); nothing if all succeeded. In the same exchange numbers, which
  // `work` may set: of each the least of all ranks'.
  std::optional<std::string> failed(const std::function<void()>& work, std::span<std::int64_t> least = {});
  // True if all ranks passed the same number; of two, for each.
  bool equal(std::uint64_t number) { return equal(number, 0)[0]; }
  std::array<bool, 2> equal(std::uint64_t one, std::uint64_t other);
  // True if it is true on all ranks.
  bool all(bool mine);
  // `root`'s text, on every rank. Throws TransportError on every rank if one has no memory for it.
  std::string share(std::string text, int root = 0);
  // share() and failed() with `work` in one: the reason why the text did not come, or the work threw. All ranks pass a work
  // (that of some may do nothing), or none does.
  std::optional<std::string> share_and(std::string& text, const std::function<void()>& work, int root = 0);
  // `root`'s number, on every rank.
  std::int64_t share_number(std::int64_t number, int root = 0);
  // The largest of all ranks' numbers.
  double largest(double mine);

 private:
  struct Head;

  transport::Native& native_;
  int rank_;
  int n_ranks_;
};

}  // namespace eco::runtime
