#include "eco/late/forms.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "eco/algo/at_sites.h"
#include "eco/base/assert.h"
#include "eco/late/arrival_broadcast.h"
#include "eco/late/leaves.h"
#include "eco/late/mended_broadcast.h"
#include "eco/late/wave_allgather.h"
#include "eco/late/wave_gather.h"
#include "eco/late/wave_reduce.h"
#include "eco/late/wave_scatter.h"

namespace eco::late {
namespace {

using coll::Collective;

constexpr std::array<algo::Pattern, 6> kPatterns = {algo::Pattern::subnets,  algo::Pattern::flat,
                                                    algo::Pattern::chain,    algo::Pattern::kary,
                                                    algo::Pattern::binomial, algo::Pattern::knomial};
// Six packets less the library's header, where a recipe that is no tree says nothing of pipelines (algo/patterns/segments.cc).
constexpr std::size_t kSegment_bytes = 8624;
constexpr std::size_t kPacket_bytes = 1448;
// An allgather's pieces go through everybody, one after the other: where blocks are short, so are they, down to a packet's.
constexpr std::size_t kPiecesOfBlock = 4;
constexpr std::size_t kShortestPiece = 1392;
// What a scheduler does to a rank that is on time; ranks are not late by less.
constexpr double kLeastPatience_s = 0.001;
// An answer to an offer takes a message there and one back; as much again for what is queued before them.
constexpr double kLatencies = 4;
// Of what the message takes on its way: to wait so much longer costs little, and to send it once more a whole one.
constexpr double kShare = 0.02;
// The same of a reduction, whose every wave brings a whole vector to the root, so that waiting costs no more than it may save.
constexpr double kShareOfReduction = 0.5;
// What goes to a rank that does not read: no more than the libraries' own buffers of TCP have room for. Of several such
// messages the last may have to wait for it.
constexpr std::size_t kMostTrusted_bytes = 65536;

struct ArrivalPlan {
  Filling filling;
  Telling telling;
};

ArrivalPlan arrival_plan(Plan plan) {
  static constexpr std::array<ArrivalPlan, 4> kOf = {{{Filling::depth_first, Telling::with_data},
                                                      {Filling::depth_first, Telling::ahead},
                                                      {Filling::breadth_first, Telling::with_data},
                                                      {Filling::breadth_first, Telling::ahead}}};
  return kOf[static_cast<std::size_t>(plan)];
}

// The same tree over its own places: ranks in the order of filling, depth first.
algo::Tree over_places(const algo::Tree& tree) {
  std::vector<int> rank_at{tree.root};
  for (const int rank : order_of_filling(tree, Filling::depth_first)) rank_at.push_back(rank);
  std::vector<int> place_of(rank_at.size());
  for (std::size_t place = 0; place < rank_at.size(); ++place)
    place_of[static_cast<std::size_t>(rank_at[place])] = static_cast<int>(place);
  algo::Tree places;
  for (const int rank : rank_at) {
    const auto r = static_cast<std::size_t>(rank);
    places.parent.push_back(tree.parent[r] < 0 ? -1 : place_of[static_cast<std::size_t>(tree.parent[r])]);
    places.children.emplace_back();
    for (const int child : tree.children[r])
      places.children.back().push_back(place_of[static_cast<std::size_t>(child)]);
  }
  places.n_far.assign(rank_at.size(), 0);
  return places;
}

// Allgathers have as many trees as ranks, whatever their pattern.
std::optional<algo::Pattern> pattern_of(const algo::Recipe& recipe, Collective collective) {
  if (collective == Collective::allgather) return std::nullopt;
  const std::string prefix = std::string(coll::name(collective)) + "/";
  for (const algo::Pattern pattern : kPatterns) {
    if (recipe.algorithm == prefix + std::string(algo::name(pattern))) return pattern;
  }
  return std::nullopt;
}

// Blocks go round in a chain, whatever the pattern is called.
bool is_ring(const algo::Recipe& recipe) {
  return recipe.algorithm == "allgather/chain" ||
         (recipe.algorithm == "allgather/subnets" && recipe.params.inside == algo::Shape::chain);
}

}  // namespace

std::string_view name(Plan plan) {
  static constexpr std::array<std::string_view, kPlans> kNames = {
      "depth_first", "depth_first_ahead", "breadth_first", "breadth_first_ahead", "mended"};
  return kNames[static_cast<std::size_t>(plan)];
}

std::optional<Plan> plan_from_name(std::string_view wanted) {
  for (std::size_t i = 0; i < kPlans; ++i) {
    if (name(static_cast<Plan>(i)) == wanted) return static_cast<Plan>(i);
  }
  return std::nullopt;
}

bool forms(Plan plan, Collective collective) {
  const bool may = std::find(kForming.begin(), kForming.end(), collective) != kForming.end();
  return may && (plan == Plan::mended || collective == Collective::broadcast);
}

Form::Form(Plan plan, const coll::CommonProblem& problem, const algo::Tree& tree, Pieces pieces,
           double patience_s, std::vector<int> trusted)
    : plan_(plan),
      problem_(problem),
      tree_(plan == Plan::mended ? tree : over_places(tree)),
      pieces_(pieces),
      patience_s_(patience_s),
      trusted_(std::move(trusted)) {
  ECO_ASSERT(light, forms(plan, problem.collective), "whoever asks has asked forms()");
}

std::size_t Form::scratch_bytes() const {
  switch (problem_.collective) {
    case Collective::broadcast:
      return 0;
    case Collective::allgather:
      return WaveAllgather::scratch_bytes(problem_, pieces_);
    case Collective::gather:
    case Collective::scatter:
      return problem_.bytes;
    default:
      return WaveReduce::scratch_bytes(problem_, pieces_);
  }
}

std::unique_ptr<ScheduleSource> Form::source(int rank, const exec::Buffers& buffers,
                                             std::span<std::byte> scratch, Trust trust) const {
  switch (problem_.collective) {
    case Collective::broadcast:
      if (plan_ == Plan::mended) {
        const std::span<const int> trusted =
            trust == Trust::yes ? std::span<const int>(trusted_) : std::span<const int>();
        return std::make_unique<MendedBroadcast>(tree_, rank, buffers.output,
                                                 MendedParams{patience_s_, pieces_, trusted});
      } else {
        const ArrivalPlan how = arrival_plan(plan_);
        return std::make_unique<ArrivalBroadcast>(tree_, problem_.root, rank, buffers.output,
                                                  ArrivalParams{how.filling, how.telling, pieces_});
      }
    case Collective::allgather:
      return std::make_unique<WaveAllgather>(problem_, tree_, rank, buffers, scratch, pieces_, patience_s_);
    case Collective::gather:
      return std::make_unique<WaveGather>(problem_, tree_, rank, buffers, scratch, pieces_, patience_s_);
    case Collective::scatter:
      return std::make_unique<WaveScatter>(problem_, tree_, rank, buffers, scratch, pieces_, patience_s_);
    default:
      return std::make_unique<WaveReduce>(problem_, tree_, rank, buffers, scratch, pieces_, patience_s_);
  }
}

// An allreduce over subnets has an owner, and so a tree, in each of them. Of an allgather that is not round one switch, what comes to the
// root and what goes on from there would share a medium, or a subnet be sent its own blocks again over its uplink.
bool goes_the_same_way(const algo::Recipe& recipe, const coll::CommonProblem& problem,
                       const net::GroupView& view) {
  if (problem.collective == Collective::allgather) {
    return is_ring(recipe) && view.n_subnets() == 1 && view.subnets.front().kind == net::SubnetKind::switched;
  }
  const std::optional<algo::Pattern> pattern = pattern_of(recipe, problem.collective);
  const bool has_owners = problem.collective == Collective::allreduce && pattern == algo::Pattern::subnets &&
                          view.n_subnets() > 1;
  const bool has_other_ways =
      recipe.params.head > 0 || recipe.params.tail > 0 || !recipe.params.owners.empty();
  return pattern && !has_owners && !has_other_ways;
}

bool has_work_ahead(const coll::CommonProblem& problem) {
  const bool ends_for_all_at_once =
      problem.collective == Collective::allreduce || problem.collective == Collective::allgather;
  return !ends_for_all_at_once || problem.bytes > kPacket_bytes;
}

std::optional<Form> form_of(Plan plan, const algo::Recipe& recipe, const coll::CommonProblem& problem,
                            const net::GroupView& view, std::span<const int> known_late) {
  if (!forms(plan, problem.collective)) return std::nullopt;
  if (coll::is_reduction(problem.collective) && !WaveReduce::fits(problem)) return std::nullopt;
  const std::optional<algo::Pattern> pattern = pattern_of(recipe, problem.collective);
  // To or from the root straight: only the root waits for who is late. From each to each: for one block alone.
  if (root_waits(problem.collective) && pattern == algo::Pattern::flat) return std::nullopt;
  if (recipe.algorithm == "allgather/flat") return std::nullopt;
  const algo::Params of_subnets{.segment_bytes = recipe.params.segment_bytes};
  Pieces pieces{recipe.params.segment_bytes, pattern || is_ring(recipe) ? recipe.params.window : 0};
  if (!pattern && pieces.segment_bytes == 0) pieces.segment_bytes = kSegment_bytes;
  if (problem.collective == Collective::allgather) {
    const std::size_t most = std::max(kShortestPiece, problem.block_bytes() / kPiecesOfBlock);
    pieces.segment_bytes = std::min(pieces.segment_bytes, most);
  }
  const algo::AtSites seen(view, recipe.params);
  algo::Tree tree = algo::pattern_tree(pattern.value_or(algo::Pattern::subnets), seen.view(), problem.root,
                                       pattern ? recipe.params : of_subnets);
  tree = late_as_leaves(std::move(tree), known_late, seen.view().subnet_of_rank);
  std::vector<int> trusted;
  if (plan == Plan::mended && problem.collective == Collective::broadcast &&
      problem.bytes <= kMostTrusted_bytes)
    trusted = late_to_the_bottom(tree, known_late);
  return Form(plan, problem, tree, pieces, patience_s(view, problem), std::move(trusted));
}

double patience_s(const net::GroupView& view, const coll::CommonProblem& problem) {
  const double share = coll::is_reduction(problem.collective) ? kShareOfReduction : kShare;
  double patience_s = kLeastPatience_s;
  const int from = view.host_of_rank.front();
  for (const int to : view.host_of_rank) {
    patience_s = std::max(patience_s, kLatencies * view.network->message_s(from, to, 0));
    patience_s = std::max(patience_s, share * view.network->message_s(from, to, problem.bytes));
  }
  return patience_s;
}

}  // namespace eco::late
