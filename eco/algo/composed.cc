#include "eco/algo/composed.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "eco/algo/objections.h"
#include "eco/algo/patterns/candidates.h"
#include "eco/algo/patterns/islands.h"

namespace eco::algo {
namespace {

using coll::Collective;

Segments segments_of(Cut cut, const CommonProblem& problem, std::size_t segment_bytes) {
  const std::size_t element = problem.element_bytes;
  const std::size_t whole = coll::payload_bytes(problem);
  switch (cut) {
    case Cut::whole:
      return {whole, element, segment_bytes};
    case Cut::in_blocks: {
      const std::size_t block = segment_bytes == 0 ? 0 : std::max(segment_bytes / element * element, element);
      return {whole, element, block * static_cast<std::size_t>(problem.n_ranks)};
    }
    case Cut::block:
      return {problem.block_bytes(), element, segment_bytes};
    case Cut::nothing:
      break;
  }
  return {coll::is_blocked(problem.collective) ? problem.block_bytes() : whole, element, 0};
}

// What Params::segment_bytes is about, for candidates.
std::size_t bytes_cut(Cut cut, const CommonProblem& problem) {
  const bool is_block = cut == Cut::in_blocks || cut == Cut::block;
  return is_block ? std::max<std::size_t>(problem.block_bytes(), 1) : coll::payload_bytes(problem);
}

Params with_parts(const Composition& composition, Params params) {
  if (params.parts.empty()) params.parts = composition.choices.front();
  return params;
}

// What is worth predicting besides segments and windows.
struct Offer {
  Islands islands;
  std::vector<std::string> parts;
  std::vector<int> leaders;
};

bool is_inside(const Composition& composition, std::size_t part) {
  return std::find(composition.inside.begin(), composition.inside.end(), part) != composition.inside.end();
}

// The same choice with trees of subnets between, where there are such.
std::vector<std::string> over_subnets(const Composition& composition, std::vector<std::string> parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string of_subnets = parts[i].substr(0, parts[i].find('/')) + "/subnets";
    if (!is_inside(composition, i) && find(of_subnets) != nullptr) parts[i] = of_subnets;
  }
  return parts;
}

std::vector<std::string> native_inside(const Composition& composition, std::vector<std::string> parts) {
  for (const std::size_t i : composition.inside) parts[i] = kNativePart;
  return parts;
}

std::vector<Offer> offers(const Composition& composition, const GroupView& view) {
  std::vector<Offer> all;
  const auto add = [&](Islands islands, const std::vector<std::string>& parts,
                       const std::vector<int>& leaders) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const Offer& other) {
      return other.islands == islands && other.parts == parts;
    });
    if (!known) all.push_back({islands, parts, leaders});
  };
  for (const auto& parts : composition.choices) {
    // Several leaders are tried with one choice of parts, or there would be too many.
    add(Islands::subnets, parts,
        &parts == &composition.choices.front() ? composition.leaders : std::vector{1});
  }
  if (composition.inside.empty()) return all;
  for (const Islands islands : {Islands::subnets, Islands::hosts}) {
    if (!has_islands(view, islands)) continue;
    auto choices = composition.choices;
    if (islands == Islands::hosts) {
      // Leaders of hosts see their subnets. ECO's own inside, once: else hosts would be tried with the library's alone.
      if (view.n_subnets() > 1) choices.insert(choices.begin(), over_subnets(composition, choices.front()));
      add(islands, choices.front(), {1});
    }
    for (const auto& parts : choices) add(islands, native_inside(composition, parts), {1});
  }
  return all;
}

