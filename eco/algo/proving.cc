// Map: views and problems first, then Prover, which walks one task's cases; prove() is the entry.
#include "eco/algo/proving.h"

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include "eco/algo/algorithm.h"
#include "eco/algo/dice.h"
#include "eco/base/errors.h"
#include "eco/net/synthetic.h"
#include "eco/sched/verify.h"

namespace eco::algo {
namespace {

using coll::Collective;
using coll::CommonProblem;
using net::GroupView;

std::string plus_separated(const std::vector<int>& sizes) {
  std::string text;
  for (const int size : sizes) {
    if (size > 0) text += (text.empty() ? "" : "+") + std::to_string(size);
  }
  return text;
}

// A problem of so many elements, in each block where there are blocks.
CommonProblem of_elements(CommonProblem problem, std::size_t count) {
  problem.bytes = count * problem.element_bytes * coll::n_blocks(problem);
  return problem;
}

// Two numbers of 64 bits that tell sets of schedules apart: what a proof depends on, and no more.
class Digest {
 public:
  using Value = std::pair<std::uint64_t, std::uint64_t>;

  void add(std::uint64_t word) {
    // Two rounds of the finaliser of splitmix64 with different increments: two functions that share no structure.
    value_.first = mixed(value_.first + word + 0x9e3779b97f4a7c15);
    value_.second = mixed(value_.second * 3 + (word ^ 0xd1b54a32d192ed03));
  }
  Value value() const { return value_; }

 private:
  static std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  Value value_{1, 2};
};

Digest::Value digest(const CommonProblem& problem, const std::vector<sched::Schedule>& schedules,
                     bool in_place) {
  Digest digest;
  for (const std::size_t word :
       {problem.bytes, problem.element_bytes, std::size_t{problem.commutative}, std::size_t{in_place}}) {
    digest.add(word);
  }
  // Two graphs may have the same messages and mean different places.
  if (problem.neighbors) digest.add(std::stoull(problem.neighbors->digest(), nullptr, 16));
  for (const sched::Schedule& schedule : schedules) {
    digest.add(schedule.scratch_bytes);
    digest.add(static_cast<std::uint64_t>(schedule.n_channels));
    for (const std::uint8_t rail : schedule.rails) digest.add(rail);
    digest.add(static_cast<std::uint64_t>(schedule.window.messages_per_channel) * 2 +
               (schedule.window.synchronous ? 1 : 0));
    std::uint64_t n = 0;
    sched::Cursor cursor(schedule);
    while (const sched::Op* op = cursor.next()) {
      ++n;
      digest.add(static_cast<std::uint64_t>(op->kind) | static_cast<std::uint64_t>(op->collective) << 4 |
                 static_cast<std::uint64_t>(op->channel) << 8 |
                 static_cast<std::uint64_t>(op->peer + 1) << 32);
      for (const sched::Region& region : {op->source, op->target}) {
        digest.add(static_cast<std::uint64_t>(region.buffer) | region.offset << 2);
        digest.add(region.bytes);
      }
    }
    digest.add(n);
    for (const coll::RankGroup& group : schedule.groups) {
      digest.add(group.ranks.size() << 8 | static_cast<std::size_t>(group.lane));
      for (const int rank : group.ranks) digest.add(static_cast<std::uint64_t>(rank));
    }
  }
  return digest.value();
}

class Prover {
 public:
  Prover(const Algorithm& algorithm, const ProofTask& task, const ProofOptions& options)
      : algorithm_(algorithm),
        task_(task),
        options_(options),
        random_(options.seed * 1000003 + static_cast<std::uint64_t>(task.n_ranks) * 1009 +
                static_cast<std::uint64_t>(task.root)),
        graphs_(proof_graphs(algorithm.collective, task.n_ranks)) {}

