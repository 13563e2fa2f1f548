// How the transport of ucx.h works. Only this room sees it.
//
//   rail.cc            one context and worker: a device, and this rank's address there
//   ucx_transport.cc   its life: made, waiting, progress, endpoints, leaving
//   ucx_messages.cc    what travels: sends and receives as they are posted, and what comes of them
//   ucx_watch.cc       who is silent, and rails that carry nothing
//   meet.cc            how ranks find each other
//
// A message is one of UCX's active messages, whose header is a frame as plain TCP sends it (tcp/frame.h), and which rank of
// this job says it. `eager` brings its bytes. `request` is sent by rendezvous: its bytes stay at the sender until they are
// fetched. UCX calls back while its worker progresses; what then has to be asked of UCX waits until that is over.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eco/transport/tcp/frame.h"
#include "eco/transport/tcp/inbox.h"
#include "eco/transport/tcp/keyed_hash.h"
#include "eco/transport/tcp/socket.h"
#include "eco/transport/ucx/library.h"
#include "eco/transport/ucx/ucx.h"

namespace eco::transport::ucx {

using tcp::Frame;
using tcp::FrameKind;
using tcp::Inbox;

using Address = std::vector<std::byte>;

// What is before each message: a word that only ranks of this job know, who says it, and the frame.
inline constexpr std::size_t kHeadBytes = 16 + tcp::kFrameBytes;
using Head = std::array<std::byte, kHeadBytes>;

// Shows that `from` speaks to `to`.
std::uint64_t token(const tcp::Key& key, int from, int to);
Head encode(std::uint64_t token, int from, const Frame& frame);

// One device of this host: the context of its own that keeps messages on it, and that context's worker.
class Rail {
 public:
  // Throws TransportError naming the device and UCX's reason.
  Rail(const Library& ucp, std::string device, int n_ranks);
  ~Rail();
  Rail(const Rail&) = delete;
  Rail& operator=(const Rail&) = delete;

  ucp_worker_h worker() const { return worker_; }
  Address address() const;
  // Readable when the worker has something to do, once it was armed.
  int descriptor() const { return descriptor_; }

 private:
  const Library& ucp_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int descriptor_ = -1;
};

// What a rank knows of its job: who it is, where the others are on each rail, and the key that they share.
struct Job {
  int rank = 0;
  tcp::Key key{};
  std::vector<std::vector<Address>> addresses;  // of each rank, by rail
  int n_ranks() const { return static_cast<int>(addresses.size()); }
};

// The functions that UCX calls.
struct Callbacks {
  static ucs_status_t on_message(void* argument, const void* header, std::size_t header_bytes, void* data,
                                 std::size_t n, const ucp_am_recv_param_t* param);
  static void on_sent(void* request, ucs_status_t status, void* argument);
  static void on_fetched(void* request, ucs_status_t status, std::size_t n, void* argument);
  static void on_error(void* argument, ucp_ep_h ep, ucs_status_t status);
};

class UcxTransport final : public RailTransport {
 public:
  UcxTransport(const Library& ucp, Job job, std::vector<std::unique_ptr<Rail>> rails, UcxOptions options);
  ~UcxTransport() override;
  UcxTransport(const UcxTransport&) = delete;
  UcxTransport& operator=(const UcxTransport&) = delete;

  // Local: whether UCX sees a way to the next rank on every rail. Throws TransportError.
  void reach_next();

  int rank() const override { return job_.rank; }
  int n_ranks() const override { return job_.n_ranks(); }
  std::string kind() const override { return "UCX"; }
  [[nodiscard]] Status post_send(int peer, int tag, std::span<const std::byte> bytes, SendMode mode,
                                 Ticket ticket) override;
  [[nodiscard]] Status post_recv(int peer, int tag, std::span<std::byte> bytes, Ticket ticket) override;
  [[nodiscard]] Status wait_some(std::span<Ticket> done, std::size_t& n_done) override;
  [[nodiscard]] Status test_some(std::span<Ticket> done, std::size_t& n_done) override;
  int n_rails() const override { return static_cast<int>(rails_.size()); }
  void abandon() override;

  void look() override;
  bool is_pending() override;
  int descriptor() override;

