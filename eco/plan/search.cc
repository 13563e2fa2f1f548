// Map: Search::run() is the whole; starts_of() makes what it begins with, climb() improves one recipe, and Moves is the
// table of small changes.
#include "eco/plan/search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "eco/algo/algorithm.h"
#include "eco/algo/at_sites.h"
#include "eco/model/segment_search.h"
#include "eco/net/tour.h"
#include "eco/plan/proving.h"

namespace eco::plan {
namespace {

using algo::Params;
using algo::Recipe;
using algo::Shape;
using coll::Collective;
using coll::CommonProblem;
using net::Distances;
using net::GroupView;

constexpr double kNever_s = std::numeric_limits<double>::infinity();
// Starts this much above the best one are not worth a prediction to the end.
constexpr double kFar = 3.0;
// So many starts are climbed from, the best first.
constexpr std::size_t kClimbed = 4;
// Changes in a row that bring nothing after which a climb ends; more where there is more to change.
constexpr std::size_t kPatience = 50;
constexpr std::size_t kPatiencePerSubnet = 10;
// What climbing has of the steps; the rest is for segments.
constexpr double kClimbShare = 0.8;
// Segments beyond the usual ones: none shorter, and whole elements of every common type.
constexpr std::size_t kLeastSegment = 256;
constexpr std::size_t kSegmentStep = 16;
// Leaders that take turns, at most: each has channels of its own, of which there are a few thousand.
constexpr int kMostLeaders = 4;
// Hubs of stars, and results, at most.
constexpr std::size_t kMostHubs = 8;
constexpr std::size_t kMostFound = 3;

std::vector<int> counting(std::size_t n) {
  std::vector<int> list(n);
  std::iota(list.begin(), list.end(), 0);
  return list;
}

// Prim's tree over the fastest links (its slowest link is as fast as any tree's); parents by subnet.
std::vector<int> fastest_tree(std::size_t n_subnets, const Distances& distances) {
  std::vector<int> parent(n_subnets, 0);
  std::vector<bool> joined(n_subnets);
  parent[0] = -1;
  joined[0] = true;
  for (std::size_t left = n_subnets - 1; left > 0; --left) {
    std::optional<std::size_t> next;
    const auto cost = [&](std::size_t s) { return distances(parent[s], static_cast<int>(s)); };
    for (std::size_t s = 0; s < n_subnets; ++s) {
      if (!joined[s] && (!next || cost(s) < cost(*next))) next = s;
    }
    joined[*next] = true;
    for (std::size_t s = 0; s < n_subnets; ++s) {
      if (!joined[s] && distances(static_cast<int>(*next), static_cast<int>(s)) < cost(s))
        parent[s] = static_cast<int>(*next);
    }
  }
  return parent;
}

std::vector<int> star(std::size_t n_subnets, int hub) {
  std::vector<int> parent(n_subnets, hub);
  parent[static_cast<std::size_t>(hub)] = -1;
  return parent;
}

bool is_below(const std::vector<int>& tree, int subnet, int above) {
  for (; subnet >= 0; subnet = tree[static_cast<std::size_t>(subnet)]) {
    if (subnet == above) return true;
  }
  return false;
}

// What there is to change in an algorithm's parameters.
struct Knobs {
  bool trees = false;   // of subnets
  bool owners = false;  // of an allreduce's segments; who passes on a broadcast's
  bool ring = false;    // ranks in an order that may be another than rank order
  bool inside = false;  // the shape inside subnets
  bool degree = false;
  std::vector<std::size_t> segments;  // as the algorithm's own candidates have them, as the rest
  std::vector<int> windows;
  std::vector<int> heads;
  std::vector<int> tails;
  int leaders = 1;                              // at most; of a composition
  std::vector<std::vector<std::string>> parts;  // that each of its places may have
};

// What may stand in each place of a composition: what is no composition itself.
std::vector<std::vector<std::string>> places_of_parts(const algo::Algorithm& algorithm) {
  std::vector<std::vector<std::string>> places;
  for (const Collective collective : algorithm.parts) {
    std::vector<std::string>& place = places.emplace_back();
    for (const algo::Algorithm& part : algo::registry()) {
      if (part.collective == collective && part.parts.empty() && !part.on_rails) place.push_back(part.name);
    }
  }
  return places;
}

Knobs knobs_of(const algo::Algorithm& algorithm, const std::vector<Candidate>& fixed, const GroupView& view) {
  const std::string_view pattern = std::string_view(algorithm.name).substr(algorithm.name.find('/') + 1);
  // Each pair of an exchange talks directly, and prefixes go from rank to rank by their meaning.
  const bool is_fixed = algorithm.collective == Collective::alltoall ||
                        algorithm.collective == Collective::scan ||
                        algorithm.collective == Collective::exscan;
  Knobs knobs;
  knobs.trees = pattern == "subnets" && !is_fixed && view.n_subnets() > 1;
  knobs.owners = knobs.trees && (algorithm.collective == Collective::allreduce ||
                                 algorithm.collective == Collective::broadcast);
  for (const std::string_view known : {"ring", "chain", "flat", "kary", "binomial"}) {
    knobs.ring = knobs.ring || (pattern == known && !is_fixed && view.n_ranks() > 2);
  }
  knobs.inside = knobs.trees || (pattern == "leaders" && !is_fixed);
  knobs.degree = knobs.inside || pattern == "kary";
  std::set<std::size_t> segments;
  std::set<int> windows;
  std::set<int> heads;
  std::set<int> tails;
  for (const Candidate& candidate : fixed) {
    if (candidate.recipe.algorithm != algorithm.name) continue;
    segments.insert(candidate.recipe.params.segment_bytes);
    windows.insert(candidate.recipe.params.window);
    heads.insert(candidate.recipe.params.head);
    tails.insert(candidate.recipe.params.tail);
    knobs.leaders = std::max(knobs.leaders, candidate.recipe.params.leaders);
  }
  knobs.parts = places_of_parts(algorithm);
  if (knobs.leaders > 1) knobs.leaders = kMostLeaders;
  knobs.segments.assign(segments.begin(), segments.end());
  knobs.windows.assign(windows.begin(), windows.end());
  knobs.heads.assign(heads.begin(), heads.end());
  knobs.tails.assign(tails.begin(), tails.end());
  return knobs;
}

// Small random changes of an algorithm's parameters.
class Moves {
 public:
  Moves(const Knobs& knobs, const GroupView& view, std::mt19937_64& random)
      : knobs_(knobs), view_(view), random_(random) {
    if (knobs.segments.size() > 1) all_.push_back(&Moves::segment);
    if (knobs.windows.size() > 1) all_.push_back(&Moves::window);
    if (knobs.heads.size() > 1) all_.push_back(&Moves::head);
    if (knobs.tails.size() > 1) all_.push_back(&Moves::tail);
    if (knobs.inside) all_.push_back(&Moves::inside);
    if (knobs.degree) all_.push_back(&Moves::degree);
    if (knobs.leaders > 1) all_.push_back(&Moves::leaders);
    if (!knobs.parts.empty()) all_.push_back(&Moves::part);
    if (knobs.ring) all_.push_back(&Moves::ring);
    if (knobs.trees) all_.push_back(&Moves::first);
    if (knobs.owners) all_.push_back(&Moves::owners);
    if (knobs.trees && view.n_subnets() > 2) {
      for (const Move move : {&Moves::order, &Moves::rehang, &Moves::between}) all_.push_back(move);
    }
  }

