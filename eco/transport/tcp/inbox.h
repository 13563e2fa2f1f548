// Which message goes into which receive: those of one peer and tag pair off by their sequence numbers, whichever rail a
// message came over and in whatever order.
//
//   Inbox::Stream& stream = inbox.stream(peer, tag);
//   stream.posted                      receives, of sequence stream.first, first + 1, ...
//   stream.arrived                     messages that came before their receive
//
// Plain bookkeeping: who posts, who reads and what is answered is the transport's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eco/base/numbering.h"
#include "eco/transport/queue.h"
#include "eco/transport/tcp/frame.h"
#include "eco/transport/transport.h"

namespace eco::transport::tcp {

// The number of none.
inline constexpr std::uint32_t kNoConnection = 0xffffffff;

class Inbox {
 public:
  struct Posted {
    enum class State : std::uint8_t { waiting, filling, done };
    std::span<std::byte> memory;
    Ticket ticket = 0;
    State state = State::waiting;
    std::uint32_t connection = kNoConnection;  // filling: that brings it
    std::uint64_t granted_bytes = 0;           // filling, after a request: how long its data will be
    bool is_granted = false;
  };

  struct Arrived {
    Frame frame;                               // eager or request
    std::uint32_t connection = kNoConnection;  // that wants to hear of it; none: what brought it is gone
    bool is_complete = false;
    bool owes_credit = false;       // to that connection
    bool is_adopted = false;        // its receive was posted while it was arriving
    std::vector<std::byte> memory;  // of an eager one
    void* descriptor = nullptr;     // of a request whose data UCX fetches
  };

  struct Stream {
    std::uint64_t sent = 0;   // messages to that peer with that tag
    std::uint64_t first = 0;  // sequence of posted[0]
    Queue<Posted> posted;
    std::vector<Arrived> arrived;

    // Its sequence.
    std::uint64_t post(std::span<std::byte> memory, Ticket ticket) {
      posted.push({.memory = memory, .ticket = ticket});
      return first + posted.size() - 1;
    }
    // Null where none is posted yet. Done ones at the front have left.
    Posted* find_posted(std::uint64_t sequence) {
      if (sequence < first || sequence - first >= posted.size()) return nullptr;
      return &posted[static_cast<std::size_t>(sequence - first)];
    }
    Arrived* find_arrived(std::uint64_t sequence) {
      const auto found = std::find_if(arrived.begin(), arrived.end(),
                                      [&](const Arrived& each) { return each.frame.sequence == sequence; });
      return found == arrived.end() ? nullptr : &*found;
    }
    void forget(const Arrived* message) { arrived.erase(arrived.begin() + (message - arrived.data())); }
    void retire() {
      while (!posted.empty() && posted.front().state == Posted::State::done) {
        posted.pop();
        ++first;
      }
    }
  };

  Stream& stream(int peer, std::uint32_t tag) {
    const auto [number, is_new] = numbers_.of((static_cast<std::uint64_t>(peer) << 32) | tag);
    if (is_new) streams_.emplace_back();
    return streams_[number];
  }

  // A connection is gone. What it brought whole stays, the rest is as if it had never begun: it may come again over
  // another. The bytes of memory that this frees.
  std::size_t forget(std::uint32_t connection) {
    std::size_t freed = 0;
    for (Stream& stream : streams_) {
      for (std::size_t i = 0; i < stream.posted.size(); ++i) {
        Posted& posted = stream.posted[i];
        if (posted.state != Posted::State::filling || posted.connection != connection) continue;
        posted.state = Posted::State::waiting;
        posted.is_granted = false;
      }
      std::erase_if(stream.arrived, [&](Arrived& message) {
        if (message.connection != connection) return false;
        message.connection = kNoConnection;
        message.owes_credit = false;
        if (!message.is_complete) freed += message.memory.size();
        return !message.is_complete;
      });
    }
    return freed;
  }

  template <typename Function>
  void for_arrived(Function&& function) const {
    for (const Stream& stream : streams_) {
      for (const Arrived& message : stream.arrived) function(message);
    }
  }

  void clear() {
    numbers_.clear();
    streams_.clear();
  }

 private:
  base::Numbering numbers_;
  std::vector<Stream> streams_;
};

}  // namespace eco::transport::tcp
