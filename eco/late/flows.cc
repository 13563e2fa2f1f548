#include "eco/late/flows.h"

#include <algorithm>

#include "eco/base/assert.h"

namespace eco::late {
namespace {

constexpr sched::Buffer kAny = sched::Buffer::output;  // regions of one buffer only

}  // namespace

Inflow::Inflow(int peer, int channel, std::span<std::byte> memory, const algo::Segments& pieces, Note note,
               std::size_t first, std::size_t most_under_way)
    : peer_(peer),
      channel_(channel),
      memory_(memory),
      pieces_(pieces),
      note_(note),
      most_under_way_(most_under_way),
      n_places_(memory.size() >= pieces.begin_of(pieces.count()) ? pieces.count()
                                                                 : memory.size() / pieces.bytes()),
      came_(pieces.count()),
      n_here_(first),
      n_posted_(first) {
  ECO_ASSERT(light, n_places_ > 0, "there is room for a piece");
  std::fill_n(came_.begin(), first, true);
}

std::span<std::byte> Inflow::place(std::size_t piece) const {
  const std::size_t bytes = pieces_.region(kAny, piece).bytes;
  return memory_.subspan(piece % n_places_ * pieces_.bytes(), bytes);
}

void Inflow::post(OrderBook& book) {
  const std::size_t end = std::min(came_.size(), n_taken_ + n_places_);
  for (; n_posted_ < end && n_under_way_ < most_under_way_; ++n_posted_, ++n_under_way_) {
    Note note = note_;
    note.index = n_posted_;
    book.recv(peer_, channel_, place(n_posted_), note);
  }
}

void Inflow::on_done(OrderBook& book, std::size_t piece) {
  ECO_ASSERT(light, !came_[piece], "a piece comes once");
  came_[piece] = true;
  --n_under_way_;
  while (n_here_ < came_.size() && came_[n_here_]) ++n_here_;
  post(book);
}

void Inflow::take(OrderBook& book) {
  ECO_ASSERT(light, has_next(), "only what is here is taken");
  ++n_taken_;
  post(book);
}

Outflow::Outflow(int peer, int channel, std::span<const std::byte> bytes, const algo::Segments& pieces,
                 int window, Note note, std::size_t first)
    : peer_(peer),
      channel_(channel),
      bytes_(bytes),
      pieces_(pieces),
      synchronous_(window > 0),
      most_under_way_(window > 0 ? static_cast<std::size_t>(window) : kMostUnderWay),
      note_(note),
      next_(first) {}

void Outflow::offer(OrderBook& book, std::size_t bytes) {
  n_offered_ = std::max(n_offered_, pieces_.ended_by(bytes));
  post(book);
}

void Outflow::post(OrderBook& book) {
  for (; next_ < n_offered_ && n_under_way_ < most_under_way_; ++next_, ++n_under_way_) {
    const sched::Region region = pieces_.region(kAny, next_);
    Note note = note_;
    note.index = next_;
    book.send(peer_, channel_, bytes_.subspan(region.offset, region.bytes), note, synchronous_);
  }
}

void Outflow::on_done(OrderBook& book) {
  --n_under_way_;
  post(book);
}

bool all_sent(const std::vector<Outflow>& peers) {
  return std::all_of(peers.begin(), peers.end(), [](const Outflow& peer) { return peer.all_sent(); });
}

}  // namespace eco::late