  Proof run() {
    for (const GroupView& view : views()) {
      for (const auto& graph : graphs_) {
        for (CommonProblem problem : small_problems(algorithm_.collective, task_.n_ranks, task_.root)) {
          problem.neighbors = graph;
          prove_small(problem, view);
        }
      }
      if (algorithm_.collective == Collective::barrier) continue;
      for (const std::size_t bytes : kPlannedBytes) prove_planned(bytes, view);
      prove_pipeline(kLargeSegment, kLargeSegments, view);
    }
    if (algorithm_.collective != Collective::barrier && task_.n_ranks == kLongRanks &&
        task_.root == (coll::is_rooted(algorithm_.collective) ? kLongRanks - 1 : 0)) {
      const std::string rails = algorithm_.on_rails ? " rail_mbit=400" : "";
      prove_pipeline(kLongSegment, kLongSegments,
                     dealt_view("hosts=2+2+1 uplink_mbit=100" + rails, kLongRanks, 2));
    }
    return proof_;
  }

 private:
  // All of them; of many ranks one for each root but the first, all in turn.
  std::vector<GroupView> views() const {
    std::vector<GroupView> all =
        algorithm_.on_rails ? proof_views_with_rails(task_.n_ranks) : proof_views(task_.n_ranks);
    if (task_.n_ranks <= kMostRanksOnAllViews || task_.root == 0) return all;
    return {all[static_cast<std::size_t>(task_.root) % all.size()]};
  }

  static constexpr int kMostRanksOnAllViews = 17;
  // About a packet, some segments, many; multiples of 48, which most segments worth predicting are too: the verifier's
  // unit of memory is what divides both.
  static constexpr std::size_t kPlannedBytes[] = {48, 1392 * 4, 24624};
  // Pipelines keep eight segments of this size per child, so that these use their places in scratch memory again.
  static constexpr std::size_t kLargeSegment = std::size_t{64} << 10;
  static constexpr std::size_t kLargeSegments = 19;
  static constexpr std::size_t kMostElements = 64;  // of such a segment
  // More than twice the 512 operations that are looked ahead over, whatever one segment takes.
  static constexpr int kLongRanks = 5;
  static constexpr std::size_t kLongSegment = 64;
  static constexpr std::size_t kLongSegments = 600;
  // Messages for which the planner offers its whole variety: with windows, and without.
  static constexpr std::size_t kVariedBytes[] = {std::size_t{1} << 20, std::size_t{64} << 10, 4096};

  void prove_small(const CommonProblem& problem, const GroupView& view) {
    if (refuses(problem, view)) return;
    const std::size_t element = algorithm_.collective == Collective::barrier ? 1 : problem.element_bytes;
    const std::vector<Params> all = varied(problem, view);
    for (Params params : picked(all)) {
      cut(params, element);
      prove_if_served({algorithm_.name, params}, problem, view);
    }
    if (all.empty() || all.front().parts.empty()) return;
    for (std::size_t i = 0; i < std::max<std::size_t>(options_.picks, 1); ++i) {
      Params params = all[random_() % all.size()];
      cut(params, element);
      exchange_parts(algorithm_, params, random_);
      const std::size_t before = proof_.n_cases;
      prove_if_served({algorithm_.name, params}, problem, view);
      proof_.n_composed += proof_.n_cases - before;
    }
  }

  void cut(Params& params, std::size_t element) {
    params.segment_bytes = random_() % 4 * element;
    params.window = std::array{0, 0, 1, 3}[random_() % 4];
  }

  void prove_planned(std::size_t bytes, const GroupView& view) {
    CommonProblem problem{.collective = algorithm_.collective, .n_ranks = task_.n_ranks, .root = task_.root};
    problem.neighbors = any_graph();
    if (coll::is_reduction(problem.collective)) problem.element_bytes = sizeof(double);
    problem.bytes = coll::whole_bytes(problem, bytes);
    if (refuses(problem, view)) return;
    for (const Params& params : picked(algorithm_.candidates(problem, view))) {
      const Recipe recipe{algorithm_.name, params};
      if (const auto reason = why_not(recipe, problem, view)) {
        fail(recipe, problem, view, false, "its own candidate is refused: " + *reason);
      } else {
        prove_one(recipe, problem, view);
      }
    }
  }

