// One socket between two ranks on one rail: its greeting, the frames that wait to be sent, and the one that arrives.
//
//   Connection connection(Connection::Opened{...}, socket, key);     // or Connection::Accepted{...}
//   connection.put(frame, body, send);             // any time; it leaves when the greeting is over
//   connection.flush(owner);                       // whenever the socket takes bytes
//   connection.read(owner);                        // whenever it has some
//
// Knows nothing of matching: what frames mean is its owner's. One thread at a time; nothing blocks.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "eco/transport/queue.h"
#include "eco/transport/tcp/frame.h"
#include "eco/transport/tcp/greeting.h"
#include "eco/transport/tcp/socket.h"

namespace eco::transport::tcp {

inline constexpr std::uint32_t kNoSend = 0xffffffff;

class Connection {
 public:
  // What a connection tells whoever has it.
  class Owner {
   public:
    // Somebody asks to be let in; on true he is asked for a proof.
    virtual bool on_hello(const Hello& hello) = 0;
    // He has given it. False: he comes too late, over a rail that is used no more.
    virtual bool on_welcome(Connection& connection) = 0;
    // A frame has arrived: where its body goes, as long as the frame says (empty where it has none). Nothing: refused.
    virtual std::optional<std::span<std::byte>> on_frame(Connection& connection, const Frame& frame) = 0;
    // Its body is there.
    virtual bool on_body(Connection& connection, const Frame& frame) = 0;
    // The last byte of what was put with this send's number has left.
    virtual void on_written(std::uint32_t send) = 0;

   protected:
    ~Owner() = default;
  };

  enum class End : std::uint8_t {
    none,
    orderly,  // the other side has said bye
    broken,   // it has gone without
    refused,  // it sent what it must not
  };

  // Both local. `number` is the owner's name for it.
  static Connection opened(Socket socket, std::uint32_t number, const Key& key, const Hello& hello);
  static Connection accepted(Socket socket, std::uint32_t number, const Key& key);

  std::uint32_t number() const { return number_; }
  int descriptor() const { return socket_.get(); }
  const Socket& socket() const { return socket_; }
  bool is_opener() const { return is_opener_; }
  // Whether both sides know each other.
  bool is_open() const { return phase_ == Phase::open; }
  // Accepted: whether it has said who it is, be it true or not.
  bool has_introduced_itself() const { return phase_ == Phase::wait_proof; }
  // Opener: the other side was there, and has not let it in yet.
  bool is_at_the_door() const { return phase_ == Phase::wait_answer || phase_ == Phase::wait_welcome; }
  bool is_resting() const { return phase_ == Phase::resting; }
  // The other rank: of an accepted connection, once it is open.
  int peer() const { return static_cast<int>(is_opener_ ? hello_.to : hello_.from); }
  int rail() const { return static_cast<int>(hello_.rail); }

  // Opener that is at the door: closes its socket, until it begins anew with another. What was put waits.
  void rest();
  void knock(Socket socket, const Hello& hello);

  void put(const Frame& frame, std::span<const std::byte> body = {}, std::uint32_t send = kNoSend);
  // Whether something waits for the socket to take bytes.
  bool wants_to_write() const;
  // Whether frames wait, be it for the greeting.
  bool has_frames() const { return !outgoing_.empty(); }
  // What the other side's kernel has acknowledged, and what has come from it: grows as long as the rail carries.
  std::uint64_t carried_bytes() const;
  // Whether it has acknowledged all that was written.
  bool is_acknowledged();
  End flush(Owner& owner);
  End read(Owner& owner);

  // What the owner keeps about it, as its opener:
  std::size_t outstanding_bytes = 0;  // eager messages that the other side has not taken up yet
  struct Awaited {
    std::uint64_t place = 0;  // of its body among those of this connection, from 1
    std::uint32_t send = kNoSend;
  };
  Queue<Awaited> awaited;      // sends whose arrival has to be heard of
  std::uint64_t n_bodies = 0;  // that were put
  // As the other side:
  std::size_t taken_up_bytes = 0;    // taken up, and not reported yet
  std::size_t unreported_bytes = 0;  // eager messages that have come, less what was reported
  std::uint64_t n_arrived = 0;       // bodies
  std::size_t untold_bytes = 0;      // that came since the opener last heard of any, where it waits for that
  bool is_discarding = false;        // the body that is arriving came before
  // As either:
  bool watches_output = false;  // the owner has asked to hear when the socket takes bytes
  using Time = std::chrono::steady_clock::time_point;
  std::uint64_t carried_when_looked = 0;
  Time quiet_since{};  // nothing was carried since, though something is under way
  Time asked_at{};     // opener: the last probe
  Time answer_to{};    // when the probe was sent that was answered last
  Time answered_at{};
  bool is_asked = false;  // that is not answered yet
  int n_turned_away = 0;  // opener, before it was let in
  Time knocks_at{};       // while it rests

 private:
  enum class Phase : std::uint8_t {
    connecting,
    wait_hello,
    wait_answer,
    wait_proof,
    wait_welcome,
    open,
    resting
  };

  struct Outgoing {
    FrameHead head{};
    std::size_t sent = 0;  // of head and body
    std::span<const std::byte> body;
    std::uint32_t send = kNoSend;
  };

  Connection(Socket socket, std::uint32_t number, const Key& key, Phase phase)
      : socket_(std::move(socket)), number_(number), key_(key), phase_(phase) {}

  void say(std::span<const std::byte> words);
  // Hands on what has been read; false if it must not be.
  bool digest(Owner& owner);
  bool digest_head(Owner& owner, std::span<const std::byte> head);
  bool greet(Owner& owner, std::span<const std::byte> words);
  // Of what is to come next, outside of bodies.
  std::size_t head_bytes() const;
  bool send_words(bool& blocked);

  Socket socket_;
  std::uint32_t number_;
  Key key_;
  Phase phase_;
  bool is_opener_ = false;
  std::uint64_t n_read_ = 0;  // bytes
  std::uint64_t n_written_ = 0;
  std::uint64_t n_acknowledged_ = 0;  // at least
  bool has_said_bye_ = false;         // the other side
  bool cannot_write_ = false;
  Hello hello_{};
  HelloBytes hello_bytes_{};
  AnswerBytes answer_{};

  std::vector<std::byte> words_;  // of the greeting, before all frames
  Queue<Outgoing> outgoing_;

  std::vector<std::byte> stage_;  // read, not digested: from stage_begin_ to stage_end_
  std::size_t stage_begin_ = 0;
  std::size_t stage_end_ = 0;
  bool in_body_ = false;
  Frame frame_{};
  std::span<std::byte> body_;  // what is missing of it
};

}  // namespace eco::transport::tcp
