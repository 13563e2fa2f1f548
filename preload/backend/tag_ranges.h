// Tags of the job's one private communicator, in ranges: every armed communicator of the program has one.
//
//   TagRanges ranges;
//   ranges.open(largest_tag, n_world_ranks);
//   if (std::optional<int> range = ranges.agree(comm)) first = ranges.first_tag(*range);     // collective over comm
//   ranges.give_back(*range);
//
// Ranks that agree on something else beforehand may propose a range in that:
//
//   TagRanges::Proposal proposal(ranges);                  // taken on this rank, and given back unless it is kept
//   if (all ranks propose proposal.range()) range = proposal.keep();
//   if (!range) proposal.give_up(), range = ranges.agree(comm);
//
// Two communicators that share a rank never have one range at the same time: a range is taken only where every rank of
// the communicator finds it free. A range may serve another communicator as soon as each rank gave it back: a rank does
// so when its part of every call is over, so whatever its peers sent it under these tags has been received.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <set>

namespace eco::preload {

class TagRanges {
 public:
  // Local. How large a range is depends on facts that all ranks of the job share.
  void open(int largest_tag, int n_world_ranks, int world_rank);

  // Collective over `comm`: a range that is now taken on all its ranks, the same on all; nothing if none is left.
  // Any thread, on communicators of its own.
  std::optional<int> agree(MPI_Comm comm);
  // Local, any thread.
  void give_back(int range);

  class Proposal {
   public:
    explicit Proposal(TagRanges& ranges) : ranges_(ranges), range_(ranges.take_first_free(kAnywhere)) {}
    ~Proposal() { give_up(); }
    Proposal(const Proposal&) = delete;
    Proposal& operator=(const Proposal&) = delete;
    std::int64_t range() const { return range_; }
    // Where all ranks proposed the same; nothing where that is no range.
    std::optional<int> keep();
    // It is the next one to be proposed again, so that ranks that propose differently often do not part by that.
    void give_up();

   private:
    TagRanges& ranges_;
    std::int64_t range_;
  };

  int first_tag(int range) const { return range * tags_per_range_; }
  int tags_per_range() const { return tags_per_range_; }

 private:
  static constexpr std::int64_t kAnywhere = -1;
  // Local: the first free range from `from` on, which is taken now; kAnywhere: from where the last proposal was. Nothing is taken
  // where what comes back is no range any more.
  std::int64_t take_first_free(std::int64_t from);
  bool take(std::int64_t range);
  // Local: a proposal that came to nothing.
  void take_back(std::int64_t range);
  std::int64_t after(std::int64_t range) const { return range + 1 < n_ranges_ ? range + 1 : 0; }
  std::int64_t leap();

  int tags_per_range_ = 1;
  std::int64_t n_ranges_ = 0;
  std::mutex mutex_;  // guards what follows; never held while communicating
  std::set<std::int64_t> taken_;
  // Where looking starts. It moves on with every proposal, so that threads that arm at the same time propose different
  // ranges and a freed one rests a while.
  std::int64_t next_ = 0;
  std::minstd_rand chance_;
};

}  // namespace eco::preload
