// Transport over MPI point-to-point on a communicator that nobody but ECO uses.
//
//   MpiTransport transport(private_comm);                                          // alone on it
//   MpiTransport transport(private_comm, {.first_tag = 4096, .n_tags = 1024, .rank = 0, .ranks = {3, 5}});
//
// Local; the communicator must outlive it. In the second form many groups of ranks share one communicator, which spares
// the library's context ids: each has tags of its own, which no other group with one of its ranks may have at the time.
//
// Requests are kept in one compact array, so a wait costs the library as many looks as messages are under way. Once
// the arrays have grown to the most messages ever under way nothing is allocated. A message of more than INT_MAX
// bytes is refused with Status::failed: schedules cut their messages long before that. With MPI_ERRORS_RETURN on the
// communicator an error of the library comes back as Status::failed.
//
// A receive from anybody (of this group: no other has its tags) is posted when its message is here, and looked for until
// then. MPICH 5.0.2 over UCX loses a message that was here before a receive with MPI_ANY_SOURCE.
//
// One of two places that see mpi.h (the other is preload/); compiled once per MPI ABI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eco/transport/mpi/mpi_groups.h"
#include "eco/transport/transport.h"

namespace eco::transport::mpi {

// The part of a shared communicator that one group has.
struct Share {
  int first_tag = 0;
  int n_tags = 0;
  int rank = 0;            // of this process in the group
  std::vector<int> ranks;  // in the shared communicator, of each rank of the group
  // A communicator of just these ranks in this order, which open_groups() splits: all of them have to be in that call
  // then, and its error handler be MPI_ERRORS_RETURN. None: no groups can be opened.
  MPI_Comm members = MPI_COMM_NULL;
};

// MPI_TAG_UB, or what the standard guarantees where the library says nothing. Local.
int largest_tag();

// MPI_Test for callers that the library's progress may have called: under MPICH it makes none. Local.
int test_from_inside(MPI_Request* request, int* done);

class MpiTransport final : public Transport {
 public:
  // Local. Sets the error handler of `comm` to MPI_ERRORS_RETURN.
  explicit MpiTransport(MPI_Comm comm);
  // Local. The error handler of `comm` must be MPI_ERRORS_RETURN already.
  MpiTransport(MPI_Comm comm, Share share);
  ~MpiTransport() override { abandon(); }
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  int rank() const override { return share_.rank; }
  int n_ranks() const override { return static_cast<int>(share_.ranks.size()); }
  int max_tag() const override { return share_.n_tags - 1; }

  [[nodiscard]] Status post_send(int peer, int tag, std::span<const std::byte> bytes, SendMode mode,
                                 Ticket ticket) override;
  [[nodiscard]] Status post_recv(int peer, int tag, std::span<std::byte> bytes, Ticket ticket) override;
  [[nodiscard]] Status wait_some(std::span<Ticket> done, std::size_t& n_done) override;
  // May be called from inside the library's progress, as preload/backend/background.h does: under MPICH it makes none, and
  // nothing may be posted from anybody.
  [[nodiscard]] Status test_some(std::span<Ticket> done, std::size_t& n_done) override;
  [[nodiscard]] Status poll_some(std::span<Ticket> done, std::size_t& n_done) override;
  [[nodiscard]] bool open_groups(const std::vector<coll::RankGroup>& groups) override {
    return groups_.open(groups);
  }
  void close_groups_but(const std::vector<coll::RankGroup>& groups) override { groups_.close_but(groups); }
  int find_group(const coll::RankGroup& group) const override { return groups_.find(group); }
  [[nodiscard]] Status start_group(int group, const GroupCall& call, Ticket ticket) override;
  // Receives that nothing has matched yet are cancelled. What is matched already, and every send, can only be let go:
  // the library ends it in its own time. So with collectives, whose communicators then stay.
  void abandon() override;

 private:
  using Completion = int (*)(int, MPI_Request*, int*, int*, MPI_Status*);

  // A receive from anybody, for which no message has come.
  struct FromAnybody {
    int tag;
    std::span<std::byte> bytes;
    Ticket ticket;
  };

  enum class Way : std::uint8_t { send, receive, group };

  // As MPI_Testsome, without progress.
  static int look(int n, MPI_Request* requests, int* n_done, int* positions, MPI_Status* statuses);
  int rank_of(int peer) const { return share_.ranks[static_cast<std::size_t>(peer)]; }  // in the shared one
  [[nodiscard]] Status receive_from_anybody();
  [[nodiscard]] Status add(int code, MPI_Request request, Ticket ticket, Way way);
  [[nodiscard]] Status complete(Completion function, std::span<Ticket> done, std::size_t& n_done);
  // Takes the requests at these positions out of the arrays and appends their tickets to finished_.
  void retire(std::span<int> positions);
  void hand_out(std::span<Ticket> done, std::size_t& n_done);

  MPI_Comm comm_;
  Share share_;
  MpiGroups groups_;
  bool polls_ = false;  // tests again and again instead of waiting
  std::vector<FromAnybody> from_anybody_;
  std::vector<MPI_Request> requests_;  // under way, no holes
  std::vector<Ticket> tickets_;        // tickets_[i] and ways_[i] belong to requests_[i]
  std::vector<Way> ways_;
  std::vector<int> indices_;      // what Waitsome reports; as long as requests_ ever was
  std::vector<Ticket> finished_;  // completed, not handed out yet: from finished_begin_ on
  std::size_t finished_begin_ = 0;
};

}  // namespace eco::transport::mpi
