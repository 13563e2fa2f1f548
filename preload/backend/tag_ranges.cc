#include "preload/backend/tag_ranges.h"

#include <algorithm>
#include <array>
#include <utility>

namespace eco::preload {
namespace {

// The channels of one call, several times over (a call's tags are not those of the one before), for calls that the program
// waits in and as many again for those that it does not. Few schedules have more than ten channels; some have one for
// every rank.
constexpr std::int64_t kFewestTags = 2048;
constexpr std::int64_t kTagsPerRank = 8;
// Two threads whose communicators share ranks may each get part of what both agreed on. Both then look further, and so
// much further by chance that they hardly meet again.
constexpr int kMostTries = 100;
constexpr std::int64_t kSpread = 64;

}  // namespace

void TagRanges::open(int largest_tag, int n_world_ranks, int world_rank) {
  const std::int64_t tags = std::int64_t{largest_tag} + 1;
  const std::int64_t wanted = std::max(kFewestTags, kTagsPerRank * n_world_ranks);
  tags_per_range_ = static_cast<int>(std::min(wanted, tags));
  n_ranges_ = tags / tags_per_range_;
  chance_.seed(static_cast<unsigned>(world_rank) + 1);
}

std::optional<int> TagRanges::agree(MPI_Comm comm) {
  bool from_the_start = false;
  std::int64_t from = kAnywhere;
  for (int i = 0; i < kMostTries; ++i) {
    // Each rank takes what it proposes. Mostly all propose the same, and that is it.
    const std::int64_t proposed = take_first_free(from);
    std::array<std::int64_t, 2> ends = {proposed, -proposed};
    const bool are_told =
        PMPI_Allreduce(MPI_IN_PLACE, ends.data(), 2, MPI_INT64_T, MPI_MAX, comm) == MPI_SUCCESS;
    const std::int64_t range = ends[0];
    if (are_told && range == -ends[1] && range < n_ranges_) return static_cast<int>(range);
    const bool is_mine = are_told && proposed == range;
    if (!is_mine) give_back(static_cast<int>(proposed));
    if (!are_told) break;
    if (range >= n_ranges_) {
      if (from_the_start) break;
      from_the_start = true;
      from = 0;
      continue;
    }
    const bool mine = is_mine || take(range);
    int everybodys = mine ? 1 : 0;
    const int code = PMPI_Allreduce(MPI_IN_PLACE, &everybodys, 1, MPI_INT, MPI_MIN, comm);
    if (code == MPI_SUCCESS && everybodys == 1) return static_cast<int>(range);
    if (mine) give_back(static_cast<int>(range));
    if (code != MPI_SUCCESS) break;
    from = range + 1 + leap();
  }
  return std::nullopt;
}

std::int64_t TagRanges::take_first_free(std::int64_t from) {
  const std::lock_guard lock(mutex_);
  std::int64_t range = from == kAnywhere ? next_ : from;
  for (auto taken = taken_.lower_bound(range); taken != taken_.end() && *taken == range; ++taken) ++range;
  if (range < n_ranges_) taken_.insert(range);
  next_ = after(range);
  return range;
}

std::int64_t TagRanges::leap() {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(chance_()) % kSpread;
}

bool TagRanges::take(std::int64_t range) {
  const std::lock_guard lock(mutex_);
  next_ = after(range);
  return taken_.insert(range).second;
}

void TagRanges::take_back(std::int64_t range) {
  const std::lock_guard lock(mutex_);
  if (taken_.erase(range) > 0 && next_ == after(range)) next_ = range;
}

void TagRanges::give_back(int range) {
  const std::lock_guard lock(mutex_);
  taken_.erase(range);
}

void TagRanges::Proposal::give_up() {
  if (range_ != kAnywhere) ranges_.take_back(std::exchange(range_, kAnywhere));
}

std::optional<int> TagRanges::Proposal::keep() {
  if (range_ >= ranges_.n_ranges_) return std::nullopt;
  return static_cast<int>(std::exchange(range_, kAnywhere));
}

}  // namespace eco::preload
