// The collectives of this room, by name.
//
//   const Form form(Plan::mended, problem, tree, {.segment_bytes = 8192}, patience_s);      // the same on all ranks
//   std::unique_ptr<ScheduleSource> source = form.source(rank, buffers, scratch);           // form.scratch_bytes() of it
//   if (auto form = form_of(Plan::mended, recipe, problem, view)) ...                       // of a recipe
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "eco/algo/patterns/tree.h"
#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/exec/executor.h"
#include "eco/late/flow.h"
#include "eco/net/group_view.h"

namespace eco::late {

enum class Plan : std::uint8_t { depth_first, depth_first_ahead, breadth_first, breadth_first_ahead, mended };
inline constexpr std::size_t kPlans = 5;
std::string_view name(Plan plan);
std::optional<Plan> plan_from_name(std::string_view name);

// Does any such collective form by this plan?
bool forms(Plan plan, coll::Collective collective);
// Those that form by some plan.
inline constexpr std::array<coll::Collective, 6> kForming = {
    coll::Collective::broadcast, coll::Collective::reduce, coll::Collective::allreduce,
    coll::Collective::scatter,   coll::Collective::gather, coll::Collective::allgather};

// Rooted, and its root waits for all in any form: it gives to each, or gets from each.
inline bool root_waits(coll::Collective collective) {
  return coll::is_rooted(collective) && collective != coll::Collective::broadcast;
}

// How one collective forms: a broadcast by any plan; all others in waves, by Plan::mended alone.
class Form {
 public:
  // `tree`: over ranks, its root the problem's. (By order of arrival its places are numbered anew.) `trusted`: ranks, with
  // each all below it, that a mended broadcast may send to unasked.
  Form(Plan plan, const coll::CommonProblem& problem, const algo::Tree& tree, Pieces pieces,
       double patience_s = 0.001, std::vector<int> trusted = {});

  // Of every rank.
  std::size_t scratch_bytes() const;
  bool may_trust() const { return !trusted_.empty(); }
  // Buffers as a schedule's; they, the scratch and this outlive the source.
  enum class Trust : std::uint8_t { no, yes };
  std::unique_ptr<ScheduleSource> source(int rank, const exec::Buffers& buffers, std::span<std::byte> scratch,
                                         Trust trust = Trust::no) const;

 private:
  Plan plan_;
  coll::CommonProblem problem_;
  algo::Tree tree_;  // over ranks, or over places
  Pieces pieces_;
  double patience_s_;
  std::vector<int> trusted_;
};

// Of a recipe that sends all down or up one tree, over that, and cut as it says (segments that it sends another way, by head,
// tail or owners, go over the tree too); of others over ECO's tree of subnets. Nothing of other collectives, of
// reductions whose bytes depend on the order, and where the recipe has everybody deal with the root alone. Ranks that are known
// to come late are put as low as may be (leaves.h), and where they are at the bottom may be trusted to come, if a broadcast is
// short.
std::optional<Form> form_of(Plan plan, const algo::Recipe& recipe, const coll::CommonProblem& problem,
                            const net::GroupView& view, std::span<const int> known_late = {});
// Does the form take no longer than the recipe where nobody is late, but for what the ranks tell each other? So it does where the
// recipe itself sends all over one tree; and of an allgather round a ring of one switch, where two blocks more cross each link.
bool goes_the_same_way(const algo::Recipe& recipe, const coll::CommonProblem& problem,
                       const net::GroupView& view);
// Can ranks do any of it before the last one comes, or leave? Of an allreduce or allgather of one packet they can't.
bool has_work_ahead(const coll::CommonProblem& problem);

// A rank that is less late than this is waited for: what nobody would call late, answers included. Of a reduction half
// of what its vector takes: whoever is left behind brings a whole one over the root's link, once more.
double patience_s(const net::GroupView& view, const coll::CommonProblem& problem);

}  // namespace eco::late
