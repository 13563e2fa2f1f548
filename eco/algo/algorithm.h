// An algorithm is a pure builder of schedules: one row of the table in registry.cc, its builder in a file of its own.
//
// Collective times pattern: "broadcast/subnets" is the broadcast of broadcast.cc over the tree of patterns/tree.h.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eco/algo/recipe.h"
#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/sched/schedule.h"

namespace eco::algo {

struct Algorithm {
  using Problem = coll::CommonProblem;
  using View = net::GroupView;

  std::string name;  // "broadcast/subnets": collective, slash, pattern
  coll::Collective collective;
  // Parameters worth predicting for this problem on this group, few tens at most.
  std::function<std::vector<Params>(const Problem& problem, const View& view)> candidates;
  // The schedule of one rank. Pure, equal inputs give equal schedules on every machine.
  std::function<sched::Schedule(const Problem& problem, const View& view, const Params& params, int rank)>
      build;
  // What else stands against it, beyond what why_not() knows of every algorithm; may be empty.
  std::function<std::optional<std::string>(const Problem& problem, const View& view)> objection;
  // What stands against these parameters, where that is possible (parts of a composition); may be empty.
  std::function<std::optional<std::string>(const Problem& problem, const View& view, const Params& params)>
      objection_to{};
  // Of a composition: what each part does.
  std::vector<coll::Collective> parts{};
  // For hosts with several NICs only.
  bool on_rails = false;

  // Why it can't serve this problem on this group; nothing if it can.
  std::optional<std::string> why_not(const Problem& problem, const View& view) const;
};

// All algorithms, in a fixed order.
std::span<const Algorithm> registry();
// By name; nullptr if there is none.
const Algorithm* find(std::string_view name);
// Whether its messages name rails.
bool is_on_rails(const Recipe& recipe);

// Why an algorithm of this name does not do this: there is none, or it does something else; with the names of those that
// do. Nothing if it does.
std::optional<std::string> why_not_named(std::string_view name, coll::Collective collective);

// Why a recipe (from a plan file, say) can't be built for this problem on this group: unknown algorithm, another
// collective, sites that do not fit the group, lists (order, tree, ...) that do not fit its subnets or these sites, or the
// algorithm's own why_not. Nothing if it can.
std::optional<std::string> why_not(const Recipe& recipe, const coll::CommonProblem& problem,
                                   const net::GroupView& view);

// The same recipe with a guess in the place of every native part: whole segments over a binomial tree in the order of
// ranks (or flat, or a chain, where there is none). For whoever predicts: nobody knows what the library sends there. The
// recipe itself where nothing of it is native.
Recipe stand_in(const Recipe& recipe);

// All ranks' schedules, for whoever predicts, verifies or draws.
std::vector<sched::Schedule> build_all(const Recipe& recipe, const coll::CommonProblem& problem,
                                       const net::GroupView& view);

}  // namespace eco::algo