  // So many segments and half of one: of the whole, or of every block. A long segment has as many elements as a short one,
  // since numbers of ranks or shares of rails that do not divide it cut it at any element: the verifier's unit of memory.
  void prove_pipeline(std::size_t segment, std::size_t n_segments, const GroupView& view) {
    CommonProblem problem{.collective = algorithm_.collective,
                          .n_ranks = task_.n_ranks,
                          .root = task_.root,
                          .element_bytes = std::max(sizeof(double), segment / kMostElements),
                          .neighbors = any_graph()};
    problem = of_elements(problem, (n_segments * segment + segment / 2) / problem.element_bytes);
    if (refuses(problem, view)) return;
    for (Params params : picked(varied(problem, view), 1)) {
      params.segment_bytes = segment;
      params.window = static_cast<int>(random_() % 3);
      prove_if_served({algorithm_.name, params}, problem, view);
    }
  }

  const std::shared_ptr<const coll::Neighborhood>& any_graph() { return graphs_[random_() % graphs_.size()]; }

  bool refuses(const CommonProblem& problem, const GroupView& view) {
    if (!algorithm_.why_not(problem, view)) return false;
    ++proof_.n_refused;
    return true;
  }

  // The parameters of a longer message but for its segments, each once.
  std::vector<Params> varied(const CommonProblem& problem, const GroupView& view) const {
    CommonProblem longer = problem;
    for (const std::size_t bytes : kVariedBytes) {
      if (problem.collective == Collective::barrier) break;
      longer.bytes = coll::whole_bytes(problem, bytes);
      if (!algorithm_.why_not(longer, view)) break;
      longer = problem;
    }
    std::vector<Params> all;
    for (Params params : algorithm_.candidates(longer, view)) {
      params.segment_bytes = 0;
      params.window = 0;
      if (std::find(all.begin(), all.end(), params) == all.end()) all.push_back(std::move(params));
    }
    return all;
  }

  std::vector<Params> picked(std::vector<Params> all) { return picked(std::move(all), options_.picks); }
  std::vector<Params> picked(std::vector<Params> all, std::size_t n) {
    if (n == 0 || all.size() <= n) return all;
    std::shuffle(all.begin(), all.end(), random_);
    all.resize(n);
    return all;
  }

  // Parameters that were made for another length need not fit this one.
  void prove_if_served(const Recipe& recipe, const CommonProblem& problem, const GroupView& view) {
    if (why_not(recipe, problem, view)) {
      ++proof_.n_refused;
    } else {
      prove_one(recipe, problem, view);
    }
  }

  void prove_one(const Recipe& recipe, const CommonProblem& problem, const GroupView& view) {
    const std::vector<sched::Schedule> schedules = build_all(recipe, problem, view);
    for (const bool in_place : {false, true}) {
      if (in_place && algorithm_.collective != Collective::allreduce) continue;
      ++proof_.n_cases;
      proof_.n_native += schedules.front().groups.empty() ? 0 : 1;
      proof_.n_ordered += problem.commutative ? 0 : 1;
      proof_.n_in_place += in_place ? 1 : 0;
      if (!seen_.insert(digest(problem, schedules, in_place)).second) continue;
      ++proof_.n_distinct;
      if (const auto fault = sched::verify(problem, schedules, {.input_is_output = in_place})) {
        fail(recipe, problem, view, in_place, fault->what);
      }
    }
  }

  void fail(const Recipe& recipe, const CommonProblem& problem, const GroupView& view, bool in_place,
            const std::string& what) {
    if (proof_.faults.size() == Proof::kMostFaults) return;
    std::string hosts;
    for (const int host : view.host_of_rank) hosts += (hosts.empty() ? "" : ",") + std::to_string(host);
    proof_.faults.push_back(recipe.text() + " of " + std::to_string(problem.bytes) +
                            " bytes in elements of " + std::to_string(problem.element_bytes) + ", root " +
                            std::to_string(problem.root) + (problem.commutative ? "" : ", not commutative") +
                            (in_place ? ", in place" : "") + ", on " + view.network->note +
                            " with ranks on hosts " + hosts + ": " + what);
  }

