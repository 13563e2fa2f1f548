// Transport over plain TCP, one connection per peer, rail and direction: for hosts with several NICs, and with no MPI.
//
//   MemoryStore store;                                        // or FileStore: bootstrap.h
//   const std::unique_ptr<TcpTransport> transport = meet(store, rank, n_ranks, {"10.77.0.1", "10.78.0.1"});
//   transport->set_rails(0, rails_of_channels);
//
// A rail is one address of this host, in the same order on all; of one that the host lacks it is empty, and what would go over
// that takes rail 0. Connections open with the first message that needs them.
// A message whose receive is posted goes straight into it; an earlier one waits in memory here, up to `credit_bytes` for
// each connection, and beyond that, or above `eager_bytes`, at its sender until it is asked for.
//
// Progress is made inside post_send, wait_some and test_some, nowhere else; wait_some sleeps in the kernel, and who waits
// for other things too can poll descriptor(). A peer that has gone while it owes something, or a message longer
// than its receive, ends it: Status::lost_peer, Status::failed.
//
// A rail that fails between two ranks, while another joins them, is given up: what it had not delivered and all that follows
// takes the others, and lost_rails() says so. That too is progress: peers may need this rank to come by once more, be it with
// nothing posted.
//
// Where what is, in this order:
//
//   tcp_transport.cc   its life: made, waiting, saying bye, abandoned; one round of progress, which calls the other two
//   tcp_peers.cc       who is connected: opening, accepting, strangers, peers that are lost
//   tcp_messages.cc    what travels: posting, the frames that come of it, what waits for its receive
//   tcp_sends.cc       how a send leaves, what it still waits for, and what of it has to be kept
//   tcp_rails.cc       rails that fail: how that is noticed, and how sends move to others
//   connection.h       one socket: its greeting, frames out, frames in
//   inbox.h            which message goes into which receive
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eco/transport/rail_transport.h"
#include "eco/transport/tcp/connection.h"
#include "eco/transport/tcp/inbox.h"
#include "eco/transport/tcp/socket.h"

namespace eco::transport::tcp {

// The first two have to be the same on all ranks: who gets more than it allows ends the job.
struct TcpOptions {
  // Messages up to here leave without their receiver's consent: a segment of any schedule of ours does.
  std::size_t eager_bytes = std::size_t{1} << 18;
  // What may wait in a receiver's memory for each connection.
  std::size_t credit_bytes = std::size_t{1} << 22;
  // Seconds of a silent network after which a peer is lost; 0: only its end is noticed.
  double lost_after_s = 0;
  // Seconds after which a rail that carries nothing to a peer is given up, if the peer answers on another (where it carries
  // something to others, five times as long); 0: only when it closes.
  double rail_lost_after_s = 3;
  // How long the destructor waits for others' kernels to have what was sent.
  double farewell_s = 5;
};

// What a rank knows of its job: who it is, where the others listen on each rail, and the key that they share.
struct Job {
  int rank = 0;
  Key key{};
  std::vector<std::string> addresses;  // of this rank, one for each rail, as what follows; empty: none
  std::vector<std::vector<Endpoint>>
      endpoints;  // of each rank; those at the end that it lacks may be missing
  int n_ranks() const { return static_cast<int>(endpoints.size()); }
};

class TcpTransport final : public RailTransport, private Connection::Owner {
 public:
  // Local: nobody is spoken to yet. `listening` are the sockets of this rank's own endpoints. Throws TransportError if
  // the kernel has nothing left.
  TcpTransport(Job job, std::vector<Socket> listening, TcpOptions options);
  ~TcpTransport() override;
  TcpTransport(const TcpTransport&) = delete;
  TcpTransport& operator=(const TcpTransport&) = delete;

  int rank() const override { return job_.rank; }
  int n_ranks() const override { return job_.n_ranks(); }
  [[nodiscard]] Status post_send(int peer, int tag, std::span<const std::byte> bytes, SendMode mode,
                                 Ticket ticket) override;
  [[nodiscard]] Status post_recv(int peer, int tag, std::span<std::byte> bytes, Ticket ticket) override;
  [[nodiscard]] Status wait_some(std::span<Ticket> done, std::size_t& n_done) override;
  [[nodiscard]] Status test_some(std::span<Ticket> done, std::size_t& n_done) override;
  std::string kind() const override { return "TCP"; }
  int n_rails() const override { return static_cast<int>(job_.addresses.size()); }
  bool has_rail(int rank, int rail) const override {
    return !job_.endpoints[static_cast<std::size_t>(rank)][static_cast<std::size_t>(rail)].address.empty();
  }
  void abandon() override;

