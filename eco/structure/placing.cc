#include "eco/structure/placing.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <unordered_set>

namespace eco::structure {
namespace {

// A latency that is off from the tree's by more than so many errors is doubted.
constexpr double kMisfit = 1.5;
// Fewer hosts than this are measured with all their pairs.
constexpr std::size_t kLandmarks = 32;
// A way that two have in common must be so many errors of the way between them, there and back.
constexpr double kErrorsInCommon = 3.5;
// Branches that a host asks at least, if there are: what is common to all but one is the way to the node.
constexpr std::size_t kBranches = 4;
// Hosts on a node that ask all others there before it is believed that nobody there has neighbours of his own.
constexpr std::size_t kAsking = 3;
constexpr std::size_t kMostAsking = 32;
constexpr int kMostRounds = 200;
// After so many rounds without a new node who is on a link stays where he is, and after so many in which hosts asked each
// other nobody asks any more.
constexpr int kFutile = 4;
constexpr int kFutileAsks = 3;
// Hosts that become landmarks because they are not in their place, at a time.
constexpr int kMostMoved = 16;
constexpr int kMostChecks = 4;
// Hosts of each branch that a host asks whether it is in its place, of so many that are looked at.
constexpr std::size_t kOfABranch = 2;
constexpr std::size_t kLooks = 8;
// Representatives may be this much farther than the nearest.
constexpr double kAsNear = 1.25;

class Placing {
 public:
  Placing(Sampler& sampler, int n_hosts, unsigned long seed)
      : sampler_(sampler),
        is_landmark_(n_hosts, false),
        has_asked_(n_hosts, false),
        places_(n_hosts),
        random_(seed) {
    std::vector<int> hosts(n_hosts);
    std::iota(hosts.begin(), hosts.end(), 0);
    std::shuffle(hosts.begin(), hosts.end(), random_);
    if (hosts.size() > kLandmarks) hosts.resize(kLandmarks);
    for (const int host : hosts) add_landmark(host);
  }

  LatencyTree run() {
    for (int round = 0; round < kMostRounds; ++round) {
      const std::size_t before = landmarks_.size();
      build();
      note_growth();
      go_down();
      if (landmarks_.size() == before) ask_around();
      if (landmarks_.size() == before && !is_asking_ && n_checks_ < kMostChecks) check_places();
      if (landmarks_.size() == before && !is_asking_) break;
    }
    for (std::size_t host = 0; host < places_.size(); ++host) {
      // Who became a landmark in the very last round is not in the tree yet, and has a place like the others.
      if (node_of_[host] >= 0) continue;
      TreeNode leaf{places_[host].node, {}, static_cast<int>(host), places_[host].way_s};
      tree_.nodes[leaf.parent].children.push_back(static_cast<int>(tree_.nodes.size()));
      tree_.nodes.push_back(std::move(leaf));
    }
    tree_.hang_from_line();
    return std::move(tree_);
  }

 private:
  struct Place {
    int node = -1;
    double way_s = 0;    // to the node
    double error_s = 0;  // by which that may be wrong
  };
  struct Answer {
    int child;
    int host;       // who was asked
    double beyond;  // from the node to who was asked
  };

  // New landmarks that show no new node say that what hosts have in common is too little for one.
  void note_growth() {
    const auto n_inner = std::count_if(tree_.nodes.begin(), tree_.nodes.end(),
                                       [](const TreeNode& node) { return node.children.size() > 1; });
    ++n_futile_;
    if (n_inner <= most_inner_) return;
    most_inner_ = n_inner;
    n_futile_ = n_futile_asks_ = 0;
  }

  void add_landmark(int host) {
    if (is_landmark_[host]) return;
    is_landmark_[host] = true;
    landmarks_.push_back(host);
  }

  bool is_leaf(int node) const { return tree_.nodes[node].host >= 0; }

