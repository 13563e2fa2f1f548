// Transport over MPI point-to-point on a communicator that nobody else uses.
//
//   MpiTransport transport(private_comm);       // local; the communicator must outlive it
//
// Requests are kept in one compact array, so a wait costs the library as many looks as messages are under way. Once
// the arrays have grown to the most messages ever under way nothing is allocated. A message of more than INT_MAX
// bytes is refused with Status::failed: schedules cut their messages long before that. With MPI_ERRORS_RETURN on the
// communicator (the constructor sets it) an error of the library comes back as Status::failed.
//
// One of two places that see mpi.h (the other is preload/); compiled once per MPI ABI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eco/transport/transport.h"

namespace eco::transport::mpi {

class MpiTransport final : public Transport {
 public:
  // Local. Sets the error handler of `comm` to MPI_ERRORS_RETURN.
  explicit MpiTransport(MPI_Comm comm);
  ~MpiTransport() override { abandon(); }
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  int rank() const override { return rank_; }
  int n_ranks() const override { return n_ranks_; }
  int max_tag() const override { return max_tag_; }

  [[nodiscard]] Status post_send(int peer, int tag, std::span<const std::byte> bytes, SendMode mode,
                                 Ticket ticket) override;
  [[nodiscard]] Status post_recv(int peer, int tag, std::span<std::byte> bytes, Ticket ticket) override;
  [[nodiscard]] Status wait_some(std::span<Ticket> done, std::size_t& n_done) override;
  [[nodiscard]] Status test_some(std::span<Ticket> done, std::size_t& n_done) override;
  // Receives that nothing has matched yet are cancelled. What is matched already, and every send, can only be let go:
  // the library ends it in its own time.
  void abandon() override;

 private:
  using Completion = int (*)(int, MPI_Request*, int*, int*, MPI_Status*);

  enum class Way : std::uint8_t { send, receive };

  [[nodiscard]] Status add(int code, MPI_Request request, Ticket ticket, Way way);
  [[nodiscard]] Status complete(Completion function, std::span<Ticket> done, std::size_t& n_done);
  // Takes the requests at these positions out of the arrays and appends their tickets to finished_.
  void retire(std::span<int> positions);
  void hand_out(std::span<Ticket> done, std::size_t& n_done);

  MPI_Comm comm_;
  int rank_ = 0;
  int n_ranks_ = 0;
  int max_tag_ = 0;
  std::vector<MPI_Request> requests_;  // under way, no holes
  std::vector<Ticket> tickets_;        // tickets_[i] and ways_[i] belong to requests_[i]
  std::vector<Way> ways_;
  std::vector<int> indices_;      // what Waitsome reports; as long as requests_ ever was
  std::vector<Ticket> finished_;  // completed, not handed out yet: from finished_begin_ on
  std::size_t finished_begin_ = 0;
};

}  // namespace eco::transport::mpi