Objection objection_to_params(const Composition& composition, const CommonProblem& problem,
                              const GroupView& given_view, const Params& given) {
  const Params params = with_parts(composition, given);
  const std::size_t n_parts = composition.choices.front().size();
  if (params.parts.size() != n_parts)
    return "it has " + std::to_string(n_parts) + " parts, not " + std::to_string(params.parts.size());
  if (params.islands != Islands::subnets && composition.inside.empty()) return "it has no islands";
  for (std::size_t i = 0; i < n_parts; ++i) {
    if (params.parts[i] == kNativePart && !is_inside(composition, i))
      return "its part " + std::to_string(i) + " is not inside islands, and can't be the library's";
  }
  const Seen seen(given_view, params.islands);
  const GroupView& view = seen.view();
  if (composition.objection != nullptr) {
    if (auto reason = composition.objection(problem, view)) return reason;
  }
  std::size_t largest = 1;
  if (composition.leaders.size() > 1) {
    for (const net::SubnetView& subnet : view.subnets) largest = std::max(largest, subnet.ranks.size());
  }
  if (params.leaders < 1 || static_cast<std::size_t>(params.leaders) > largest) {
    return "of " + std::to_string(params.leaders) + " leaders only " + std::to_string(largest) +
           " could take turns";
  }
  if (!problem.commutative) {
    // A vector of fewer elements than ranks goes past parts that cut it into blocks, but a table's row holds for longer
    // ones too, and for shorter elements: whether rank order is kept must not depend on either.
    CommonProblem one_each = problem;
    const std::size_t n_blocks =
        composition.cut == Cut::block ? 1 : static_cast<std::size_t>(problem.n_ranks);
    const std::size_t bytes = n_blocks * problem.element_bytes;
    one_each.bytes =
        coll::whole_bytes(one_each, static_cast<std::size_t>(problem.n_ranks) * problem.element_bytes);
    if (auto reason = objection_to(composition.steps({one_each, view, params, 0, bytes, 0}), view))
      return reason;
  }
  const Segments segments = segments_of(composition.cut, problem, params.segment_bytes);
  for (const std::size_t j : {std::size_t{0}, segments.count() - 1}) {
    const std::size_t bytes = segments.region(sched::Buffer::output, j).bytes;
    if (auto reason = objection_to(composition.steps({problem, view, params, 0, bytes, 0}), view))
      return reason;
  }
  return std::nullopt;
}

}  // namespace

Algorithm composed(Composition given) {
  const auto composition = std::make_shared<const Composition>(std::move(given));
  const auto unable = [composition](const CommonProblem& problem, const GroupView& view,
                                    const Params& params) {
    return objection_to_params(*composition, problem, view, params);
  };
  Algorithm row;
  row.name = std::string(coll::name(composition->collective)) + "/" + composition->pattern;
  row.collective = composition->collective;
  for (const std::string& part : composition->choices.front())
    row.parts.push_back(*coll::collective_from_name(part.substr(0, part.find('/'))));
  row.candidates = [composition, unable](const CommonProblem& problem, const GroupView& view) {
    std::vector<Params> all;
    for (Params& params : few_candidates(problem, bytes_cut(composition->cut, problem))) {
      for (const Offer& offer : offers(*composition, view)) {
        for (const int leaders : offer.leaders) {
          // Several need segments to share.
          const bool shared = segments_of(composition->cut, problem, params.segment_bytes).count() > 1;
          if (leaders > 1 && !shared) continue;
          params.parts = offer.parts;
          params.islands = offer.islands;
          params.leaders = leaders;
          if (!unable(problem, view, params)) all.push_back(params);
        }
      }
    }
    return all;
  };
  row.build = [composition](const CommonProblem& problem, const GroupView& view, const Params& wanted,
                            int rank) {
    const Params params = with_parts(*composition, wanted);
    const Seen seen(view, params.islands);
    const auto steps_of = [&](std::size_t bytes, std::size_t lane) {
      return composition->steps({problem, seen.view(), params, rank, bytes, lane});
    };
    return flow(steps_of, view, params, rank, segments_of(composition->cut, problem, params.segment_bytes),
                static_cast<std::size_t>(params.leaders));
  };
  row.objection = [composition, unable](const CommonProblem& problem, const GroupView& view) -> Objection {
    Objection first;
    for (const Offer& offer : offers(*composition, view)) {
      Params params;
      params.parts = offer.parts;
      params.islands = offer.islands;
      const Objection reason = unable(problem, view, params);
      if (!reason) return std::nullopt;
      if (!first) first = reason;
    }
    return first;
  };
  row.objection_to = unable;
  return row;
}