  bool are_there() const { return !all_.empty(); }

  // One change, now and then two.
  void change(Params& params) {
    for (int left = below(4) == 0 ? 2 : 1; left > 0; --left) (this->*all_[below(all_.size())])(params);
  }

 private:
  using Move = void (Moves::*)(Params&);

  std::size_t below(std::size_t n) { return random_() % n; }
  template <class T>
  T pick(const std::vector<T>& list) {
    return list[below(list.size())];
  }
  std::size_t n_subnets() const { return view_.subnets.size(); }

  void segment(Params& p) { p.segment_bytes = pick(knobs_.segments); }
  void window(Params& p) { p.window = pick(knobs_.windows); }
  void head(Params& p) { p.head = pick(knobs_.heads); }
  void tail(Params& p) { p.tail = pick(knobs_.tails); }
  void inside(Params& p) { p.inside = static_cast<Shape>(below(4)); }
  void degree(Params& p) { p.degree = 2 + static_cast<int>(below(3)); }
  void leaders(Params& p) {
    p.leaders = 1 + static_cast<int>(below(static_cast<std::size_t>(knobs_.leaders)));
  }
  // The library's own stays where it is: what it takes is not known.
  void part(Params& p) {
    const std::size_t place = below(knobs_.parts.size());
    if (place < p.parts.size() && p.parts[place] != algo::kNativePart)
      p.parts[place] = pick(knobs_.parts[place]);
  }
  void between(Params& p) {
    p.tree.clear();
    p.between = static_cast<Shape>(below(4));
  }

