#include "eco/late/mended_broadcast.h"

#include <algorithm>
#include <utility>

#include "eco/base/assert.h"
#include "eco/late/channels.h"

namespace eco::late {

MendedBroadcast::MendedBroadcast(const algo::Tree& tree, int rank, std::span<std::byte> message,
                                 MendedParams params)
    : tree_(tree), rank_(rank), params_(params), flow_(message, params.pieces, rank == tree.root) {}

bool MendedBroadcast::is_trusted(int rank) const {
  return std::find(params_.trusted.begin(), params_.trusted.end(), rank) != params_.trusted.end();
}

void MendedBroadcast::enter() {
  groups_.emplace_back();
  for (const int child : children_of(rank_)) {
    if (is_trusted(child)) {
      trusted_ones_.push_back(charges_.size());
      charges_.push_back({.rank = child, .group = 0, .is_trusted = true});
      continue;
    }
    book_.recv(child, kReadyChannel, {}, {kReady, child, charges_.size()});
    charges_.push_back({.rank = child, .group = 0});
  }
  if (is_root()) {
    has_head_ = true;
    lead();
    feed_late_ones();
    return;
  }
  if (is_trusted(rank_)) {
    has_head_ = true;
    flow_.receive(book_, tree_.parent[static_cast<std::size_t>(rank_)], 0);
    feed_late_ones();
    return;
  }
  book_.send(tree_.parent[static_cast<std::size_t>(rank_)], kReadyChannel, {}, {kSmallOut});
  notice_.resize(notice_bytes(tree_.parent.size()) + flow_.segment(0).size());
  book_.recv(kAnyPeer, kNoticeChannel, notice_, {kNotice});
}

// From now on this rank feeds its children.
void MendedBroadcast::lead() {
  leads_ = true;
  bool waits = false;
  for (Charge& charge : charges_) {
    if (charge.group != 0 || charge.is_trusted) continue;
    if (charge.is_here) {
      feed(charge, true);
    } else {
      waits = true;
    }
  }
  if (waits) book_.wake(params_.patience_s, {kPatience, -1, 0});
}

void MendedBroadcast::on_ready(std::size_t index) {
  Charge& charge = charges_[index];
  charge.is_here = true;
  if (!leads_) return;
  if (charge.is_late) {
    const bool may_adopt = std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
      return group.gathers && group.late == index && !group.is_settled;
    });
    if (!may_adopt) late_ones_.push_back(index);
    return;
  }
  Group& group = groups_[charge.group];
  if (!group.gathers) {
    feed(charge, true);
    return;
  }
  const bool all = std::all_of(charges_.begin(), charges_.end(), [&](const Charge& other) {
    return other.group != charge.group || other.is_here;
  });
  if (all) settle(charge.group);
}

void MendedBroadcast::on_notice() {
  std::span<const std::byte> data;
  Notice notice = read(notice_, data);
  if (notice.kind == Notice::Kind::offer) {
    book_.send(notice.feeder, kReadyChannel, {}, {kSmallOut});
    book_.recv(kAnyPeer, kNoticeChannel, notice_, {kNotice});
    return;
  }
  has_head_ = true;
  std::copy(data.begin(), data.end(), flow_.segment(0).begin());
  flow_.have(book_, 1);
  flow_.receive(book_, notice.feeder, 1);
  if (notice.leads) lead();
  for (const int rank : notice.ranks) {
    charges_.push_back({.rank = rank, .group = 0, .is_here = true});
    feed(charges_.back(), true);
  }
}