 private:
  struct Send {
    UcxTransport* owner = nullptr;
    std::uint32_t number = 0;
    bool is_used = false;
    bool has_ticket = false;  // else it is an answer, or another word between transports
    Ticket ticket = 0;
    std::uint32_t endpoint = 0;
    std::uint32_t tag = 0;
    std::uint64_t sequence = 0;
    bool owes_completion = false;  // UCX still needs its memory
    bool owes_match = false;
    std::size_t bytes = 0;
    Head head{};
  };
  // One rendezvous that this rank fetches.
  struct Fetch {
    UcxTransport* owner = nullptr;
    std::uint32_t number = 0;
    std::uint32_t endpoint = 0;
    std::uint32_t tag = 0;
    std::uint64_t sequence = 0;
    std::size_t bytes = 0;
    void* descriptor = nullptr;
  };
  // With a peer over one rail.
  struct Endpoint {
    UcxTransport* owner = nullptr;
    std::uint32_t number = 0;
    int peer = 0;
    int rail = 0;
    ucp_ep_h ep = nullptr;
    bool was_heard = false;  // something came from there
    bool is_broken = false;
    // What this rank sends.
    std::size_t outstanding_bytes = 0;  // not taken up yet
    std::size_t under_way_bytes = 0;    // either way, that UCX has
    std::uint64_t n_sent = 0;           // messages
    std::uint64_t n_told = 0;           // of them, those that are known to have come
    // What this rank gets.
    std::uint64_t n_arrived = 0;
    std::size_t unreported_bytes = 0;
    std::size_t taken_up_bytes = 0;
    std::size_t untold_bytes = 0;
    // The watch.
    bool is_asked = false;  // a probe is out
    Clock::time_point asked_at{};
    Clock::time_point heard_at{};
    std::optional<Clock::time_point> awake_at;  // the peer answered another rail's later probe
    Clock::time_point awake_until{};            // the last such probe
  };
  struct Peer {
    std::uint64_t token_out = 0;  // what shows that this rank speaks to it
    std::uint64_t token_in = 0;
    bool is_lost = false;
    std::uint64_t n_sent = 0;  // messages, over all rails
    std::uint64_t n_arrived = 0;
    std::optional<std::uint64_t> n_to_come;  // it has said bye
    bool was_answered = false;               // its bye
    bool has_all = false;                    // it has answered this rank's
    std::size_t owed_receives = 0;
    std::size_t owed_sends = 0;
    bool has_left() const { return n_to_come && n_arrived >= *n_to_come; }
  };
  struct Word {
    std::uint32_t endpoint = 0;
    Frame frame;
  };

  Endpoint& endpoint(int peer, int rail) {
    return endpoints_[static_cast<std::size_t>(peer) * rails_.size() + static_cast<std::size_t>(rail)];
  }
  Peer& peer_of(const Endpoint& endpoint) { return peers_[static_cast<std::size_t>(endpoint.peer)]; }

  // ucx_transport.cc
  void progress();
  // What callbacks have left to be done.
  void follow_up();
  // Opens it if need be; false if that can't be.
  bool open(Endpoint& endpoint);
  void fail(Endpoint& endpoint);
  void close(Endpoint& endpoint);
  // Whether UCX has nothing of this rank's left to send; starts looking where something was sent since.
  bool is_flushed();
  bool has_lost_peer() const override;
  void sleep();
  void say_bye();
  void end();

  // ucx_messages.cc
  void send(Send& send, const Frame& frame, std::span<const std::byte> bytes, bool is_rendezvous);
  void say(Endpoint& endpoint, const Frame& frame);
  Send& add_send();
  void on_sent(Send& send, ucs_status_t status);
  void settle(Send& send);
  // Of n bytes, which are at `data` or, of a rendezvous, can be fetched by its descriptor.
  ucs_status_t on_message(int rail, std::span<const std::byte> header, const std::byte* data, std::size_t n,
                          void* descriptor);
  void on_eager(Endpoint& from, const Frame& frame, std::span<const std::byte> data);
  // Whether the descriptor is needed from now on.
  bool on_request(Endpoint& from, const Frame& frame, void* descriptor);
  // `posted`: its receive, null where there is none.
  static bool is_repeated(Inbox::Stream& stream, const Frame& frame, const Inbox::Posted* posted);
  void on_answer(Endpoint& from, const Frame& frame);
  void count_arrival(Endpoint& from, const Frame& frame);
  void answer_bye(Peer& peer, Endpoint& from);
  void take_up(Endpoint& from, std::size_t bytes);
  void tell(Endpoint& endpoint);
  void tell_all();
  void begin_fetch(Fetch& fetch);
  Fetch& add_fetch(const Endpoint& from, const Frame& frame, void* descriptor);
  void on_fetched(Fetch& fetch, ucs_status_t status);
  void end_receive(int peer, Inbox::Stream& stream, Inbox::Posted& posted);

  // ucx_watch.cc
  void watch();
  void watch_silent_peers(Clock::time_point now);
  void watch_rails(Clock::time_point now);
  bool is_rail_lost(const Endpoint& endpoint, Clock::time_point now) const;
  void on_echo(Endpoint& from);

  friend struct Callbacks;

  const Library& ucp_;
  Job job_;
  UcxOptions options_;
  std::vector<std::unique_ptr<Rail>> rails_;
  tcp::Socket events_;  // all rails' descriptors
  struct RailArgument {
    UcxTransport* owner;
    int rail;
  };
  std::vector<RailArgument> arguments_;
  std::vector<Endpoint> endpoints_;  // by peer and rail; never moves
  std::vector<Peer> peers_;
  Inbox inbox_;
  std::deque<Send> sends_;  // never move
  std::vector<std::uint32_t> free_sends_;
  std::deque<Fetch> fetches_;
  std::vector<std::uint32_t> free_fetches_;
  std::vector<std::uint32_t> to_fetch_;
  std::vector<Word> to_say_;
  std::vector<std::uint32_t> failed_endpoints_;
  std::vector<std::uint32_t> untold_;  // endpoints; some have been told meanwhile
  struct Flush {
    bool is_wanted = false;  // something was sent or fetched since the last one began
    void* request = nullptr;
  };
  std::vector<Flush> flushes_;  // by rail
  std::vector<void*> closing_;
  std::size_t n_in_use_ = 0;  // sends that have a ticket
  std::vector<int> gone_;     // peers that are lost or have left
  Clock::time_point next_watch_{};
};

}  // namespace eco::transport::ucx