  // Two change places, one moves elsewhere, or a run is turned round.
  void permute(std::vector<int>& list, std::size_t n) {
    if (list.empty()) list = counting(n);
    std::size_t a = below(n);
    std::size_t b = below(n);
    if (a > b) std::swap(a, b);
    const auto at = [&](std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
    switch (below(3)) {
      case 0:
        std::swap(list[a], list[b]);
        break;
      case 1:
        std::rotate(at(a), at(a) + 1, at(b) + 1);
        break;
      default:
        std::reverse(at(a), at(b) + 1);
        break;
    }
  }
  void order(Params& p) { permute(p.order, n_subnets()); }
  void ring(Params& p) { permute(p.ring, static_cast<std::size_t>(view_.n_ranks())); }

  // One subnet, with what is below it, hangs from another one.
  void rehang(Params& p) {
    if (p.tree.empty()) p.tree = star(n_subnets(), static_cast<int>(below(n_subnets())));
    const std::size_t subnet = below(n_subnets());
    const int parent = static_cast<int>(below(n_subnets()));
    if (p.tree[subnet] < 0 || is_below(p.tree, parent, static_cast<int>(subnet))) return;
    p.tree[subnet] = parent;
  }

  void first(Params& p) {
    if (p.first.empty()) p.first.assign(n_subnets(), 0);
    const std::size_t subnet = below(n_subnets());
    p.first[subnet] = static_cast<int>(below(view_.subnets[subnet].ranks.size()));
  }

  void owners(Params& p) {
    if (p.owners.empty()) p.owners = counting(n_subnets());
    const int subnet = static_cast<int>(below(n_subnets()));
    const std::size_t place = below(p.owners.size());
    switch (below(3)) {
      case 0:
        if (p.owners.size() > 1) p.owners.erase(p.owners.begin() + static_cast<std::ptrdiff_t>(place));
        break;
      case 1:
        if (p.owners.size() < 2 * n_subnets()) p.owners.push_back(subnet);
        break;
      default:
        p.owners[place] = subnet;
        break;
    }
  }

  const Knobs& knobs_;
  const GroupView& view_;
  std::mt19937_64& random_;
  std::vector<Move> all_;
};

class Search {
 public:
  Search(const CommonProblem& problem, const GroupView& view, const std::vector<Candidate>& fixed,
         const SearchOptions& options)
      : problem_(problem), view_(view), fixed_(fixed), options_(options), random_(options.seed) {}