  void look() override;
  // Also where a peer may ask again, since a rail was lost with it.
  bool is_pending() override;

  int descriptor() override { return events_.get(); }
  // Connections with other ranks that are open or opening.
  std::size_t n_connections() const;
  // Of sends that were handed back before they were known to have arrived: copies, where another rail could carry them. At most
  // credit_bytes for each connection.
  std::size_t kept_bytes() const { return kept_bytes_; }
  // Messages that came again, since their sender could not know, and were discarded.
  std::size_t n_repeated() const { return n_repeated_; }

 private:
  struct Send {
    Ticket ticket = 0;
    int peer = 0;
    std::uint32_t tag = 0;
    std::uint64_t sequence = 0;
    SendMode mode = SendMode::eager;
    std::span<const std::byte> bytes;          // the caller's, or `kept`
    std::uint32_t connection = kNoConnection;  // none: it has to be sent again
    bool is_used = false;
    bool was_requested = false;
    bool owes_request = false;  // its request is out, its data is not
    bool owes_match = false;
    bool owes_writing = false;
    bool owes_arrival = false;    // until the other side says that it has it, it may have to be sent again
    bool is_handed_back = false;  // there for being sent again, if at all
    std::unique_ptr<std::byte[]> kept = nullptr;
  };
  struct Peer {
    std::vector<int> to;        // by rail: the connection that was opened to it, -1 if none is
    std::vector<bool> is_lost;  // by rail
    int n_rails = 0;            // that both sides have
    int n_open = 0;             // connections, in either direction
    bool was_met = false;
    bool has_left = false;   // has said bye
    bool is_broken = false;  // has no rail left, or said what no rank says
    std::size_t owed_receives = 0;
    std::size_t owed_sends = 0;
  };

  // Whether it is one with a rank, not with a stranger.
  static bool is_known(const Connection* connection) {
    return connection != nullptr && (connection->is_opener() || connection->is_open());
  }
  // Nothing is posted, and peers need nothing of this rank: on several rails they may have to be told what came, or
  // sent it again.
  bool is_idle() const { return n_posted_ == 0 && (n_rails() == 1 || connections_.empty()); }

  // tcp_transport.cc. Does what can be done without waiting longer than so many ms; -1: until something happens.
  void progress(int timeout_ms);
  void handle(std::uint32_t number, std::uint32_t events);
  void flush_all();
  void say_bye();

  // tcp_peers.cc
  bool on_hello(const Hello& hello) override;
  bool on_welcome(Connection& connection) override;
  // The connection for messages of that tag, which wants that rail; null if the peer is lost. Opens it if there is none.
  Connection* way_to(int peer, std::size_t rail, std::size_t tag);
  // Over that rail; null if that can't be.
  Connection* open(int peer, int rail);
  Socket connect_to(int peer, int rail) const;
  Hello hello_to(int peer, int rail) const;
  // Whether it will: it was turned away before it was let in.
  bool comes_again(Connection& connection);
  // Those whose time has come; so many ms until that of the next, -1: nobody rests.
  int knock_again();
  void accept_from(std::size_t listener);
  std::uint32_t next_connection() const;
  std::uint32_t add(Connection connection);
  void watch(Connection& connection);
  void listen_for(Connection& connection);
  // The stranger that is turned away for another. The last so many have come just now.
  std::uint32_t least_welcome(std::size_t n_new) const;
  void drop(std::uint32_t number, Connection::End end);
  // Ends it, whoever is to blame; what it had not delivered is to be sent again.
  void take_down(std::uint32_t number);
  // While nothing ends: so many ms until silent peers get connections, -1 once they have.
  int watch_silent_peers();
  bool has_lost_peer() const override;

