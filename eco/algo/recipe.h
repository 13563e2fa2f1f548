// What a decision table stores: an algorithm by name and the parameters it is built with.
//
//   Recipe r = parse_recipe("broadcast/subnets segment=1392 head=0 window=4 between=chain inside=chain order=0,2,1");
//   r.text()                                                    // the same line again: the form of plan files
//
// A recipe together with a CommonProblem and a GroupView fixes every byte of every rank's schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace eco::algo {

enum class Shape : std::uint8_t { chain, binomial, flat, kary, knomial };
std::string_view name(Shape shape);

// What levels are made of: subnets, or hosts with several ranks (between them the leaders' subnets count as ever).
enum class Islands : std::uint8_t { subnets, hosts };
std::string_view name(Islands islands);

// In the place of an algorithm: the library's own collective on the island (docs/adr/0012).
inline constexpr std::string_view kNativePart = "native";

struct Params {
  std::size_t segment_bytes = 0;  // the pipeline's unit; 0: the whole message (or block) at once
  int head = 0;                 // broadcast: so many first segments go straight from the root to every subnet
  int tail = 0;                 // and so many last ones
  int window = 0;               // synchronous sends under way per channel; 0: eager sends, no limit
  Shape inside = Shape::chain;  // tree inside a subnet, and of algorithms that have one tree
  Shape between = Shape::chain;  // tree over subnets
  int degree =
      2;  // kary: children of a vertex; knomial, bruck, dissemination: radix; linear_sync: sends under way
  // Subnets of the view in tree order, turned until the root's is in front; empty: the view's order.
  std::vector<int> order{};
  int leaders = 1;  // levels: so many ranks of each subnet lead in turn, segment by segment
  Islands islands = Islands::subnets;  // levels
  // Of a composition: the algorithm of each part in its order, "scatter/binomial", or kNativePart inside islands; empty:
  // the composition's first choice.
  std::vector<std::string> parts{};
  // Several levels (net/sites.h): the site of each subnet of the view, numbered from 0 as they come up. Subnets of one site are
  // one to the algorithm, and to all lists here. Empty: each is its own.
  std::vector<int> sites{};
  std::vector<int> shares{};  // striped: of each rail, of their sum
  // What a search finds (plan/search.h); empty: as the shapes above and the order of ranks have it.
  // Parent subnet of each subnet of the view, -1 at one of them: which subnets are joined, instead of `between`. Hung
  // from the root's subnet, whichever that is; children are served in `order`.
  std::vector<int> tree{};
  std::vector<int> first{};  // of each subnet: which of its ranks (the 0th, ...) leads it
  // Over trees of subnets, which subnets have segments in turn. Of an allreduce they own them; empty: each once. Of a
  // broadcast they get them from the root and pass them on to the others; empty: one tree for all segments.
  std::vector<int> owners{};
  std::vector<int>
      ring{};  // the ranks in the order in which patterns in rank order (ring, chain, ...) take them
  friend bool operator==(const Params&, const Params&) = default;
};

struct Recipe {
  std::string algorithm;
  Params params;
  std::string text() const;
  bool has_native_parts() const;
  friend bool operator==(const Recipe&, const Recipe&) = default;
};

// Throws InvalidArgument on anything it does not know.
Recipe parse_recipe(std::string_view text);

}  // namespace eco::algo
