#include "eco/coll/problem.h"

#include <algorithm>
#include <array>

namespace eco::coll {
namespace {

enum class Extent : std::uint8_t {
  none,
  block,
  whole,
  whole_at_root,
  whole_but_rank_0,
  if_it_tells,
  to_targets,
  of_sources
};

struct Traits {
  std::string_view name;
  bool reduces;
  Extent input;
  Extent output;
};

// In the order of Collective.
constexpr std::array<Traits, kCollectives> kTraits = {{
    {"broadcast", false, Extent::none, Extent::whole},
    {"barrier", true, Extent::whole, Extent::whole},
    {"reduce", true, Extent::whole, Extent::whole_at_root},
    {"allreduce", true, Extent::whole, Extent::whole},
    {"reduce_scatter", true, Extent::whole, Extent::block},
    {"reduce_scatter_block", true, Extent::whole, Extent::block},
    {"scatter", false, Extent::whole_at_root, Extent::block},
    {"gather", false, Extent::block, Extent::whole_at_root},
    {"allgather", false, Extent::block, Extent::whole},
    {"alltoall", false, Extent::whole, Extent::whole},
    {"scan", true, Extent::whole, Extent::whole},
    {"exscan", true, Extent::whole, Extent::whole_but_rank_0},
    {"neighbor_allgather", false, Extent::if_it_tells, Extent::of_sources},
    {"neighbor_alltoall", false, Extent::to_targets, Extent::of_sources},
}};

const Traits& traits(Collective collective) { return kTraits[static_cast<std::size_t>(collective)]; }

std::size_t part_bytes(Extent part, const CommonProblem& problem, int rank) {
  switch (part) {
    case Extent::none:
      return 0;
    case Extent::block:
      return problem.block_bytes();
    case Extent::whole:
      return payload_bytes(problem);
    case Extent::whole_at_root:
      return rank == problem.root ? problem.bytes : 0;
    case Extent::whole_but_rank_0:
      return rank == 0 ? 0 : problem.bytes;
    case Extent::if_it_tells:
      return problem.neighbors && problem.neighbors->tells_somebody(rank) ? problem.bytes : 0;
    case Extent::to_targets:
      return problem.neighbors ? problem.bytes * problem.neighbors->targets_of(rank).size() : 0;
    case Extent::of_sources:
      return problem.neighbors ? problem.bytes * problem.neighbors->sources_of(rank).size() : 0;
  }
  return 0;
}

}  // namespace

std::string_view name(Collective collective) { return traits(collective).name; }

std::optional<Collective> collective_from_name(std::string_view name) {
  for (int i = 0; i < kCollectives; ++i) {
    if (kTraits[static_cast<std::size_t>(i)].name == name) return static_cast<Collective>(i);
  }
  return std::nullopt;
}

const std::vector<Collective>& all_collectives() {
  static const std::vector<Collective> all = [] {
    std::vector<Collective> list;
    for (int i = 0; i < kCollectives; ++i) {
      if (!follows_graph(static_cast<Collective>(i))) list.push_back(static_cast<Collective>(i));
    }
    return list;
  }();
  return all;
}

bool synchronizes(Collective collective) {
  return !is_rooted(collective) && !follows_graph(collective) && collective != Collective::scan &&
         collective != Collective::exscan;
}
bool is_reduction(Collective collective) { return traits(collective).reduces; }
bool is_blocked(Collective collective) {
  return traits(collective).input == Extent::block || traits(collective).output == Extent::block ||
         collective == Collective::alltoall;
}

std::size_t n_blocks(const CommonProblem& problem) {
  return is_blocked(problem.collective) ? static_cast<std::size_t>(problem.n_ranks) : 1;
}

std::size_t grain_of(const CommonProblem& problem, std::size_t element_bytes) {
  const bool fits = kPlannedElementBytes % element_bytes == 0 &&
                    problem.bytes % (n_blocks(problem) * kPlannedElementBytes) == 0;
  return fits ? kPlannedElementBytes : element_bytes;
}

std::size_t whole_bytes(const CommonProblem& problem, std::size_t bytes) {
  if (bytes == 0) return 0;
  const std::size_t grain = n_blocks(problem) * problem.element_bytes;
  return std::max(bytes / grain, std::size_t{1}) * grain;
}

std::size_t input_bytes(const CommonProblem& problem, int rank) {
  return part_bytes(traits(problem.collective).input, problem, rank);
}

std::size_t output_bytes(const CommonProblem& problem, int rank) {
  return part_bytes(traits(problem.collective).output, problem, rank);
}

}  // namespace eco::coll