  void build() {
    std::vector<Pair> pairs;
    for (std::size_t i = 0; i < landmarks_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) pairs.push_back({landmarks_[j], landmarks_[i]});
    }
    // So that rounds of disjoint pairs are full.
    std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& x, const Pair& y) {
      return (x.from + x.to) % 61 < (y.from + y.to) % 61;
    });
    sampler_.want(pairs);
    group();
    const std::vector<Pair> doubtful = misfits(pairs);
    if (doubtful.empty()) return;
    if (most_inner_ == 0) sampler_.judge_rounds(doubtful.size(), pairs.size());
    sampler_.measure_anew(doubtful);
    group();
  }

  void group() {
    tree_ = group_hosts(
        landmarks_, [this](int a, int b) { return sampler_.latency_s(a, b); },
        [this](double latency_s) { return sampler_.error_s(latency_s); });
    node_of_.assign(is_landmark_.size(), -1);
    for (std::size_t node = 0; node < tree_.nodes.size(); ++node) {
      if (tree_.nodes[node].host >= 0) node_of_[tree_.nodes[node].host] = static_cast<int>(node);
    }
  }

  // Pairs, doubted once each, that the tree of all the others says something else of: one wrong latency to a far host can hide
  // from all others what two near ones have in common.
  std::vector<Pair> misfits(const std::vector<Pair>& pairs) {
    std::vector<Pair> found;
    for (const Pair& pair : pairs) {
      const double measured = sampler_.latency_s(pair.from, pair.to);
      const double by_tree = tree_.way_s(node_of_[pair.from], node_of_[pair.to]);
      if (std::abs(by_tree - measured) > kMisfit * sampler_.error_s(measured) &&
          doubted_.insert(pair_key(pair.from, pair.to)).second) {
        found.push_back(pair);
      }
    }
    return found;
  }

  // The landmarks of a branch that are not much farther from the node than its nearest.
  std::vector<Answer> near_leaves(int child, int node) const {
    std::vector<Answer> leaves;
    double nearest = std::numeric_limits<double>::infinity();
    for (const int leaf : tree_.leaves_below(child)) {
      double beyond = 0;
      for (int at = leaf; at != node; at = tree_.nodes[at].parent) beyond += tree_.nodes[at].arm_s;
      leaves.push_back({child, tree_.nodes[leaf].host, beyond});
      nearest = std::min(nearest, beyond);
    }
    std::erase_if(leaves, [&](const Answer& leaf) { return leaf.beyond > kAsNear * nearest; });
    return leaves;
  }

  // Whom host x asks at a node: one landmark of every branch that has several, and of single ones as many as are needed.
  std::vector<Answer> representatives(int x, int node) const {
    std::vector<Answer> asked;
    std::vector<Answer> singles;
    for (const int child : tree_.nodes[node].children) {
      const std::vector<Answer> near = near_leaves(child, node);
      // Whoever is known already, else any.
      Answer chosen = near[static_cast<std::size_t>(x) % near.size()];
      for (const Answer& leaf : near) {
        if (sampler_.knows(x, leaf.host)) chosen = leaf;
      }
      (is_leaf(child) ? singles : asked).push_back(chosen);
    }
    std::stable_sort(singles.begin(), singles.end(), [&](const Answer& a, const Answer& b) {
      return sampler_.knows(x, a.host) > sampler_.knows(x, b.host);
    });
    for (std::size_t i = 0; i < singles.size() && asked.size() < kBranches; ++i) {
      const bool is_known = sampler_.knows(x, singles[i].host);
      asked.push_back(singles[is_known ? i : (i + static_cast<std::size_t>(x)) % singles.size()]);
    }
    return asked;
  }

  struct Branch {
    int child = -1;       // -1: none, the host hangs on the node
    double common_s = 0;  // way in common with the link to the child
    double share = 0;
    double clear_s = 0;  // of ways there and back, what can be told from none
    Place place{};       // where the node is
  };

  // The way from host x to the node, as all but one of those that were asked say; the nearer, the better they know.
  Place way_to_node(int x, const std::vector<Answer>& asked, int without) const {
    double sum = 0;
    double weights = 0;
    for (const Answer& answer : asked) {
      if (answer.host == without) continue;
      const double distance = sampler_.latency_s(x, answer.host);
      sum += (distance - answer.beyond) / (distance * distance);
      weights += 1 / (distance * distance);
    }
    return {places_[x].node, weights > 0 ? std::max(0.0, sum / weights) : 0, kError / std::sqrt(weights)};
  }

  // Which branch host x is in: the way over the node is as long as it is for every other branch. Where only far ones say how
  // long that is, small differences are nothing.
  Branch branch_of(int x, const std::vector<Answer>& asked) const {
    Branch best;
    for (const Answer& answer : asked) {
      const double distance = sampler_.latency_s(x, answer.host);
      const Place place = way_to_node(x, asked, answer.host);
      const double common_s = (place.way_s - (distance - answer.beyond)) / 2;
      const double share = 2 * common_s / distance;
      const double error_s = sampler_.error_s(distance);
      const double clear_s = std::max(kErrorsInCommon * error_s, error_s + place.error_s);
      if (2 * common_s >= clear_s && share > best.share)
        best = {answer.child, common_s, share, clear_s, place};
    }
    if (best.child < 0) best.place = way_to_node(x, asked, -1);
    return best;
  }

  void go_down() {
    std::vector<int> going;
    for (std::size_t host = 0; host < places_.size(); ++host) {
      if (is_landmark_[host]) continue;
      places_[host] = {tree_.root};
      going.push_back(static_cast<int>(host));
    }
    std::map<int, int> met;  // landmarks to be, by the child that they are on the link of, or beside
    while (!going.empty()) {
      std::vector<std::vector<Answer>> asked;
      std::vector<Pair> pairs;
      for (const int x : going) {
        asked.push_back(representatives(x, places_[x].node));
        for (const Answer& answer : asked.back()) pairs.push_back({x, answer.host});
      }
      sampler_.want(pairs);
      std::vector<int> further;
      for (std::size_t i = 0; i < going.size(); ++i) {
        const int x = going[i];
        const Branch branch = branch_of(x, asked[i]);
        places_[x] = branch.place;
        if (branch.child < 0) continue;
        const double link_s = tree_.nodes[branch.child].arm_s;
        const bool is_below = !is_leaf(branch.child) && 2 * (link_s - branch.common_s) < branch.clear_s;
        if (is_below) {
          places_[x].node = branch.child;
          further.push_back(x);
        } else if (n_futile_ < kFutile && met[branch.child]++ < 2) {
          add_landmark(x);
        }
      }
      going = std::move(further);
    }
  }

  double way_of(int host) const {
    return is_landmark_[host] ? tree_.nodes[node_of_[host]].arm_s : places_[host].way_s;
  }

  // Two on one node that have a way to it in common.
  bool are_near(int x, int y, double distance) const {
    const double error_s = sampler_.error_s(distance);
    const double clear_s =
        std::max(kErrorsInCommon * error_s, error_s + places_[x].error_s + places_[y].error_s);
    return way_of(x) + way_of(y) - distance >= clear_s;
  }

  // Whether a host asked all of these in vain: others may have come since.
  bool has_asked(int host, const std::vector<int>& hosts) const {
    return has_asked_[host] && std::all_of(hosts.begin(), hosts.end(), [&](int x) {
             return x == host || asked_.contains(pair_key(host, x));
           });
  }

  // Of the hosts on a node, those that are to ask the others: who is farthest from it, since neighbours that nobody knows
  // yet are beyond a link of theirs, then any.
  std::vector<int> who_asks(int node, const std::vector<int>& hosts) {
    const int farthest =
        *std::max_element(hosts.begin(), hosts.end(), [this](int x, int y) { return way_of(x) < way_of(y); });
    std::size_t have_asked = 0;
    std::vector<int> may_ask;
    for (const int host : hosts) (has_asked(host, hosts) ? void(++have_asked) : may_ask.push_back(host));
    for (const int child : tree_.nodes[node].children) {
      if (is_leaf(child) && has_asked(tree_.nodes[child].host, hosts)) ++have_asked;
    }
    const std::size_t wanted =
        have_asked >= kAsking && has_asked(farthest, hosts)
            ? 0
            : std::max<std::size_t>({1, kAsking - std::min(kAsking, have_asked), n_asking_});
    std::shuffle(may_ask.begin(), may_ask.end(), random_);
    std::stable_partition(may_ask.begin(), may_ask.end(), [&](int host) { return host == farthest; });
    may_ask.resize(std::min(may_ask.size(), wanted));
    return may_ask;
  }

  // On every node with hosts that are no landmarks: a few of them ask all others there.
  void ask_around() {
    is_asking_ = false;
    if (n_futile_asks_++ >= kFutileAsks) return;
    std::map<int, std::vector<int>> there;
    for (std::size_t host = 0; host < places_.size(); ++host) {
      if (!is_landmark_[host]) there[places_[host].node].push_back(static_cast<int>(host));
    }
    struct Question {
      int asks;
      int node;
    };
    std::vector<Question> questions;
    std::vector<Pair> pairs;
    std::unordered_set<std::uint64_t> pairs_asked;
    for (auto& [node, hosts] : there) {
      const std::vector<int> asking = who_asks(node, hosts);
      for (const int child : tree_.nodes[node].children) {
        if (is_leaf(child)) hosts.push_back(tree_.nodes[child].host);
      }
      for (const int host : asking) {
        questions.push_back({host, node});
        for (const int x : hosts) {
          if (x != host && pairs_asked.insert(pair_key(host, x)).second) pairs.push_back({host, x});
        }
      }
    }
    if (questions.empty()) return;
    is_asking_ = true;
    const std::vector<double> glances = sampler_.glance(pairs);
    std::vector<Pair> doubtful;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      asked_.insert(pair_key(pairs[i].from, pairs[i].to));
      if (are_near(pairs[i].from, pairs[i].to, glances[i])) doubtful.push_back(pairs[i]);
    }
    sampler_.want(doubtful);
    std::size_t n_met = 0;
    std::vector<int> new_landmarks;
    for (const auto& [host, node] : questions) {
      int met = 0;
      for (const int x : there[node]) {
        if (x == host || !sampler_.knows(host, x)) continue;
        if (!are_near(host, x, sampler_.latency_s(host, x))) continue;
        if (met++ < 2) new_landmarks.push_back(x);
      }
      has_asked_[host] = met == 0;
      if (met == 0) continue;
      new_landmarks.push_back(host);
      ++n_met;
    }
    for (const int host : new_landmarks) add_landmark(host);
    // Where many have neighbours, there are many switches to be found.
    n_asking_ = std::min(2 * n_met, kMostAsking);
  }

  int place_of(int host) const { return is_landmark_[host] ? node_of_[host] : places_[host].node; }

  double way_between(int x, int y) const {
    const double to_nodes_s =
        (is_landmark_[x] ? 0 : places_[x].way_s) + (is_landmark_[y] ? 0 : places_[y].way_s);
    return to_nodes_s + tree_.way_s(place_of(x), place_of(y));
  }

  using HostsOfNodes = std::vector<std::vector<int>>;

  // Whom a host asks whether it is in its place: two that it has not asked yet in each of some branches there, and of
  // what lies beyond.
  std::vector<int> witnesses(int x, const HostsOfNodes& hosts_at, const HostsOfNodes& hosts_below) const {
    std::vector<int> found;
    const auto ask_some = [&](const std::vector<int>& hosts) {
      std::size_t asked = 0;
      for (std::size_t i = 0; i < hosts.size() && i < kLooks && asked < kOfABranch; ++i) {
        const int other = hosts[(i + static_cast<std::size_t>(x)) % hosts.size()];
        if (other == x || sampler_.knows(x, other) || std::count(found.begin(), found.end(), other) > 0)
          continue;
        found.push_back(other);
        ++asked;
      }
    };
    const int node = places_[x].node;
    ask_some(hosts_at[node]);
    for (const int child : tree_.nodes[node].children) {
      if (!is_leaf(child)) ask_some(hosts_below[child]);
    }
    const int parent = tree_.nodes[node].parent;
    if (parent >= 0) ask_some(hosts_at[parent]);
    return found;
  }

  // Every host asks a few others, once. Where the tree says something else of any pair that is known, even once that was
  // measured anew, those that are in most of such pairs become landmarks: by the nearest of a branch alone a host that
  // belongs deep in it may not see that it does.
  void check_places() {
    HostsOfNodes hosts_at(tree_.nodes.size());  // landmarks too
    HostsOfNodes hosts_below(tree_.nodes.size());
    for (int host = 0; host < static_cast<int>(places_.size()); ++host) {
      const int node = is_landmark_[host] ? tree_.nodes[node_of_[host]].parent : places_[host].node;
      hosts_at[node].push_back(host);
      for (int at = node; at >= 0; at = tree_.nodes[at].parent) hosts_below[at].push_back(host);
    }
    std::vector<Pair> pairs;
    std::unordered_set<std::uint64_t> chosen;
    for (int host = 0; host < static_cast<int>(places_.size()); ++host) {
      if (is_landmark_[host] || !checked_.insert(host).second) continue;
      for (const int other : witnesses(host, hosts_at, hosts_below)) {
        if (chosen.insert(pair_key(host, other)).second) pairs.push_back({host, other});
      }
    }
    sampler_.want(pairs);
    const auto fits = [this](const Pair& pair) {
      const double measured = sampler_.latency_s(pair.from, pair.to);
      const double error_s = sampler_.error_s(measured);
      const double places_s = (is_landmark_[pair.from] ? 0 : places_[pair.from].error_s) +
                              (is_landmark_[pair.to] ? 0 : places_[pair.to].error_s);
      return std::abs(way_between(pair.from, pair.to) - measured) <=
             std::max(kErrorsInCommon * error_s, error_s + places_s);
    };
    std::vector<Pair> doubtful = sampler_.known_pairs();
    std::erase_if(doubtful, [&](const Pair& pair) {
      return (is_landmark_[pair.from] && is_landmark_[pair.to]) || fits(pair);
    });
    std::vector<Pair> anew;
    std::copy_if(doubtful.begin(), doubtful.end(), std::back_inserter(anew),
                 [this](const Pair& pair) { return doubted_.insert(pair_key(pair.from, pair.to)).second; });
    if (!anew.empty()) sampler_.measure_anew(anew);
    std::erase_if(doubtful, fits);
    if (doubtful.empty()) return;
    ++n_checks_;
    n_futile_ = 0;
    for (int i = 0; i < kMostMoved && !doubtful.empty(); ++i) {
      const int host = most_doubtful(doubtful);
      add_landmark(host);
      std::erase_if(doubtful, [host](const Pair& pair) { return pair.from == host || pair.to == host; });
    }
  }

  // Who is in most of these pairs and no landmark; each pair has such a host.
  int most_doubtful(const std::vector<Pair>& pairs) const {
    std::map<int, int> n_pairs_of;
    for (const Pair& pair : pairs) {
      for (const int host : {pair.from, pair.to}) {
        if (!is_landmark_[host]) ++n_pairs_of[host];
      }
    }
    return std::max_element(n_pairs_of.begin(), n_pairs_of.end(),
                            [](const auto& x, const auto& y) { return x.second < y.second; })
        ->first;
  }

  Sampler& sampler_;
  std::vector<int> landmarks_;
  std::vector<bool> is_landmark_;
  std::vector<bool> has_asked_;  // in vain
  std::unordered_set<std::uint64_t> doubted_;
  std::unordered_set<std::uint64_t> asked_;
  std::unordered_set<int> checked_;  // whether they are in their place
  std::vector<Place> places_;
  std::vector<int> node_of_;
  LatencyTree tree_;
  std::mt19937_64 random_;
  std::size_t n_asking_ = 0;
  std::ptrdiff_t most_inner_ = 0;
  int n_futile_ = 0;  // rounds since the tree last had more nodes than ever
  int n_futile_asks_ = 0;
  int n_checks_ = 0;  // that showed hosts out of their place
  bool is_asking_ = false;
};

}  // namespace

LatencyTree place_hosts(Sampler& sampler, int n_hosts, unsigned long seed) {
  return Placing(sampler, n_hosts, seed).run();
}

}  // namespace eco::structure
