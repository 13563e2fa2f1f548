// One peer's bytes in pieces, in their order: what comes from it, and what goes to it.
//
//   Inflow in(peer, channel, memory, pieces, {kIn, i});     in.post(book);
//   in.on_done(book, note.index);                           in.n_here();      // pieces, from the first without a gap
//   Outflow out(peer, channel, bytes, pieces, how, {kOut}); out.offer(book, in.bytes_here());
//   out.on_done(book);                                      out.all_sent();
//
// Notes of their orders are what they were given, with the piece as index. Local; the memory must outlive them.
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
  int window = 0;  // synchronous sends under way to one peer; 0: eager sends, kMostUnderWay of them
};

// Pieces posted ahead of what is complete, for each peer: as many messages as keep a library busy, few enough that
// looking through them costs nothing.
inline constexpr std::size_t kMostUnderWay = 64;

class Inflow {
 public:
  // `memory` has room for all pieces, or for so many as may lie there until they are taken.
  Inflow(int peer, int channel, std::span<std::byte> memory, const algo::Segments& pieces, Note note,
         std::size_t first = 0, std::size_t most_under_way = kMostUnderWay);

  void post(OrderBook& book);
  void on_done(OrderBook& book, std::size_t piece);

  // From the first without a gap, those before `first` among them.
  std::size_t n_here() const { return n_here_; }
  std::size_t bytes_here() const { return pieces_.begin_of(n_here_); }
  bool has_all() const { return n_here_ == came_.size(); }

  // Where memory is for some pieces only: the next one that is here, and that it is not needed any more.
  bool has_next() const { return n_taken_ < n_here_; }
  std::size_t n_taken() const { return n_taken_; }
  std::span<const std::byte> next() const { return place(n_taken_); }
  void take(OrderBook& book);

 private:
  std::span<std::byte> place(std::size_t piece) const;

  int peer_;
  int channel_;
  std::span<std::byte> memory_;
  algo::Segments pieces_;
  Note note_;
  std::size_t most_under_way_;
  std::size_t n_places_;
  std::vector<bool> came_;
  std::size_t n_here_;
  std::size_t n_posted_;
  std::size_t n_under_way_ = 0;
  std::size_t n_taken_ = 0;
};

class Outflow {
 public:
  Outflow(int peer, int channel, std::span<const std::byte> bytes, const algo::Segments& pieces, int window,
          Note note, std::size_t first = 0);

  // So many bytes from the first may be sent by now.
  void offer(OrderBook& book, std::size_t bytes);
  void on_done(OrderBook& book);
  bool all_sent() const { return next_ == pieces_.count() && n_under_way_ == 0; }

 private:
  void post(OrderBook& book);

  int peer_;
  int channel_;
  std::span<const std::byte> bytes_;
  algo::Segments pieces_;
  bool synchronous_;
  std::size_t most_under_way_;
  Note note_;
  std::size_t next_;
  std::size_t n_offered_ = 0;
  std::size_t n_under_way_ = 0;
};

bool all_sent(const std::vector<Outflow>& peers);

}  // namespace eco::late
