// The tree that latencies between a few hosts come from, all pairs known: recursive grouping.
//
//   LatencyTree tree = group_hosts({0, 3, 7, 9}, [&](int a, int b) { return sampler.latency_s(a, b); });
//
// Latencies add up along the tree. So for two hosts x, y on one switch d(x, k) - d(y, k) is the same for every third host k:
// the difference of their own ways to the switch. Where it is not, something lies between them. Hosts on one switch become
// one leaf at the switch, with the distances that it has, and so on up (Choi, Tan, Anandkumar and Willsky, "Learning latent
// tree graphical models", 2011, have this for statistics). Unlike clustering by distance this needs no equal hosts, switches
// or uplinks: a slow host is far from all, and still on its switch.
//
// Errors grow with distances, so each distance has a tolerance of its own, and what differences of far pairs say of near
// ones is nothing. A level is there if its link, there and back, is at least kErrorsOfALink errors of the shortest way across:
// kResolution of it where latencies are as good as they get.
#pragma once

#include <functional>
#include <vector>

namespace eco::structure {

inline constexpr double kResolution = 0.08;
// By what share a latency may be wrong after its minimum was stable.
inline constexpr double kError = 0.02;
inline constexpr double kErrorsOfALink = kResolution / kError;

struct TreeNode {
  int parent = -1;
  std::vector<int> children;
  int host = -1;     // of a leaf
  double arm_s = 0;  // to the parent
};

struct LatencyTree {
  std::vector<TreeNode> nodes;
  int root = -1;

  std::vector<int> leaves_below(int node) const;  // nodes
  double way_s(int a, int b) const;               // between two nodes
  // What hangs on a node, not the root, hangs on its parent from then on, as far from it.
  void dissolve(int node);
  // The root becomes the junction from which it is not far to any other: from there down a far host never has to tell near
  // ways apart that its own error hides.
  void hang_from_middle();
  // For who looks at it: where the middle of all is on the line between two sites, the root becomes a place there.
  void hang_from_line();

 private:
  bool is_junction(int node) const;
  // From a node, as `way_s` says, but for those at or below another.
  int farthest_junction(const std::vector<double>& way_s, int but_below) const;
  void hang_from(int node);
};

using Latency = std::function<double(int a, int b)>;
// By what a latency of so many seconds may be wrong.
using Error = std::function<double(double latency_s)>;

inline double least_error_s(double latency_s) { return kError * latency_s; }

// Local, pure, deterministic. At least one host.
LatencyTree group_hosts(const std::vector<int>& hosts, const Latency& latency,
                        const Error& error = least_error_s);

}  // namespace eco::structure
