#include "eco/late/flow.h"

#include <algorithm>

#include "eco/base/assert.h"

namespace eco::late {

Flow::Flow(std::span<std::byte> message, Pieces pieces, bool has_all)
    : message_(message),
      segments_(message.size(), 1, pieces.segment_bytes),
      synchronous_(pieces.window > 0),
      most_sends_(pieces.window > 0 ? static_cast<std::size_t>(pieces.window) : kMostUnderWay),
      here_(segments_.count(), has_all),
      n_here_(has_all ? here_.size() : 0) {}

std::span<std::byte> Flow::segment(std::size_t index) const {
  const sched::Region region = segments_.region(sched::Buffer::output, index);
  return message_.subspan(region.offset, region.bytes);
}

void Flow::receive(OrderBook& book, int feeder, std::size_t first) {
  ECO_ASSERT(light, feeder_ < 0, "a rank is fed by one other");
  feeder_ = feeder;
  next_receive_ = first;
  post_receives(book);
}

void Flow::post_receives(OrderBook& book) {
  for (; next_receive_ < here_.size() && n_receives_ < kMostUnderWay; ++next_receive_, ++n_receives_) {
    book.recv(feeder_, kChannel, segment(next_receive_), {kIn, feeder_, next_receive_});
  }
}

void Flow::feed(OrderBook& book, int child, std::size_t first) {
  children_.push_back({child, first});
  post_sends(book, children_.back(), children_.size() - 1);
}

void Flow::post_sends(OrderBook& book, Child& child, std::size_t index) {
  for (; child.next < here_.size() && here_[child.next] && child.n_under_way < most_sends_; ++child.next) {
    book.send(child.rank, kChannel, segment(child.next), {kOut, static_cast<int>(index), child.next},
              synchronous_);
    ++child.n_under_way;
  }
}

void Flow::came(OrderBook& book, std::size_t segment) {
  ECO_ASSERT(light, !here_[segment], "a segment comes once");
  here_[segment] = true;
  ++n_here_;
  for (std::size_t i = 0; i < children_.size(); ++i) post_sends(book, children_[i], i);
}

bool Flow::on_done(OrderBook& book, const Note& note) {
  if (note.what == kIn) {
    --n_receives_;
    came(book, note.index);
    post_receives(book);
    return true;
  }
  if (note.what != kOut) return false;
  Child& child = children_[static_cast<std::size_t>(note.who)];
  --child.n_under_way;
  post_sends(book, child, static_cast<std::size_t>(note.who));
  return true;
}

bool Flow::all_sent() const {
  return std::all_of(children_.begin(), children_.end(), [&](const Child& child) {
    return child.next == here_.size() && child.n_under_way == 0;
  });
}

}  // namespace eco::late
