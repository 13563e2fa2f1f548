// Broadcast over a tree whose places are given in the order of arrival.
//
//   source     Vadhiyar, Fagg and Dongarra, SC 2000, section 5: a rank that is there sends the root a start-acknowledge;
//              the root fills the tuned shape, depth first or breadth first
//   messages   beside the data: one to the root from every rank, one back with its place, one to every feeder other than the
//              root for each of its children
//   model      the tree's, over those who are there, plus the round trip to the root
//   waits      the root until all have come; a rank until whoever has the places below it has come
//
// The shape is a tree over places 0, 1, ..., and place 0 is the root's. A place's parent has been filled before it, in
// either order of filling, so that a feeder is always somebody who is there:
//
//   places       0            ranks 4 5 2 1 3 come in this order     depth first     0        breadth first     0
//              1   4                                                              4     1                    4     5
//             2 3   5                                                            5 2     3                  2 1   3
//
// The root piggy-backs a place on the first segment of whom it feeds itself; others hear their place from the root and the
// data from their feeder.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "eco/algo/patterns/tree.h"
#include "eco/exec/source.h"
#include "eco/late/filling.h"
#include "eco/late/flow.h"
#include "eco/late/notice.h"

namespace eco::late {

enum class Telling : std::uint8_t { with_data, ahead };

struct ArrivalParams {
  Filling filling = Filling::depth_first;
  Telling telling = Telling::with_data;
  Pieces pieces{};
};

class ArrivalBroadcast final : public ScheduleSource {
 public:
  // `shape`: over places, its root place 0. The message holds its bytes at the root already and outlives this.
  ArrivalBroadcast(const algo::Tree& shape, int root, int rank, std::span<std::byte> message,
                   ArrivalParams params);

  void enter() override;
  void on_done(Ticket ticket) override;
  bool is_done() const override;

 private:
  enum What : std::uint32_t { kReady = Flow::kFirstFreeNote, kReadyOut, kHead, kChild, kNoticeOut };

  bool is_root() const { return rank_ == root_; }
  void give_place(int rank);
  void take_place();
  void tell(int rank, int channel, const Notice& notice, std::span<const std::byte> data = {});

  const algo::Tree& shape_;
  int root_;
  int rank_;
  ArrivalParams params_;
  Flow flow_;
  bool has_place_ = false;
  // Of the root.
  std::vector<int> order_;    // of filling; place 0 is not in it
  std::vector<int> rank_at_;  // by place
  std::size_t n_filled_ = 0;
  // Bytes of messages; they stay where they are until the end.
  std::deque<std::vector<std::byte>> told_;
  std::vector<std::byte> head_;
  std::vector<std::vector<std::byte>> children_;
  std::size_t n_children_told_ = 0;
};

}  // namespace eco::late
