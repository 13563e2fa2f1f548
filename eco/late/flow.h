// One rank's message in segments: from one feeder, who may be known late, to children, who may come at any time.
//
//   Flow flow(message, pieces, is_root);
//   flow.receive(book, feeder, 0);                 // all segments from the 0th on
//   flow.feed(book, child, 1);                     // what is here at once, the others as they come
//   if (flow.on_done(book, book.close(ticket))) ...  // it was one of the flow's own
//
// Local; the message must outlive it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "eco/algo/patterns/segments.h"
#include "eco/exec/source.h"

namespace eco::late {

using exec::Note;
using exec::Order;
using exec::OrderBook;
using exec::ScheduleSource;
using transport::kAnyPeer;
using transport::Ticket;

// How a message travels: what a recipe says by `segment` and `window`.
struct Pieces {
  std::size_t segment_bytes = 0;  // 0: the whole message at once
  int window = 0;  // synchronous sends under way to one child; 0: eager sends, kMostUnderWay of them
};

class Flow {
 public:
  // Notes of other kinds begin here.
  static constexpr std::uint32_t kFirstFreeNote = 2;
  static constexpr int kChannel = 0;
  // Segments posted ahead of what is complete, for each peer: as many messages as keep a library busy, few enough that
  // looking through them costs nothing.
  static constexpr std::size_t kMostUnderWay = 64;

  Flow(std::span<std::byte> message, Pieces pieces, bool has_all);

  bool has(std::size_t segment) const { return here_[segment]; }
  bool has_all() const { return n_here_ == here_.size(); }
  std::span<std::byte> segment(std::size_t index) const;

  void receive(OrderBook& book, int feeder, std::size_t first);
  void feed(OrderBook& book, int child, std::size_t first);
  // A segment that came otherwise than by receive().
  void came(OrderBook& book, std::size_t segment);
  bool on_done(OrderBook& book, const Note& note);
  // No child waits for anything that it could be sent, or will be.
  bool all_sent() const;

 private:
  enum What : std::uint32_t { kIn, kOut };

  struct Child {
    int rank;
    std::size_t next;
    std::size_t n_under_way = 0;
  };

  void post_receives(OrderBook& book);
  void post_sends(OrderBook& book, Child& child, std::size_t index);

  std::span<std::byte> message_;
  algo::Segments segments_;
  bool synchronous_;
  std::size_t most_sends_;
  std::vector<bool> here_;
  std::size_t n_here_ = 0;
  int feeder_ = -1;
  std::size_t next_receive_ = 0;
  std::size_t n_receives_ = 0;
  std::vector<Child> children_;
};

}  // namespace eco::late