  // tcp_rails.cc
  // Whether both sides have it.
  bool is_between(int peer, int rail) const { return has_rail(rank(), rail) && has_rail(peer, rail); }
  int n_rails_to(int peer) const { return peers_[static_cast<std::size_t>(peer)].n_rails; }
  int n_living_rails(int peer) const;
  // Who may ask, over the others, for what they did not hear.
  bool has_peers_with_lost_rails() const;
  // The rail that such a message takes; -1: none is left.
  int rail_for(int peer, std::size_t rail, std::size_t tag) const;
  // Told by the peer (who sends again what we have not read), or found here.
  void lose_rail(int peer, int rail, bool was_told);
  bool on_lost(Connection& connection, const Frame& frame);
  bool on_echo(Connection& connection);
  // Gives sends of lost rails to others, and peers that have none a connection, so that they hear of it.
  void move_all();
  void move(int peer);
  // Looks for rails that carry nothing, now and then; so many ms until the next time, -1: there is nothing to look at.
  int watch_rails();
  bool is_rail_lost(Connection& connection, Clock::time_point now);

  // tcp_messages.cc
  std::optional<std::span<std::byte>> on_frame(Connection& connection, const Frame& frame) override;
  bool on_body(Connection& connection, const Frame& frame) override;

  std::optional<std::span<std::byte>> on_message(Connection& connection, const Frame& frame);
  std::optional<std::span<std::byte>> on_data(Connection& connection, const Frame& frame);
  // It came before, over a rail that was lost meanwhile.
  std::optional<std::span<std::byte>> on_repeated(Connection& connection, const Frame& frame,
                                                  Inbox::Arrived* message);

  void end_receive(int peer, Inbox::Stream& stream, Inbox::Posted& posted);
  // A message that waited goes where its receive wants it.
  void finish_waiting(Inbox::Stream& stream, int peer, const Inbox::Arrived& message, Inbox::Posted& posted);
  void take_up(Connection& connection, std::size_t bytes);
  void count_arrival(Connection& connection, const Frame& frame);
  // Tells a connection's opener what has arrived and what has been taken up.
  void tell(Connection& connection);
  // Those whose openers wait to hear of something that has come.
  void tell_all();

  // tcp_sends.cc
  void on_written(std::uint32_t send) override;
  // Takes a number for it; it waits for issue().
  std::uint32_t add(Send send);
  // On its way, as a message or as the request for it.
  void issue(std::uint32_t number, Connection& connection);
  void put_body(std::uint32_t number, Connection& connection, FrameKind kind, bool wants_match);
  // Hands it back, and forgets it, once nothing is owed.
  void settle(std::uint32_t number);
  bool keep(Send& send);
  void forget_send(std::uint32_t number);
  bool on_matched(Connection& connection, const Frame& frame);
  bool on_had(Connection& connection, const Frame& frame);
  bool on_credit(Connection& connection, const Frame& frame);
  // The send that a frame answers; null if the frame is no answer to what was sent.
  Send* find_send(const Connection& connection, const Frame& frame);

  Job job_;
  TcpOptions options_;
  std::vector<Socket> listening_;
  Socket events_;
  std::vector<std::unique_ptr<Connection>> connections_;  // holes are free numbers
  std::vector<std::uint32_t> free_connections_;
  std::vector<std::uint32_t> dropped_;    // in this round: no new one has their numbers before it ends
  std::vector<std::uint32_t> strangers_;  // accepted, and no rank yet, the oldest first
  std::vector<std::uint32_t> resting_;    // opened ones that were turned away, and come again
  std::vector<std::uint32_t> to_flush_;
  std::vector<Peer> peers_;
  Inbox inbox_;
  std::vector<Send> sends_;
  std::vector<std::uint32_t> free_sends_;
  std::vector<int> gone_;  // peers that have no connection left, or broke one
  std::size_t kept_bytes_ = 0;
  Clock::time_point lost_at_{};    // the last of them
  std::vector<int> to_move_;       // peers
  Clock::time_point next_look_{};  // at rails
  std::vector<Clock::time_point>
      carried_at_;  // by rail: when a look last found that a peer of several rails got through
  std::vector<std::byte> discarded_;  // where repeated messages go
  std::size_t n_repeated_ = 0;
  bool is_in_farewell_ = false;  // which waits for less than a crowd may take
  bool is_leaving_ = false;
};

}  // namespace eco::transport::tcp
