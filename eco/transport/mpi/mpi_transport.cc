#include "eco/transport/mpi/mpi_transport.h"

#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <functional>
#include <numeric>
#include <thread>
#include <utility>

#include "eco/base/assert.h"

namespace eco::transport::mpi {
namespace {

// The executor looks ahead over 512 operations: room for them is made before the first message.
constexpr std::size_t kUsualMessages = 512;
// Each look lets the library make progress.
constexpr int kLooksForCancelled = 100;
constexpr int kTagsGuaranteed = 32767;  // by the MPI standard, where the library says nothing

// Several threads at once in Open MPI 5.0.11's MPI_Waitsome, each with requests of its own, end in corrupted memory:
// programs/threads.c of tests/mpi with 3 ranks of 4 threads on 2 cores crashed in 13 of 233 runs with it and in none of 227
// with MPI_Testsome, whether the threads shared a communicator or not. Not seen in a program without ECO.
bool waiting_is_unsafe() {
#if defined(OPEN_MPI)
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
#else
  return false;
#endif
}

// MPICH's progress is not to be entered from inside itself, which MPI_Testsome does. Open MPI's may be.
int (*find_is_complete())(MPI_Request) {
  static const auto function =
      reinterpret_cast<int (*)(MPI_Request)>(dlsym(RTLD_DEFAULT, "PMPIX_Request_is_complete"));
  return function;
}

Share whole(MPI_Comm comm) {
  Share share;
  int n_ranks = 0;
  PMPI_Comm_rank(comm, &share.rank);
  PMPI_Comm_size(comm, &n_ranks);
  share.ranks.resize(static_cast<std::size_t>(n_ranks));
  std::iota(share.ranks.begin(), share.ranks.end(), 0);
  // Its number must be an int too.
  share.n_tags = std::min(largest_tag(), INT_MAX - 1) + 1;
  share.members = comm;
  return share;
}

}  // namespace

int test_from_inside(MPI_Request* request, int* done) {
  const auto is_complete = find_is_complete();
  *done = 0;
  if (is_complete != nullptr && is_complete(*request) == 0) return MPI_SUCCESS;
  return PMPI_Test(request, done, MPI_STATUS_IGNORE);
}

int largest_tag() {
  int* tag_ub = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &found);
  return found != 0 ? *tag_ub : kTagsGuaranteed;
}

MpiTransport::MpiTransport(MPI_Comm comm) : MpiTransport(comm, whole(comm)) {
  PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
}

MpiTransport::MpiTransport(MPI_Comm comm, Share share)
    : comm_(comm), share_(std::move(share)), groups_(share_.members), polls_(waiting_is_unsafe()) {
  requests_.reserve(kUsualMessages);
  tickets_.reserve(kUsualMessages);
  ways_.reserve(kUsualMessages);
  indices_.reserve(kUsualMessages);
  finished_.reserve(kUsualMessages);
  from_anybody_.reserve(1);
}

Status MpiTransport::add(int code, MPI_Request request, Ticket ticket, Way way) {
  if (code != MPI_SUCCESS) return Status::failed;
  requests_.push_back(request);
  tickets_.push_back(ticket);
  ways_.push_back(way);
  return Status::ok;
}

Status MpiTransport::post_send(int peer, int tag, std::span<const std::byte> bytes, SendMode mode,
                               Ticket ticket) {
  if (bytes.size() > INT_MAX) return Status::failed;
  MPI_Request request = MPI_REQUEST_NULL;
  const auto send = mode == SendMode::synchronous ? &PMPI_Issend : &PMPI_Isend;
  const int code = send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, rank_of(peer),
                        share_.first_tag + tag, comm_, &request);
  return add(code, request, ticket, Way::send);
}

Status MpiTransport::post_recv(int peer, int tag, std::span<std::byte> bytes, Ticket ticket) {
  if (bytes.size() > INT_MAX) return Status::failed;
  if (peer == kAnyPeer) {
    const int its_tag = share_.first_tag + tag;
    ECO_ASSERT(light,
               std::ranges::none_of(from_anybody_, [&](const FromAnybody& it) { return it.tag == its_tag; }),
               "one receive from anybody at a time on a tag: their order is not kept");
    from_anybody_.push_back({its_tag, bytes, ticket});
    return Status::ok;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = PMPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, rank_of(peer),
                              share_.first_tag + tag, comm_, &request);
  return add(code, request, ticket, Way::receive);
}

Status MpiTransport::start_group(int group, const GroupCall& call, Ticket ticket) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = groups_.start(group, call, &request);
  return add(code, request, ticket, Way::group);
}

