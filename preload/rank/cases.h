// The collectives that eco-rank bench knows: buffers with known contents, the call, and the check of its result.
//
// `bytes` means, as everywhere in ECO's reports: broadcast, reduce, allreduce, scan, exscan the buffer of one rank;
// scatter and gather the root's buffer; allgather the whole result; reduce_scatter one rank's input; alltoall one
// rank's send buffer. What the ranks cannot divide evenly is left out, as where problems are planned
// (coll::whole_bytes); fewer bytes than ranks are one for each. Sums that are no whole doubles are of bytes. The root is rank 0.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace eco::rank {

class Case {
 public:
  virtual ~Case() = default;
  // Local: contents as before the first call; results are wiped, so that an old one is never taken for a new one.
  virtual void reset() = 0;
  // Collective over MPI_COMM_WORLD: the one timed MPI_ call.
  virtual void call() = 0;
  // Local: true if this rank's result is what the collective means.
  virtual bool is_right() const = 0;
  // A call without a result: what it means shows only in when ranks leave it.
  virtual bool is_barrier() const { return false; }
};

const std::vector<std::string>& case_names();
// Throws InvalidArgument for a name that is not among them.
std::unique_ptr<Case> make_case(const std::string& name, std::size_t bytes, int rank, int n_ranks);

}  // namespace eco::rank