  const Algorithm& algorithm_;
  const ProofTask& task_;
  const ProofOptions& options_;
  std::mt19937_64 random_;
  std::vector<std::shared_ptr<const coll::Neighborhood>> graphs_;
  std::set<Digest::Value> seen_;
  Proof proof_;
};

}  // namespace

net::GroupView dealt_view(const std::string& network, int n_ranks, int stride) {
  auto built = std::make_shared<net::Network>(net::synthetic_network(network));
  std::vector<int> host_of_rank;
  for (int rank = 0; rank < n_ranks; ++rank) host_of_rank.push_back(rank * stride % built->n_hosts());
  return net::make_view(std::move(built), std::move(host_of_rank));
}

std::vector<net::GroupView> proof_views(int n_ranks) {
  const auto subnets = [](const std::vector<int>& sizes) {
    return "hosts=" + plus_separated(sizes) + " uplink_mbit=100";
  };
  std::vector<GroupView> all;
  all.push_back(dealt_view(subnets({n_ranks}), n_ranks));
  if (n_ranks >= 2) {
    all.push_back(dealt_view(subnets({n_ranks - n_ranks / 2, n_ranks / 2}), n_ranks));
    all.push_back(dealt_view(subnets(std::vector<int>(static_cast<std::size_t>(n_ranks), 1)), n_ranks));
  }
  if (n_ranks >= 3) {
    const int third = n_ranks / 3;
    const int more = third > 1 ? 1 : 0;
    const std::vector<int> unequal = {n_ranks - 2 * third + more, third, third - more};
    all.push_back(dealt_view(subnets(unequal), n_ranks, n_ranks % 5 == 0 ? 3 : 5));
    all.push_back(dealt_view(subnets(unequal) + " kind=bus", n_ranks));
    all.push_back(dealt_view("hosts=1+2 uplink_mbit=100", n_ranks));
    all.push_back(dealt_view(subnets(unequal) + " sites=1+2+1 site_mbit=20 far_us=5000", n_ranks));
  }
  return all;
}

std::vector<net::GroupView> proof_views_with_rails(int n_ranks) {
  std::vector<GroupView> all;
  const std::string one = "hosts=" + std::to_string(n_ranks);
  all.push_back(dealt_view(one + " rail_mbit=1000", n_ranks));
  all.push_back(dealt_view(one + " rail_mbit=400", n_ranks, n_ranks % 3 == 0 ? 1 : 3));
  if (n_ranks >= 2) {
    const std::string two =
        "hosts=" + plus_separated({n_ranks - n_ranks / 2, n_ranks / 2}) + " uplink_mbit=100";
    all.push_back(dealt_view(two + " rail_mbit=1000", n_ranks));
    all.push_back(dealt_view(two + " rail_mbit=300+70", n_ranks, n_ranks % 5 == 0 ? 3 : 5));
  }
  if (n_ranks >= 3) {
    const std::string three = "hosts=" + plus_separated({n_ranks - 2, 1, 1}) + " uplink_mbit=100";
    all.push_back(dealt_view(three + " sites=1+1+2 site_mbit=20 far_us=5000 rail_mbit=1000", n_ranks));
  }
  return all;
}

std::vector<coll::CommonProblem> small_problems(Collective collective, int n_ranks, int root) {
  CommonProblem problem{.collective = collective, .n_ranks = n_ranks, .root = root};
  if (collective == Collective::barrier) return {problem};
  const auto n = static_cast<std::size_t>(n_ranks);
  std::set<std::size_t> counts = {0, 1, 2, 7};
  if (!coll::is_blocked(collective)) counts.insert({std::max<std::size_t>(n, 2) - 1, n + 1, 2 * n + 3});
  std::vector<CommonProblem> all;
  for (const std::size_t count : counts) {
    problem.element_bytes = sizeof(double);
    problem.commutative = true;
    all.push_back(of_elements(problem, count));
    if (coll::is_reduction(collective)) {
      problem.commutative = false;
    } else {
      problem.element_bytes = 1;
    }
    all.push_back(of_elements(problem, count));
  }
  return all;
}

std::vector<std::shared_ptr<const coll::Neighborhood>> proof_graphs(Collective collective, int n_ranks) {
  if (!coll::follows_graph(collective)) return {nullptr};
  using Lists = std::vector<std::vector<int>>;
  constexpr int kNobody = coll::Neighborhood::kNobody;
  const auto n = static_cast<std::size_t>(n_ranks);
  std::vector<std::shared_ptr<const coll::Neighborhood>> all;
  Lists line(n);
  Lists ring(n);
  Lists pairs(n);
  for (int r = 0; r < n_ranks; ++r) {
    const auto at = static_cast<std::size_t>(r);
    line[at] = {r - 1, r + 1 < n_ranks ? r + 1 : kNobody};
    ring[at] = {(r + n_ranks - 1) % n_ranks, (r + 1) % n_ranks};
    const int partner = (r ^ 1) < n_ranks ? r ^ 1 : r;
    pairs[at] = {ring[at][0], ring[at][1], partner, partner};
  }
  for (const Lists& grid : {line, ring, pairs}) {
    all.push_back(coll::paired(grid, grid, coll::Pairing::opposite));
  }
  std::mt19937_64 random(static_cast<std::uint64_t>(n_ranks));
  for (const std::size_t n_edges : {n, 5 * n}) {
    Lists sources(n);
    Lists targets(n);
    // The last rank is alone in the graph of few edges.
    const std::uint64_t among = n_edges == n && n > 2 ? n - 1 : n;
    for (std::size_t i = 0; i < n_edges; ++i) {
      const std::size_t from = random() % among;
      const std::size_t to = random() % among;
      targets[from].push_back(static_cast<int>(to));
      sources[to].push_back(static_cast<int>(from));
    }
    // Each rank lists its neighbours as it likes.
    for (auto* lists : {&sources, &targets}) {
      for (std::vector<int>& list : *lists) std::shuffle(list.begin(), list.end(), random);
    }
    all.push_back(coll::paired(sources, targets, coll::Pairing::in_order));
  }
  return all;
}

std::vector<ProofTask> proof_tasks(const std::vector<int>& n_ranks,
                                   const std::vector<Collective>& collectives, const std::string& algorithm) {
  if (!algorithm.empty() && find(algorithm) == nullptr) {
    throw InvalidArgument("there is no algorithm '" + algorithm + "'");
  }
  std::vector<int> sizes = n_ranks;
  std::sort(sizes.rbegin(), sizes.rend());
  if (!sizes.empty() && sizes.back() < 1) {
    throw InvalidArgument(std::to_string(sizes.back()) + " ranks: a group has one at least");
  }
  std::vector<ProofTask> tasks;
  for (const int n : sizes) {
    for (const Algorithm& each : registry()) {
      if (!algorithm.empty() && each.name != algorithm) continue;
      const auto wants_it = [&](Collective wanted) { return coll::algorithms_of(wanted) == each.collective; };
      if (!collectives.empty() && std::none_of(collectives.begin(), collectives.end(), wants_it)) continue;
      const int n_roots = coll::is_rooted(each.collective) ? n : 1;
      for (int root = 0; root < n_roots; ++root) tasks.push_back({each.name, n, root});
    }
  }
  return tasks;
}

Proof prove(const ProofTask& task, const ProofOptions& options) {
  const Algorithm* algorithm = find(task.algorithm);
  if (algorithm == nullptr) throw InvalidArgument("there is no algorithm '" + task.algorithm + "'");
  if (task.n_ranks < 1 || task.root < 0 || task.root >= task.n_ranks) {
    throw InvalidArgument("no task: root " + std::to_string(task.root) + " of " +
                          std::to_string(task.n_ranks) + " ranks");
  }
  return Prover(*algorithm, task, options).run();
}

}  // namespace eco::algo
