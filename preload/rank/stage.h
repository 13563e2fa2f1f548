// What the verbs of eco-rank share that run ECO's parts themselves, without the preload.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/runtime/common_start.h"
#include "eco/runtime/options.h"
#include "eco/runtime/trials.h"
#include "eco/transport/mpi/mpi_native.h"
#include "eco/transport/mpi/mpi_transport.h"
#include "eco/transport/shared_rails.h"

namespace eco::rank {

// The group as ECO sees it, on a communicator of its own, with rails where jobs would have them. Collective over
// MPI_COMM_WORLD. Throws Unsupported on all ranks where ECO_TRANSPORT=tcp or =ucx can't be.
struct Stage {
  explicit Stage(const runtime::Options& options);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  int rank() const { return transport->rank(); }
  int n_ranks() const { return transport->n_ranks(); }

  MPI_Comm comm = MPI_COMM_NULL;
  std::unique_ptr<transport::mpi::MpiNative> native;
  std::shared_ptr<transport::SharedRails> rails;
  std::unique_ptr<transport::Transport> messages;   // MPI's
  std::unique_ptr<transport::Transport> on_rails;   // TCP's or UCX's, if there are rails
  std::unique_ptr<transport::Transport> transport;  // what jobs would run on

 private:
  void open_rails(const runtime::Options& options);
};

// Collective: the host of each rank.
std::vector<net::HostId> identities(Stage& stage, const runtime::Options& options);

// The ranks of a Stage on the network of a file that rank 0 reads, ready for trials. Collective; throws InvalidArgument on
// all ranks if the file can't be read or is of other hosts.
struct Rehearsal {
  Rehearsal(Stage& stage, const std::string& network_file);
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;

  bool one_clock;
  net::GroupView view;
  runtime::Trials trials;
};

// One line a step: "eco-rank: 42 % pairs of hosts". Nothing is printed twice.
class Progress {
 public:
  void operator()(const std::string& what, double fraction);

 private:
  int percent_ = -1;
  std::string what_;
};

// Local. The options as the environment has them.
runtime::Options options_of_environment();

// Local. The collectives that operations name, each once. Throws InvalidArgument.
coll::Collective collective_of(const std::string& operation);
std::vector<coll::Collective> collectives_of(const std::vector<std::string>& operations);

// Local. Of so many bytes, cut to whole elements and equal blocks; doubles where they are combined. Throws InvalidArgument.
coll::CommonProblem problem_of(const std::string& operation, std::size_t bytes, int root, int n_ranks);

// Local. Throws Error where the file can't be written.
void write_file(const std::string& path, const std::string& text);

}  // namespace eco::rank
