// A message for all, a broadcast's or an allreduce's result, in segments through one rank: from one feeder, who may be
// known late, to children, who may come at any time.
//
//   Flow flow(message, pieces, is_root);
//   flow.receive(book, feeder, 0);                 // all segments from the 0th on
//   flow.feed(book, child, 1);                     // what is here at once, the others as they come
//   if (flow.on_done(book, book.close(ticket))) ...  // it was one of the flow's own
//
// Local; the message must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "eco/late/flows.h"

namespace eco::late {

class Flow {
 public:
  // Notes of other kinds begin here.
  static constexpr std::uint32_t kFirstFreeNote = 2;
  static constexpr int kChannel = 0;

  Flow(std::span<std::byte> message, Pieces pieces, bool has_all);

  bool has(std::size_t segment) const { return segment < n_here(); }
  bool has_all() const { return n_here() == segments_.count(); }
  std::size_t n_here() const { return in_ ? in_->n_here() : n_had_; }
  std::span<std::byte> segment(std::size_t index) const;

  void receive(OrderBook& book, int feeder, std::size_t first);
  // Eager: whether the child has come or not, and so no more than may lie somewhere until it comes.
  enum class Sends : std::uint8_t { as_pieces_say, eager };
  void feed(OrderBook& book, int child, std::size_t first, Sends sends = Sends::as_pieces_say);
  // So many segments from the first are here by now, otherwise than by receive().
  void have(OrderBook& book, std::size_t n_segments);
  bool on_done(OrderBook& book, const Note& note);
  // No child waits for anything that it could be sent, or will be.
  bool all_sent() const;

 private:
  enum What : std::uint32_t { kIn, kOut };

  void offer(OrderBook& book);

  std::span<std::byte> message_;
  algo::Segments segments_;
  int window_;
  std::size_t n_had_;
  std::optional<Inflow> in_;
  std::vector<Outflow> children_;
};

}  // namespace eco::late
