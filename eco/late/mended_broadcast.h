// Broadcast over a tree that is mended where a rank has not come.
//
//   messages   beside the data: one of no bytes to the parent from every rank. Only where a rank is late: an offer to each of
//              its children and their answers
//   model      the tree's, plus at most a latency: nobody is sent data before it has said that it is there
//   waits      a rank until those whom it feeds have come, whoever is below them
//
// A rank that enters tells its parent. A parent feeds whoever of its children is there; the first message says that the
// child leads, so that it feeds its own children by the same rule. Whoever has not come when `patience_s` are over is late:
// it will be fed when it comes and lead nobody. Its children are offered to be fed from above. Of those that answer, the first
// one leads its own children and adopts the others that answered (or the late rank adopts all of them, if it comes before
// that is decided); whoever does not answer within the patience is late too:
//
//   0 -> 1 -> 2 -> 3       1 is late: 0 offers, 2 answers      0 -> 2 -> 3      1 comes     0 -> 1
//
// Late ranks that lead nobody are fed one after the other when those who lead have all: what is sent to them would hold
// up those behind the others, who are on time.
//
// A rank that is *trusted* to come, as all below it are, says nothing, and is told nothing: its parent sends it the message, after all others,
// whether it has come or not, and need not wait for it where what is sent is short enough to lie somewhere meanwhile. Nobody
// else feeds it, be its parent late.
//
// So there is one who decides about each rank: its parent, or whoever has taken the late parent's place. No rank has to be
// told of a decision that is taken back, and none can have two feeders. Patience decides who feeds whom, and never what is
// received: the proof (proving.h) has wakes at any time.
//
// Every parent takes its children's messages even if they were given to somebody else, so a late rank leaves no sooner
// than its children have come. That bounds how many calls anybody is ahead: fewer than there are ranks, of calls in which
// nobody is trusted (docs/adr/0019), and after so many calls tags may come again (Communicator::form_around_the_late).
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "eco/algo/patterns/tree.h"
#include "eco/exec/source.h"
#include "eco/late/flow.h"
#include "eco/late/notice.h"

namespace eco::late {

struct MendedParams {
  // From when a rank could feed a child until it counts as late, and likewise for answers.
  double patience_s = 0.001;
  Pieces pieces{};
  std::span<const int> trusted{};  // with each all that are below it; the same on all ranks
};

class MendedBroadcast final : public ScheduleSource {
 public:
  // The message holds its bytes at the tree's root already; tree, message and who is trusted outlive this.
  MendedBroadcast(const algo::Tree& tree, int rank, std::span<std::byte> message, MendedParams params);

  void enter() override;
  void on_done(Ticket ticket) override;
  bool is_done() const override;
  std::span<const int> late() const override { return late_; }

 private:
  enum What : std::uint32_t { kReady = Flow::kFirstFreeNote, kNotice, kSmallOut, kPatience };

  // Whoever this rank feeds, or has to hear from.
  struct Charge {
    int rank;
    std::size_t group;  // whose patience it is under
    bool is_here = false;
    bool is_late = false;
    bool is_fed = false;
    bool is_trusted = false;  // this rank's own, whoever leads
  };
  // Ranks that are waited for together: this rank's children, or those of a late one.
  struct Group {
    bool gathers = false;  // they are fed when all have answered, or when patience is over
    std::size_t late = 0;  // then: the charge whose children they are
    bool is_settled = false;
  };

  bool is_root() const { return tree_.root == rank_; }
  bool is_trusted(int rank) const;
  // Some that lead, or would, have not come, and are not late yet.
  bool awaits_others() const;
  const std::vector<int>& children_of(int rank) const {
    return tree_.children[static_cast<std::size_t>(rank)];
  }
  void lead();
  void on_note(const Note& note);
  void on_ready(std::size_t charge);
  void on_notice();
  void settle(std::size_t group);
  void offer(std::size_t late);
  void feed_late_ones();
  void feed(Charge& charge, bool leads, std::vector<int> adopted = {});
  void tell(int rank, const Notice& notice, std::span<const std::byte> data = {});

  const algo::Tree& tree_;
  int rank_;
  MendedParams params_;
  Flow flow_;
  bool has_head_ = false;
  bool leads_ = false;
  std::vector<Charge> charges_;
  std::vector<Group> groups_;             // the first: this rank's children
  std::deque<std::size_t> late_ones_;     // charges that are here and wait until others have all
  std::deque<std::size_t> trusted_ones_;  // and who waits until these have
  std::vector<int> late_;                 // ranks, whatever became of them
  // Bytes of messages; they stay where they are until the end.
  std::deque<std::vector<std::byte>> told_;
  std::vector<std::byte> notice_;
};

}  // namespace eco::late
