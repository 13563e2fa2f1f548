#include "eco/late/waves.h"

#include <span>
#include <utility>

#include "eco/late/channels.h"
#include "eco/late/filling.h"
#include "eco/late/notice.h"

namespace eco::late {
namespace {

// Hangs what is in of the subtree, and gives those of it who have no parent yet: the rank, or who leads in its place.
std::vector<int> hang(const algo::Tree& tree, const std::vector<bool>& is_in, int rank, algo::Tree& wave) {
  std::vector<int> below;
  for (const int child : tree.children[static_cast<std::size_t>(rank)]) {
    const std::vector<int> of_child = hang(tree, is_in, child, wave);
    below.insert(below.end(), of_child.begin(), of_child.end());
  }
  const bool is_here = rank == tree.root || is_in[static_cast<std::size_t>(rank)];
  if (!is_here && below.empty()) return {};
  const int lead = is_here ? rank : below.front();
  for (const int other : below) {
    if (other == lead) continue;
    wave.parent[static_cast<std::size_t>(other)] = lead;
    wave.children[static_cast<std::size_t>(lead)].push_back(other);
  }
  return {lead};
}

}  // namespace

algo::Tree among(const algo::Tree& tree, const std::vector<bool>& is_in) {
  const std::size_t n = tree.parent.size();
  algo::Tree wave{.root = tree.root,
                  .parent = std::vector<int>(n, -1),
                  .children = std::vector<std::vector<int>>(n),
                  .n_far = std::vector<int>(n)};
  hang(tree, is_in, tree.root, wave);
  return wave;
}

algo::Tree others_last(const algo::Tree& tree, const std::vector<bool>& is_in) {
  algo::Tree all = among(tree, is_in);
  for (const int rank : order_of_filling(tree, Filling::breadth_first)) {
    if (is_in[static_cast<std::size_t>(rank)]) continue;
    int above = tree.parent[static_cast<std::size_t>(rank)];
    // Its own kind further up may be below others by now; who is in is where it was.
    while (above != tree.root && !is_in[static_cast<std::size_t>(above)])
      above = tree.parent[static_cast<std::size_t>(above)];
    while (!all.children[static_cast<std::size_t>(above)].empty())
      above = all.children[static_cast<std::size_t>(above)].back();
    all.parent[static_cast<std::size_t>(rank)] = above;
    all.children[static_cast<std::size_t>(above)].push_back(rank);
  }
  return all;
}

void WaveSource::enter() {
  if (!is_root()) {
    // Ahead of what it brings.
    book_.send(tree_.root, kReadyChannel, {}, {kSmallOut});
    notice_.resize(notice_bytes(2 * n_ranks()));
    book_.recv(tree_.root, kNoticeChannel, notice_, {kNotice});
  }
  begin();
  if (!is_root() || n_ranks() == 1) return;
  for (int rank = 0; rank < static_cast<int>(n_ranks()); ++rank) {
    if (rank != rank_) book_.recv(rank, kReadyChannel, {}, {kReady, rank});
  }
  is_patient_ = true;
  book_.wake(patience_s_, {kPatience});
}

void WaveSource::on_ready(int rank) {
  waiting_.push_back(rank);
  if (n_in_waves_ + waiting_.size() + 1 == n_ranks()) {
    form_wave();
  } else if (!is_patient_ && !is_due_) {
    is_patient_ = true;
    book_.wake(patience_s_, {kPatience});
  }
}

void WaveSource::form_wave() {
  const std::vector<int> members = std::exchange(waiting_, {});
  is_due_ = false;
  const bool is_first = n_in_waves_ == 0;
  n_in_waves_ += members.size();
  if (is_first && !all_have_come()) first_ = members;
  if (!is_first) late_.insert(late_.end(), members.begin(), members.end());
  told_.push_back(write({.ranks = is_first ? first_ : members, .first = first_}));
  for (const int rank : members) book_.send(rank, kNoticeChannel, told_.back(), {kSmallOut});
  enter_wave(tree_of(is_first ? first_ : members, among));
}

algo::Tree WaveSource::tree_of(const std::vector<int>& members, TreeAmong hang) const {
  if (members.empty()) return tree_;
  std::vector<bool> is_in(n_ranks());
  for (const int rank : members) is_in[static_cast<std::size_t>(rank)] = true;
  return hang(tree_, is_in);
}

void WaveSource::on_done(Ticket ticket) {
  const Note note = book_.close(ticket);
  switch (note.what) {
    case kReady:
      on_ready(note.who);
      break;
    case kNotice: {
      std::span<const std::byte> none;
      Notice notice = read(notice_, none);
      has_wave_ = true;
      first_ = std::move(notice.first);
      enter_wave(tree_of(notice.ranks, among));
      break;
    }
    case kSmallOut:
      break;
    case kPatience:
      is_patient_ = false;
      is_due_ = !waiting_.empty();
      break;
    default:
      on_note(note);
  }
  if (is_due_ && may_form_another()) form_wave();
}

bool WaveSource::is_done() const {
  return (is_root() ? all_have_come() : has_wave_) && book_.n_messages() == 0 && has_ended();
}

}  // namespace eco::late
