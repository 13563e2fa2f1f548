#include "eco/late/flow.h"

#include <algorithm>

#include "eco/base/assert.h"

namespace eco::late {

Flow::Flow(std::span<std::byte> message, Pieces pieces, bool has_all)
    : message_(message),
      segments_(message.size(), 1, pieces.segment_bytes),
      window_(pieces.window),
      n_had_(has_all ? segments_.count() : 0) {}

std::span<std::byte> Flow::segment(std::size_t index) const {
  const sched::Region region = segments_.region(sched::Buffer::output, index);
  return message_.subspan(region.offset, region.bytes);
}

void Flow::receive(OrderBook& book, int feeder, std::size_t first) {
  ECO_ASSERT(light, !in_, "a rank is fed by one other");
  in_.emplace(feeder, kChannel, message_, segments_, Note{kIn, feeder}, first);
  in_->post(book);
}

void Flow::feed(OrderBook& book, int child, std::size_t first, Sends sends) {
  const Note note{kOut, static_cast<int>(children_.size())};
  const int window = sends == Sends::eager ? 0 : window_;
  children_.emplace_back(child, kChannel, message_, segments_, window, note, first);
  children_.back().offer(book, segments_.begin_of(n_here()));
}

void Flow::have(OrderBook& book, std::size_t n_segments) {
  n_had_ = std::max(n_had_, n_segments);
  offer(book);
}

void Flow::offer(OrderBook& book) {
  for (Outflow& child : children_) child.offer(book, segments_.begin_of(n_here()));
}

bool Flow::on_done(OrderBook& book, const Note& note) {
  switch (note.what) {
    case kIn:
      in_->on_done(book, note.index);
      offer(book);
      return true;
    case kOut:
      children_[static_cast<std::size_t>(note.who)].on_done(book);
      return true;
    default:
      return false;
  }
}

bool Flow::all_sent() const { return late::all_sent(children_); }

}  // namespace eco::late