  SearchResult run() && {
    double best_s = kNever_s;
    for (const Candidate& candidate : fixed_) {
      if (is_known(candidate)) best_s = std::min(best_s, candidate.forecast.seconds);
    }
    const double fixed_s = best_s;
    std::vector<Candidate> starts;
    for (const algo::Algorithm& algorithm : algo::registry()) {
      if (algorithm.collective != coll::algorithms_of(problem_.collective) ||
          algorithm.why_not(problem_, view_))
        continue;
      const auto base = std::find_if(fixed_.begin(), fixed_.end(), [&](const Candidate& candidate) {
        return candidate.why_not.empty() && candidate.recipe.algorithm == algorithm.name;
      });
      if (base == fixed_.end()) continue;
      const Knobs& knobs = knobs_.emplace(algorithm.name, knobs_of(algorithm, fixed_, view_)).first->second;
      if (is_known(*base)) starts.push_back(*base);
      Recipe of_subnets = base->recipe;
      // The starts' lists are of subnets.
      if (!of_subnets.params.sites.empty()) {
        of_subnets.params.sites.clear();
        of_subnets.params.order.clear();
        of_subnets.params.tree.clear();
        of_subnets.params.first.clear();
        of_subnets.params.owners.clear();
      }
      for (const Recipe& recipe : starts_of(of_subnets, knobs)) {
        auto candidate = predict(recipe, kFar * best_s);
        if (!candidate) continue;
        best_s = std::min(best_s, candidate->forecast.seconds);
        starts.push_back(std::move(*candidate));
      }
    }
    std::stable_sort(starts.begin(), starts.end(), [](const Candidate& a, const Candidate& b) {
      return a.forecast.seconds < b.forecast.seconds;
    });
    starts.resize(std::min(starts.size(), kClimbed));
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::size_t left = options_.most_steps - std::min(options_.most_steps, result_.n_steps);
      const auto steps = static_cast<double>(left / (starts.size() - i));
      refine_segment(climb(std::move(starts[i]), static_cast<std::size_t>(kClimbShare * steps)));
    }
    return finish(fixed_s);
  }

 private:
  static bool is_known(const Candidate& candidate) {
    return candidate.why_not.empty() && !candidate.forecast.given_up;
  }

  bool is_over() const {
    return result_.n_steps >= options_.most_steps || (options_.time_is_up && options_.time_is_up());
  }

  // Nothing if it takes longer than `limit_s`, cannot be, or was predicted before.
  std::optional<Candidate> predict(const Recipe& recipe, double limit_s) {
    if (is_over()) return std::nullopt;
    const auto [seen, is_new] = seen_.try_emplace(recipe.text(), kNever_s);
    if (!is_new) return std::nullopt;
    ++result_.n_steps;
    if (algo::why_not(recipe, problem_, view_)) return std::nullopt;
    ForecastOptions limited = options_.forecast;
    limited.stop_after_s = std::min(limited.stop_after_s, limit_s);
    Candidate candidate = candidate_of(recipe, problem_, view_, limited);
    // An extrapolated one may end beyond the limit that its shorter schedules kept.
    if (!is_known(candidate) || candidate.forecast.seconds > limit_s) return std::nullopt;
    seen->second = candidate.forecast.seconds;
    const auto [best, is_first] = best_.try_emplace(recipe.algorithm, candidate);
    if (!is_first && candidate.forecast.seconds < best->second.forecast.seconds) best->second = candidate;
    return candidate;
  }

  // Patterns for unequal links, with the shapes and segments of `base`.
  std::vector<Recipe> starts_of(const Recipe& base, const Knobs& knobs) const {
    std::vector<Recipe> starts;
    const std::size_t bytes = base.params.segment_bytes > 0 ? base.params.segment_bytes : problem_.bytes;
    const std::size_t n = view_.subnets.size();
    if (knobs.ring && n > 1) {
      Recipe recipe = base;
      for (const int subnet : net::min_max_tour(view_, bytes)) {
        const auto& ranks = view_.subnets[static_cast<std::size_t>(subnet)].ranks;
        recipe.params.ring.insert(recipe.params.ring.end(), ranks.begin(), ranks.end());
      }
      starts.push_back(std::move(recipe));
    }
    if (!knobs.trees) return starts;
    const Distances distances(view_, bytes);
    std::vector<int> hubs = net::nearest_first(view_, distances);
    if (hubs.size() > kMostHubs) hubs.erase(hubs.begin() + kMostHubs, hubs.end());
    std::vector<std::vector<int>> trees;
    for (const int hub : hubs) trees.push_back(star(n, hub));
    trees.push_back(fastest_tree(n, distances));
    for (std::size_t t = 0; t < trees.size(); ++t) {
      Recipe recipe = base;
      recipe.params.head = recipe.params.tail = 0;
      recipe.params.owners.clear();
      recipe.params.tree = trees[t];
      starts.push_back(recipe);
      if (problem_.collective != Collective::allreduce || t >= hubs.size()) continue;
      recipe.params.owners = {hubs[t]};
      starts.push_back(std::move(recipe));
    }
    return starts;
  }

