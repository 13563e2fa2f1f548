#include "preload/backend/job_rails.h"

#include <exception>
#include <utility>

#include "eco/runtime/rails.h"
#include "eco/transport/mpi/mpi_native.h"
#include "eco/transport/mpi/progress.h"
#include "eco/transport/open_rails.h"

namespace eco::preload {

namespace tcp = transport::tcp;

int JobRails::count_nics(const runtime::Options& options) {
  // Whoever names rails hears what is the matter with them, and UCX has devices of its own.
  if (options.carrier == runtime::Carrier::mpi || options.carrier == runtime::Carrier::ucx ||
      !options.rails.empty())
    return 0;
  try {
    return static_cast<int>(tcp::nics({}).size());
  } catch (const std::exception&) {
    return 0;
  }
}

void JobRails::open(const runtime::Options& options, const net::HostId& host, MPI_Comm world, bool has_hook,
                    const tcp::NicCounts& nics, std::function<void()> leave) {
  using runtime::Carrier;
  if (options.carrier == Carrier::mpi) return;
  if (!has_hook) {
    reason_ = "this MPI library's progress can't be joined";
    return;
  }
  int rank = 0;
  int n_ranks = 0;
  PMPI_Comm_rank(world, &rank);
  PMPI_Comm_size(world, &n_ranks);
  if (n_ranks < 2) {
    reason_ = "one rank has nobody to talk to";
    return;
  }
  transport::mpi::MpiNative native(world);
  try {
    const tcp::WantedRails wanted = runtime::wanted_rails(options, host);
    if (options.carrier != Carrier::ucx) reason_ = tcp::why_too_few(wanted, nics);
    if (!reason_.empty()) return;
    tcp::MetOnRails met =
        transport::open_rails(native, rank, n_ranks, wanted, options.carrier == Carrier::ucx);
    reason_ = std::move(met.reason);
    if (!met.transport) return;
    rails_ = std::move(met.rails);
    names_ = tcp::names_of(rails_);
    shared_ = std::make_shared<transport::SharedRails>(
        std::move(met.transport), names_, [world] { transport::mpi::make_progress(world); },
        std::move(leave));
    ranges_.open(transport::kMaxRailTag, n_ranks, rank);
  } catch (const std::exception& error) {
    reason_ = error.what();
  }
}

void JobRails::close() {
  if (shared_) shared_->close();
}

std::unique_ptr<RailPart> JobRails::join(MPI_Comm comm, int rank, const std::vector<int>& world_ranks) {
  if (!shared_) return nullptr;
  int has_them = shared_->is_lost() ? 0 : 1;
  if (PMPI_Allreduce(MPI_IN_PLACE, &has_them, 1, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS || has_them == 0)
    return nullptr;
  const std::optional<int> range = ranges_.agree(comm);
  if (!range) return nullptr;
  transport::RailShare::Part part{.first_tag = ranges_.first_tag(*range),
                                  .n_tags = ranges_.tags_per_range(),
                                  .rank = rank,
                                  .ranks = world_ranks};
  return std::make_unique<RailPart>(shared_, std::move(part), ranges_, *range);
}

}  // namespace eco::preload