CommonProblem Piece::problem_of(Collective collective, std::size_t n_ranks, std::size_t part_bytes,
                                int root) const {
  CommonProblem part = problem;
  part.collective = collective;
  part.n_ranks = static_cast<int>(n_ranks);
  part.bytes = part_bytes;
  part.root = root;
  return part;
}

Group Piece::everybody(Collective collective, std::size_t part_bytes, int root) const {
  return {rank_ring(problem.n_ranks, 0),
          problem_of(collective, static_cast<std::size_t>(problem.n_ranks), part_bytes, root)};
}

std::size_t Piece::in_blocks() const {
  const std::size_t grain = static_cast<std::size_t>(problem.n_ranks) * problem.element_bytes;
  return bytes / grain * grain;
}

Levels::Levels(const Piece& piece, int root)
    : piece_(piece),
      subnet_(static_cast<std::size_t>(piece.view.subnet_of_rank[static_cast<std::size_t>(piece.rank)])) {
  for (const net::SubnetView& subnet : piece.view.subnets) {
    const bool has_root = std::find(subnet.ranks.begin(), subnet.ranks.end(), root) != subnet.ranks.end();
    leaders_.push_back(has_root ? root : subnet.ranks[piece.lane % subnet.ranks.size()]);
    first_.push_back(packed_.size());
    packed_.insert(packed_.end(), subnet.ranks.begin(), subnet.ranks.end());
  }
}

int Levels::place_of_leader(std::size_t subnet) const {
  const auto& ranks = members(subnet);
  return static_cast<int>(std::find(ranks.begin(), ranks.end(), leaders_[subnet]) - ranks.begin());
}

std::vector<Group> Levels::inside(Collective collective, std::size_t bytes) const {
  std::vector<Group> groups;
  for (std::size_t s = 0; s < count(); ++s) {
    groups.push_back({members(s), piece_.problem_of(collective, members(s).size(), bytes,
                                                    coll::is_rooted(collective) ? place_of_leader(s) : 0)});
  }
  return groups;
}

std::vector<Group> Levels::inside_in_blocks(Collective collective, std::size_t block) const {
  std::vector<Group> groups = inside(collective, 0);
  for (Group& group : groups) group.problem.bytes = group.members.size() * block;
  return groups;
}

Group Levels::between(Collective collective, std::size_t bytes, std::size_t root) const {
  return {leaders_, piece_.problem_of(collective, count(), bytes, static_cast<int>(root))};
}

Group Levels::between_in_blocks(Collective collective, const Layer& layer, std::size_t block) const {
  const std::size_t n = layer.subnets.size();
  Group group{
      {},
      piece_.problem_of(collective, n, n * (layer.end - layer.begin) * block, static_cast<int>(layer.root))};
  for (const std::size_t s : layer.subnets) group.members.push_back(leaders_[s]);
  return group;
}

Layers Levels::layers(int root) const {
  const auto of_root = static_cast<std::size_t>(piece_.view.subnet_of_rank[static_cast<std::size_t>(root)]);
  std::set<std::size_t> sizes;
  for (std::size_t s = 0; s < count(); ++s) sizes.insert(members(s).size());
  Layers layers;
  std::size_t begin = 0;
  for (const std::size_t end : sizes) {
    Layer layer{.begin = begin, .end = end, .place = layers.ranks.size()};
    for (std::size_t s = 0; s < count(); ++s) {
      const std::vector<int>& ranks = members(s);
      if (ranks.size() < end && s != of_root) continue;
      if (s == of_root) layer.root = layer.subnets.size();
      layer.subnets.push_back(s);
      for (std::size_t i = begin; i < end; ++i) {
        layers.ranks.push_back(ranks[i % ranks.size()]);
        layers.is_spare.push_back(i >= ranks.size());
      }
    }
    layers.all.push_back(std::move(layer));
    begin = end;
  }
  return layers;
}

}  // namespace eco::algo
