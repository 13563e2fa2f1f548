// The job's TCP or UCX transport beside MPI, and which part of it a communicator has: for recipes over several rails, and
// for everything under ECO_TRANSPORT=tcp and =ucx. eco/transport/tcp/rails.h says which NICs are rails.
//
//   rails.open(options, host, world, hook, leave);   // in MPI_Init, collective
//   std::unique_ptr<RailPart> part = rails.join(comm, ...);  // arming a communicator, collective over it
//   JoinedTransport joined(mpi_transport, part->share());
//
// Made in MPI_Init, where all ranks are in one call: a communicator that is armed later may be of some of them only. What
// a call over TCP leaves unsaid when it returns is carried by the library's progress; where that can't be joined there
// are no rails (DESIGN rule 6).
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "eco/net/network.h"
#include "eco/runtime/options.h"
#include "eco/transport/shared_rails.h"
#include "eco/transport/tcp/rails.h"
#include "preload/backend/tag_ranges.h"

namespace eco::preload {

class RailPart {
 public:
  RailPart(std::shared_ptr<transport::SharedRails> shared, transport::RailShare::Part part, TagRanges& ranges,
           int range)
      : share_(std::move(shared), std::move(part)), ranges_(ranges), range_(range) {}
  ~RailPart() {
    if (!is_lost_) ranges_.give_back(range_);
  }
  RailPart(const RailPart&) = delete;
  RailPart& operator=(const RailPart&) = delete;

  transport::RailShare& share() { return share_; }
  // A call has failed half-way: nobody gets these tags again.
  void lose() { is_lost_ = true; }

 private:
  transport::RailShare share_;
  TagRanges& ranges_;
  int range_;
  bool is_lost_ = false;
};

class JobRails {
 public:
  // Collective over `world`, a copy of MPI_COMM_WORLD whose errors return. `has_hook`: whether the library's progress can
  // be joined, on all ranks alike. `nics`: of all ranks. `leave` lets that progress call carry(), until nothing is pending.
  void open(const runtime::Options& options, const net::HostId& host, MPI_Comm world, bool has_hook,
            const transport::tcp::NicCounts& nics, std::function<void()> leave);
  // Local: how many of this host's NICs may become rails, as `nics` above are counted.
  static int count_nics(const runtime::Options& options);
  // Local.
  void close();

  // Local, the same on all ranks, until the end: were they opened?
  bool are_there() const { return shared_ != nullptr; }
  const std::vector<std::string>& names() const { return names_; }
  // The same, with the hosts that lack one.
  const std::vector<transport::tcp::CommonRail>& rails() const { return rails_; }
  // What carries messages over them: "TCP", "UCX"; empty where there are none.
  std::string kind() const { return shared_ ? shared_->kind() : ""; }
  // Local: those that failed between this rank and another.
  std::vector<std::string> failed() const {
    return shared_ ? shared_->failed_rails() : std::vector<std::string>{};
  }
  // Why there are none, or what is none.
  const std::string& reason() const { return reason_; }

  // Collective over `comm`, whose ranks are these of MPI_COMM_WORLD: null on all alike, where this job has no rails, one
  // rank has lost them, or no tags are left.
  std::unique_ptr<RailPart> join(MPI_Comm comm, int rank, const std::vector<int>& world_ranks);
  // Local, any thread, also from inside the library: what calls have left unsaid.
  void carry() {
    if (shared_) shared_->carry();
  }
  bool may_be_pending() { return shared_ && shared_->may_be_pending(); }

 private:
  std::shared_ptr<transport::SharedRails> shared_;
  TagRanges ranges_;
  std::vector<transport::tcp::CommonRail> rails_;
  std::vector<std::string> names_;
  std::string reason_;
};

}  // namespace eco::preload