// Those of a group that have not come are late, and their children are looked for. Others that were gathered go to their
// parent, if it has come meanwhile, or else to the first of them.
void MendedBroadcast::settle(std::size_t index) {
  if (std::exchange(groups_[index].is_settled, true)) return;
  std::vector<std::size_t> late;
  std::vector<std::size_t> here;
  for (std::size_t i = 0; i < charges_.size(); ++i) {
    Charge& charge = charges_[i];
    if (charge.group != index || charge.is_fed || charge.is_trusted) continue;
    if (charge.is_here) {
      here.push_back(i);
    } else {
      charge.is_late = true;
      late.push_back(i);
      late_.push_back(charge.rank);
    }
  }
  const Group group = groups_[index];
  const bool to_parent = group.gathers && charges_[group.late].is_here;
  if (to_parent || !here.empty()) {
    std::vector<int> adopted;
    for (std::size_t i = to_parent ? 0 : 1; i < here.size(); ++i) {
      Charge& other = charges_[here[i]];
      other.is_fed = true;  // by the one who adopts it
      adopted.push_back(other.rank);
    }
    if (to_parent && adopted.empty()) {
      late_ones_.push_back(group.late);
    } else {
      feed(charges_[to_parent ? group.late : here.front()], !to_parent, std::move(adopted));
    }
  }
  for (const std::size_t charge : late) offer(charge);
}

void MendedBroadcast::offer(std::size_t late) {
  std::vector<int> children = children_of(charges_[late].rank);
  children.erase(std::remove_if(children.begin(), children.end(), [&](int rank) { return is_trusted(rank); }),
                 children.end());
  if (children.empty()) return;
  const std::size_t index = groups_.size();
  groups_.push_back({.gathers = true, .late = late});
  for (const int rank : children) {
    tell(rank, {.kind = Notice::Kind::offer, .feeder = rank_});
    book_.recv(rank, kReadyChannel, {}, {kReady, rank, charges_.size()});
    charges_.push_back({.rank = rank, .group = index});
  }
  book_.wake(params_.patience_s, {kPatience, -1, index});
}

bool MendedBroadcast::awaits_others() const {
  return leads_ && std::any_of(charges_.begin(), charges_.end(), [](const Charge& charge) {
           return !charge.is_trusted && !charge.is_fed && !charge.is_late;
         });
}

void MendedBroadcast::feed_late_ones() {
  while (!late_ones_.empty() && flow_.all_sent()) {
    feed(charges_[late_ones_.front()], false);
    late_ones_.pop_front();
  }
  while (!trusted_ones_.empty() && has_head_ && flow_.all_sent() && !awaits_others()) {
    Charge& charge = charges_[trusted_ones_.front()];
    trusted_ones_.pop_front();
    charge.is_fed = true;
    flow_.feed(book_, charge.rank, 0, Flow::Sends::eager);
  }
}

void MendedBroadcast::feed(Charge& charge, bool leads, std::vector<int> adopted) {
  ECO_ASSERT(light, !charge.is_fed && flow_.has(0), "a rank is fed once, by one who has something");
  charge.is_fed = true;
  tell(charge.rank,
       {.kind = Notice::Kind::head, .feeder = rank_, .leads = leads, .ranks = std::move(adopted)},
       flow_.segment(0));
  flow_.feed(book_, charge.rank, 1);
}

void MendedBroadcast::tell(int rank, const Notice& notice, std::span<const std::byte> data) {
  told_.push_back(write(notice, data));
  book_.send(rank, kNoticeChannel, told_.back(), {kSmallOut});
}

void MendedBroadcast::on_done(Ticket ticket) {
  const Note note = book_.close(ticket);
  if (!flow_.on_done(book_, note)) on_note(note);
  feed_late_ones();
}

void MendedBroadcast::on_note(const Note& note) {
  switch (note.what) {
    case kReady:
      on_ready(note.index);
      break;
    case kNotice:
      on_notice();
      break;
    case kPatience:
      settle(note.index);
      break;
    default:
      break;
  }
}

bool MendedBroadcast::is_done() const {
  return has_head_ && book_.n_messages() == 0 && flow_.has_all() && flow_.all_sent() &&
         std::all_of(charges_.begin(), charges_.end(),
                     [&](const Charge& charge) { return charge.is_fed || !(leads_ || charge.is_trusted); });
}

}  // namespace eco::late
