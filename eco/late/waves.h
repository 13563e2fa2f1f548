// What goes to or from a root in waves: each wave takes along those who are there, over the tuned tree without the others.
//
//   source     start-acknowledge and a root that gives places: Vadhiyar, Fagg and Dongarra, SC 2000, section 5
//   messages   beside the data: one of no bytes to the root from every rank, and the root's answer
//   model      the tree's, plus the round trip to the root; and of whoever is late its own way to the root
//   waits      the root until all have come; others for those of their own wave
//
// A rank says to the root that it is there. When all have come, or the first of the root's patience is over, the root tells
// whoever is there who takes part; those make up the first wave and leave when they are through. Whoever comes later is
// in a later wave, which waits for company as long as patience goes, and a reduction's until the one before has brought
// all it has: it would only share the root's link with it. Most often the first wave is the only one.
//
//   tree  0 -> 1 -> 2 -> 3      1 is late: first wave  0 -> 2 -> 3      second wave  0 -> 1
//
// Who belongs to a wave knows its tree by itself (among()).
//
// In a call that somebody has not entered its root cannot end; where that is the root, nobody can. So each later call has at
// least one rank fewer in it, and whoever is ahead is so by fewer calls than there are ranks, as of broadcasts
// (mended_broadcast.h).
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "eco/algo/patterns/tree.h"
#include "eco/exec/source.h"
#include "eco/late/flow.h"

namespace eco::late {

// The tree over its root and those who are in. Whoever is not is left out: its children are its parent's; where that is
// out too, the first of them leads the others, so that a subnet is still entered once.
algo::Tree among(const algo::Tree& tree, const std::vector<bool>& is_in);
// The same with the others below them, each at an end of the part where it belongs: they forward nothing to those who are in,
// since what a late rank still has to send takes its link.
algo::Tree others_last(const algo::Tree& tree, const std::vector<bool>& is_in);

class WaveSource : public ScheduleSource {
 public:
  void enter() final;
  void on_done(Ticket ticket) final;
  bool is_done() const final;
  // Of the root, who alone knows.
  std::span<const int> late() const final { return late_; }

 protected:
  // The tree outlives this.
  WaveSource(const algo::Tree& tree, int rank, double patience_s)
      : tree_(tree), rank_(rank), patience_s_(patience_s) {}

  int root() const { return tree_.root; }
  bool is_root() const { return root() == rank_; }
  int rank() const { return rank_; }
  std::size_t n_ranks() const { return tree_.parent.size(); }
  // Everybody is in some wave: of the root, who alone knows.
  bool all_have_come() const { return n_in_waves_ + 1 == n_ranks(); }
  // From when this rank is in a wave: over everybody, others_last() of the first wave; the same on all ranks.
  algo::Tree tree_of_all() const { return tree_of(first_, others_last); }

  static constexpr std::uint32_t kFirstFreeNote = Flow::kFirstFreeNote + 4;

 private:
  enum What : std::uint32_t { kReady = Flow::kFirstFreeNote, kNotice, kSmallOut, kPatience };

  // When the rank is in the call.
  virtual void begin() = 0;
  // This rank is in a wave with this tree: the root in each, others in one.
  virtual void enter_wave(const algo::Tree& wave) = 0;
  // Of what begin() and enter_wave() ordered.
  virtual void on_note(const Note& note) = 0;
  // Nothing of that is left to do.
  virtual bool has_ended() const = 0;
  // Of the root: it gains nothing by waiting with another wave. True at the latest when those of the waves so far have
  // done what they can.
  virtual bool may_form_another() const { return true; }

  void on_ready(int rank);
  void form_wave();
  using TreeAmong = algo::Tree (*)(const algo::Tree& tree, const std::vector<bool>& is_in);
  algo::Tree tree_of(const std::vector<int>& members, TreeAmong hang) const;

  const algo::Tree& tree_;
  int rank_;
  double patience_s_;
  bool has_wave_ = false;
  bool is_patient_ = false;   // a wake is under way
  bool is_due_ = false;       // patience is over, and the wave is for those who wait as soon as it may be
  std::vector<int> waiting_;  // at the root: for the next wave
  std::vector<int> late_;     // likewise: all of later waves than the first
  std::vector<int> first_;    // of the first wave; nobody in particular: everybody
  std::size_t n_in_waves_ = 0;
  // Bytes of messages; they stay where they are until the end.
  std::deque<std::vector<std::byte>> told_;
  std::vector<std::byte> notice_;
};

}  // namespace eco::late
