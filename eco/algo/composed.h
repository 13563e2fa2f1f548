// Algorithms composed of others: rows of the registry whose builders say which parts a segment goes through.
//
//   "broadcast/scatter+allgather parts=scatter/binomial,allgather/chain"       one after the other: sequence_*.cc
//   "allreduce/levels leaders=2 parts=reduce/chain,allreduce/doubling,broadcast/chain"     inside, between: levels_*.cc
//
// Any algorithm of the right collective can be a part, a composed one too (with its first choice of parts).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/algo/builders.h"
#include "eco/algo/patterns/compose.h"

namespace eco::algo {

// Where parts of blocks stand, for what runs when a Piece is gone.
struct Pieces {
  std::size_t bytes;  // of one, in this segment
  std::size_t block;  // of the whole's blocks

  // The one at this place of a room where they stand one after the other.
  sched::Region in(const sched::Region& room, std::size_t place) const {
    return {room.buffer, room.offset + place * bytes, bytes};
  }
  // A rank's, in the input or output of the whole.
  sched::Region of(sched::Buffer buffer, int rank) const {
    return {buffer, static_cast<std::size_t>(rank) * block, bytes};
  }
};

// One segment at one rank, as a composition's builder sees it.
struct Piece {
  const CommonProblem& problem;  // the whole
  const GroupView& view;         // with its islands for subnets
  const Params& params;          // with parts
  int rank;
  std::size_t bytes;  // of this segment: of the whole, or of every block
  std::size_t lane;

  const std::string& part(std::size_t i) const { return params.parts[i]; }
  // A part's problem, with the whole's elements and order.
  CommonProblem problem_of(coll::Collective collective, std::size_t n_ranks, std::size_t part_bytes,
                           int root = 0) const;
  // A part of all ranks.
  Group everybody(coll::Collective collective, std::size_t part_bytes, int root = 0) const;
  Pieces pieces() const { return {bytes, problem.block_bytes()}; }
  // As much of the segment as makes equal blocks of whole elements.
  std::size_t in_blocks() const;
};

// What a composition cuts into segments.
enum class Cut {
  whole,      // the message
  in_blocks,  // the message, so that a block of a segment is as long as Params::segment_bytes
  block,      // every block
  nothing,    // each part cuts for itself
};

struct Composition {
  coll::Collective collective;
  std::string pattern;
  Cut cut;
  Steps (*steps)(const Piece& piece);
  std::vector<std::vector<std::string>> choices;  // of parts, worth predicting
  // Of Params::leaders, worth predicting; more than one only where leaders can take turns.
  std::vector<int> leaders = {1};
  // `view`: with its islands for subnets, where these are hosts.
  std::optional<std::string> (*objection)(const CommonProblem& problem, const GroupView& view) = nullptr;
  // Parts that run inside islands and may be the library's own there; of levels.
  std::vector<std::size_t> inside = {};
};

// The registry's row.
Algorithm composed(Composition composition);

// Of each subnet the members from `begin` up to `end`; only subnets with so many, and the root's.
struct Layer {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<std::size_t> subnets{};
  std::size_t root = 0;   // index in `subnets`
  std::size_t place = 0;  // where its first block stands among those of all layers
};

// Subnets of different sizes, cut into layers in which all have as many members: one for each size.
struct Layers {
  std::vector<Layer> all;
  // Whose block stands where, layer by layer, subnet by subnet; and whether it does so for want of a member of the
  // root's subnet, and is of another layer.
  std::vector<int> ranks;
  std::vector<bool> is_spare;
  std::size_t depth() const { return all.back().end; }
};

// The subnets of a view as a composition's levels: groups inside them, and one of their leaders. In the subnet of
// `root`, if that is a rank, it leads; elsewhere ranks take turns by lane.
class Levels {
 public:
  explicit Levels(const Piece& piece, int root = -1);

  std::size_t count() const { return piece_.view.subnets.size(); }
  std::size_t subnet() const { return subnet_; }  // this rank's
  const std::vector<int>& members(std::size_t subnet) const { return piece_.view.subnets[subnet].ranks; }
  int leader(std::size_t subnet) const { return leaders_[subnet]; }
  bool leads() const { return leaders_[subnet_] == piece_.rank; }

  // One group in every subnet, its leader the root: of as many bytes everywhere, or of a block for each member.
  std::vector<Group> inside(coll::Collective collective, std::size_t bytes) const;
  std::vector<Group> inside_in_blocks(coll::Collective collective, std::size_t block) const;
  // The leaders; `root` is a subnet.
  Group between(coll::Collective collective, std::size_t bytes, std::size_t root = 0) const;
  // The leaders of a layer's subnets, with a block of so many bytes for each of its members.
  Group between_in_blocks(coll::Collective collective, const Layer& layer, std::size_t block) const;

  // All members of all subnets, layer by layer; `root`, a rank, is in every one.
  Layers layers(int root) const;

  // Ranks packed subnet by subnet: how many stand before this subnet's.
  std::size_t first_of(std::size_t subnet) const { return first_[subnet]; }
  // Whose block stands where.
  const std::vector<int>& packed() const { return packed_; }

 private:
  int place_of_leader(std::size_t subnet) const;

  const Piece& piece_;
  std::size_t subnet_;
  std::vector<int> leaders_;
  std::vector<std::size_t> first_;
  std::vector<int> packed_;
};

// sequence_*.cc
Steps broadcast_as_scatter_allgather(const Piece& piece);
Steps allreduce_as_reduce_scatter_allgather(const Piece& piece);
Steps allreduce_in_near_halves(const Piece& piece);
// Of all ranks, of which `members` says whose block comes where.
Steps reduce_scatter_then_allgather(const Piece& piece, const std::vector<int>& members);
Steps allreduce_as_reduce_broadcast(const Piece& piece);
Steps allreduce_as_allgather_combine(const Piece& piece);
Steps reduce_as_reduce_scatter_gather(const Piece& piece);
Steps reduce_as_gather_combine(const Piece& piece);
Steps allgather_as_gather_broadcast(const Piece& piece);
Steps reduce_scatter_as_reduce_then_scatter(const Piece& piece);
// levels_*.cc
Steps broadcast_in_levels(const Piece& piece);
Steps reduce_in_levels(const Piece& piece);
Steps allreduce_in_levels(const Piece& piece);  // and barriers
Steps allgather_in_levels(const Piece& piece);
Steps reduce_scatter_in_levels(const Piece& piece);
Steps scatter_in_levels(const Piece& piece);
Steps gather_in_levels(const Piece& piece);
Steps alltoall_in_levels(const Piece& piece);
Steps scan_in_levels(const Piece& piece);  // and exscan

}  // namespace eco::algo