// Those whose message is here become receives like any other.
Status MpiTransport::receive_from_anybody() {
  for (std::size_t i = 0; i < from_anybody_.size();) {
    const auto [tag, bytes, ticket] = from_anybody_[i];
    int is_here = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    if (PMPI_Improbe(MPI_ANY_SOURCE, tag, comm_, &is_here, &message, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return Status::failed;
    if (is_here == 0) {
      ++i;
      continue;
    }
    from_anybody_.erase(from_anybody_.begin() + static_cast<std::ptrdiff_t>(i));
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = PMPI_Imrecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, &message, &request);
    if (const Status status = add(code, request, ticket, Way::receive); status != Status::ok) return status;
  }
  return Status::ok;
}

Status MpiTransport::wait_some(std::span<Ticket> done, std::size_t& n_done) {
  Status status = Status::ok;
  do {
    // Polling makes the library progress, which yields the core where it was told to; a probe alone does not.
    const bool polls = polls_ || !from_anybody_.empty();
    status = polls ? poll_some(done, n_done) : complete(&PMPI_Waitsome, done, n_done);
    if (!from_anybody_.empty() && n_done == 0) std::this_thread::yield();
  } while (status == Status::ok && n_done == 0 && !(requests_.empty() && from_anybody_.empty()));
  return status;
}

Status MpiTransport::poll_some(std::span<Ticket> done, std::size_t& n_done) {
  if (const Status status = receive_from_anybody(); status != Status::ok) return status;
  return complete(&PMPI_Testsome, done, n_done);
}

Status MpiTransport::test_some(std::span<Ticket> done, std::size_t& n_done) {
  ECO_ASSERT(light, from_anybody_.empty(), "schedules name their peers");
  return complete(find_is_complete() != nullptr ? &MpiTransport::look : &PMPI_Testsome, done, n_done);
}

int MpiTransport::look(int n, MPI_Request* requests, int* n_done, int* positions, MPI_Status*) {
  *n_done = 0;
  for (int i = 0; i < n; ++i) {
    int done = 0;
    if (const int code = test_from_inside(&requests[i], &done); code != MPI_SUCCESS) return code;
    if (done != 0) positions[(*n_done)++] = i;
  }
  return MPI_SUCCESS;
}

Status MpiTransport::complete(Completion function, std::span<Ticket> done, std::size_t& n_done) {
  n_done = 0;
  // Waitsome may report more than the caller has room for; the rest waits here.
  if (finished_begin_ == finished_.size() && !requests_.empty()) {
    indices_.resize(requests_.size());
    int count = 0;
    const int code = function(static_cast<int>(requests_.size()), requests_.data(), &count, indices_.data(),
                              MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS) return Status::failed;
    if (count != MPI_UNDEFINED) retire(std::span(indices_).first(static_cast<std::size_t>(count)));
  }
  hand_out(done, n_done);
  return Status::ok;
}

void MpiTransport::retire(std::span<int> positions) {
  finished_.clear();
  finished_begin_ = 0;
  for (const int position : positions) finished_.push_back(tickets_[static_cast<std::size_t>(position)]);
  // Highest first: what is moved into a hole then comes from behind every hole that is left. The order in the array
  // means nothing to MPI, messages were matched in the order of posting.
  std::sort(positions.begin(), positions.end(), std::greater<>());
  for (const int position : positions) {
    requests_[static_cast<std::size_t>(position)] = requests_.back();
    tickets_[static_cast<std::size_t>(position)] = tickets_.back();
    ways_[static_cast<std::size_t>(position)] = ways_.back();
    requests_.pop_back();
    tickets_.pop_back();
    ways_.pop_back();
  }
}

void MpiTransport::abandon() {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    MPI_Request& request = requests_[i];
    if (request == MPI_REQUEST_NULL) continue;  // it ended with the error
    if (ways_[i] == Way::group) {               // these can be neither cancelled nor freed
      groups_.abandon();
      continue;
    }
    int done = 0;
    if (ways_[i] == Way::receive && PMPI_Cancel(&request) == MPI_SUCCESS) {
      // A wait could be for ever if the receive is matched and its sender gone; a cancelled one is over at once.
      for (int look = 0; look < kLooksForCancelled && done == 0; ++look) {
        if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
      }
    }
    if (done == 0 && request != MPI_REQUEST_NULL) PMPI_Request_free(&request);
  }
  requests_.clear();
  tickets_.clear();
  ways_.clear();
  from_anybody_.clear();
  finished_.clear();
  finished_begin_ = 0;
}

void MpiTransport::hand_out(std::span<Ticket> done, std::size_t& n_done) {
  n_done = std::min(done.size(), finished_.size() - finished_begin_);
  std::copy_n(finished_.begin() + static_cast<std::ptrdiff_t>(finished_begin_), n_done, done.begin());
  finished_begin_ += n_done;
}

}  // namespace eco::transport::mpi
