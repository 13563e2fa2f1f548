#include "eco/late/arrival_broadcast.h"

#include <algorithm>

#include "eco/base/assert.h"
#include "eco/late/channels.h"

namespace eco::late {

ArrivalBroadcast::ArrivalBroadcast(const algo::Tree& shape, int root, int rank, std::span<std::byte> message,
                                   ArrivalParams params)
    : shape_(shape), root_(root), rank_(rank), params_(params), flow_(message, params.pieces, rank == root) {
  ECO_ASSERT(light, shape.root == 0, "place 0 is the root's");
}

void ArrivalBroadcast::enter() {
  if (!is_root()) {
    book_.send(root_, kReadyChannel, {}, {kReadyOut});
    head_.resize(notice_bytes(0) + flow_.segment(0).size());
    book_.recv(root_, kNoticeChannel, head_, {kHead});
    return;
  }
  has_place_ = true;
  order_ = order_of_filling(shape_, params_.filling);
  rank_at_.assign(shape_.parent.size(), -1);
  rank_at_[0] = root_;
  for (int rank = 0; rank < static_cast<int>(shape_.parent.size()); ++rank) {
    if (rank != root_) book_.recv(rank, kReadyChannel, {}, {kReady, rank});
  }
}

void ArrivalBroadcast::give_place(int rank) {
  const int place = order_[n_filled_++];
  rank_at_[static_cast<std::size_t>(place)] = rank;
  const int feeder = rank_at_[static_cast<std::size_t>(shape_.parent[static_cast<std::size_t>(place)])];
  const bool with_data = feeder == root_ && params_.telling == Telling::with_data;
  Notice notice{.kind = Notice::Kind::head, .feeder = feeder, .place = place};
  tell(rank, kNoticeChannel, notice, with_data ? flow_.segment(0) : std::span<const std::byte>());
  if (feeder == root_) {
    flow_.feed(book_, rank, with_data ? 1 : 0);
  } else {
    tell(feeder, kChildChannel, {.kind = Notice::Kind::child, .ranks = {rank}});
  }
}

void ArrivalBroadcast::tell(int rank, int channel, const Notice& notice, std::span<const std::byte> data) {
  told_.push_back(write(notice, data));
  book_.send(rank, channel, told_.back(), {kNoticeOut});
}

void ArrivalBroadcast::take_place() {
  std::span<const std::byte> data;
  const Notice notice = read(head_, data);
  has_place_ = true;
  if (!data.empty()) {
    std::copy(data.begin(), data.end(), flow_.segment(0).begin());
    flow_.have(book_, 1);
  }
  flow_.receive(book_, notice.feeder, data.empty() ? 0 : 1);
  children_.resize(shape_.children[static_cast<std::size_t>(notice.place)].size());
  for (std::size_t i = 0; i < children_.size(); ++i) {
    children_[i].resize(notice_bytes(1));
    book_.recv(root_, kChildChannel, children_[i], {kChild, root_, i});
  }
}

void ArrivalBroadcast::on_done(Ticket ticket) {
  const Note note = book_.close(ticket);
  if (flow_.on_done(book_, note)) return;
  switch (note.what) {
    case kReady:
      give_place(note.who);
      break;
    case kHead:
      take_place();
      break;
    case kChild: {
      std::span<const std::byte> none;
      ++n_children_told_;
      flow_.feed(book_, read(children_[note.index], none).ranks.front(), 0);
      break;
    }
    default:
      break;
  }
}

bool ArrivalBroadcast::is_done() const {
  return has_place_ && book_.n_messages() == 0 && flow_.has_all() && flow_.all_sent() &&
         n_filled_ == order_.size() && n_children_told_ == children_.size();
}

}  // namespace eco::late