  Candidate climb(Candidate current, std::size_t n_steps) {
    const algo::AtSites seen(view_, current.recipe.params);
    Moves moves(knobs_.at(current.recipe.algorithm), seen.view(), random_);
    if (!moves.are_there()) return current;
    const std::size_t end = result_.n_steps + n_steps;
    const std::size_t patience = kPatience + kPatiencePerSubnet * view_.subnets.size();
    for (std::size_t in_vain = 0; in_vain < patience && result_.n_steps < end && !is_over(); ++in_vain) {
      Recipe changed = current.recipe;
      moves.change(changed.params);
      auto candidate = predict(changed, current.forecast.seconds);
      if (!candidate) continue;
      if (candidate->forecast.seconds < current.forecast.seconds) in_vain = 0;
      current = std::move(*candidate);
    }
    return current;
  }

  // The same with segments that are nobody's usual ones (section 3 of the 2004 paper, by predictions), as far as steps and
  // time are left.
  void refine_segment(const Candidate& found) {
    const std::size_t present = found.recipe.params.segment_bytes;
    if (present == 0) return;
    const std::vector<std::size_t>& usual = knobs_.at(found.recipe.algorithm).segments;
    const model::SegmentRange range{.bytes = std::max(usual.back(), present),
                                    .least_bytes = kLeastSegment,
                                    .element_bytes = kSegmentStep};
    model::search_segment(range, [&](std::size_t segment) {
      if (segment == present) return found.forecast.seconds;
      Recipe recipe = found.recipe;
      recipe.params.segment_bytes = segment;
      predict(recipe, kFar * found.forecast.seconds);
      const auto seen = seen_.find(recipe.text());
      return seen == seen_.end() ? kNever_s : seen->second;
    });
  }

  // What a plateau's walk has left in a recipe without need goes: lists first, since they are longest.
  Candidate simplified(Candidate candidate) const {
    const auto try_without = [&](auto member) {
      Candidate plain = candidate;
      plain.recipe.params.*member = Params{}.*member;
      if (plain.recipe == candidate.recipe || algo::why_not(plain.recipe, problem_, view_)) return;
      plain = candidate_of(plain.recipe, problem_, view_, options_.forecast);
      if (is_known(plain) && plain.forecast.seconds <= candidate.forecast.seconds)
        candidate = std::move(plain);
    };
    for (const auto list : {&Params::ring, &Params::first, &Params::order, &Params::owners, &Params::tree})
      try_without(list);
    try_without(&Params::parts);
    for (const auto number : {&Params::head, &Params::tail, &Params::window, &Params::leaders})
      try_without(number);
    return candidate;
  }

  SearchResult finish(double fixed_s) {
    for (const auto& [algorithm, candidate] : best_) {
      if (candidate.forecast.seconds >= fixed_s) continue;
      Candidate plain = simplified(candidate);
      if (!prove(plain.recipe, problem_, view_)) result_.found.push_back(std::move(plain));
    }
    std::stable_sort(result_.found.begin(), result_.found.end(), [](const Candidate& a, const Candidate& b) {
      return a.forecast.seconds < b.forecast.seconds;
    });
    if (result_.found.size() > kMostFound) result_.found.resize(kMostFound);
    return std::move(result_);
  }

  const CommonProblem& problem_;
  const GroupView& view_;
  const std::vector<Candidate>& fixed_;
  const SearchOptions& options_;
  std::mt19937_64 random_;
  std::map<std::string, Knobs> knobs_;     // by algorithm
  std::map<std::string, Candidate> best_;  // by algorithm
  std::map<std::string, double> seen_;     // by recipe: what it was predicted to take, if it was to the end
  SearchResult result_;
};

}  // namespace

SearchResult search(const CommonProblem& problem, const GroupView& view, const std::vector<Candidate>& fixed,
                    const SearchOptions& options) {
  return Search(problem, view, fixed, options).run();
}

}  // namespace eco::plan
