// Neighbourhood all-to-all by leaders, for short blocks: all that one subnet tells another travels in one message.
//
//   steps            3: to a leader, from leader to leader, to whom it is for; edges inside a subnet directly
//   bytes per link   the same between subnets as edge by edge, in one message for each pair of subnets; inside, what
//                    crosses passes two leaders
//   model            alpha(between) + 2 alpha(inside) + bytes across / B(uplink)
//   order            none (data movement)
//   source           Traff et al., Isomorphic, sparse collective communication, EuroMPI 2015 (message combining); leaders:
//                    Lowekamp and Beguelin, CMU-CS-95-191, section 5
//
// {0 1} {2 3}, 0 tells 2, 1 tells 2 and 3:   1 -> 0 (both blocks), 0 -> 2 (all three), 2 -> 3 (the last)
//
// Leaders take turns: those of a pair of subnets are chosen by the number of the other subnet.
#include <algorithm>
#include <map>

#include "eco/algo/builders.h"
#include "eco/algo/patterns/combine.h"

namespace eco::algo {

using sched::Buffer;
using sched::Emitter;
using sched::Region;

namespace {

enum Channel : int { kInside, kUp, kAcross, kDown, kChannels };

// From a place of one rank's input to a place of another's result.
struct FullEdge {
  int from;
  std::size_t slot;
  int to;
  std::size_t place;
};
using Edges = std::vector<FullEdge>;

// Edges from one subnet to another, in the order of those to whom they lead: as their blocks stand in the message.
using Crossings = std::map<std::pair<int, int>, Edges>;

Crossings crossings_of(const coll::Neighborhood& graph, const GroupView& view) {
  Crossings crossings;
  for (int s = 0; s < view.n_subnets(); ++s) {
    for (const int to : view.subnets[static_cast<std::size_t>(s)].ranks) {
      const auto& sources = graph.sources_of(to);
      for (std::size_t place = 0; place < sources.size(); ++place) {
        const auto [from, slot] = sources[place];
        if (from == coll::Neighborhood::kNobody) continue;
        const int there = view.subnet_of_rank[static_cast<std::size_t>(from)];
        if (there != s) crossings[{there, s}].push_back({from, static_cast<std::size_t>(slot), to, place});
      }
    }
  }
  return crossings;
}

int leader_for(const GroupView& view, int subnet, int other) {
  const auto& ranks = view.subnets[static_cast<std::size_t>(subnet)].ranks;
  return ranks[static_cast<std::size_t>(other) % ranks.size()];
}

// One rank's program, put together phase by phase.
class Program {
 public:
  Program(const CommonProblem& problem, const GroupView& view, int rank)
      : graph_(*problem.neighbors),
        view_(view),
        rank_(rank),
        subnet_(view.subnet_of_rank[static_cast<std::size_t>(rank)]),
        block_(problem.bytes),
        crossings_(crossings_of(graph_, view)),
        e_(ops_) {
    for (const auto& [pair, edges] : crossings_) {
      if (pair.first == subnet_) give(edges, leader_for(view, pair.first, pair.second));
    }
    for (const auto& [pair, edges] : crossings_) {
      if (pair.first == subnet_ && leader_for(view, pair.first, pair.second) == rank)
        bring_across(edges, leader_for(view, pair.second, pair.first));
    }
    tell_own_subnet();
    for (const auto& [pair, edges] : crossings_) {
      if (pair.second == subnet_ && leader_for(view, pair.second, pair.first) == rank)
        hand_out(edges, leader_for(view, pair.first, pair.second));
    }
    for (const auto& [pair, edges] : crossings_) {
      if (pair.second == subnet_) get(edges, leader_for(view, pair.second, pair.first));
    }
  }

  std::vector<sched::Op> ops() && { return std::move(ops_); }
  std::size_t scratch_bytes() const { return scratch_; }

 private:
  Region input(std::size_t slot) const { return {Buffer::input, slot * block_, block_}; }
  Region output(std::size_t place) const { return {Buffer::output, place * block_, block_}; }
  // Room for so many blocks, and one of them.
  Region room(std::size_t n) {
    scratch_ += n * block_;
    return {Buffer::scratch, scratch_ - n * block_, n * block_};
  }
  Region block_of(const Region& room, std::size_t i) const {
    return {room.buffer, room.offset + i * block_, block_};
  }

  static Edges from(const Edges& edges, int rank) {
    Edges some;
    std::copy_if(edges.begin(), edges.end(), std::back_inserter(some),
                 [rank](const FullEdge& edge) { return edge.from == rank; });
    return some;
  }

  void give(const Edges& edges, int leader) {
    const Edges mine = from(edges, rank_);
    if (leader == rank_ || mine.empty()) return;
    if (mine.size() == 1) return e_.send(leader, input(mine[0].slot), kUp);
    const Region packed = room(mine.size());
    for (std::size_t i = 0; i < mine.size(); ++i) e_.copy(input(mine[i].slot), block_of(packed, i));
    e_.send(leader, packed, kUp);
  }

  void bring_across(const Edges& edges, int other_leader) {
    const Region leaving = room(edges.size());
    for (const int member : view_.subnets[static_cast<std::size_t>(subnet_)].ranks) {
      std::vector<std::size_t> places;
      for (std::size_t i = 0; i < edges.size(); ++i) {
        if (edges[i].from == member) places.push_back(i);
      }
      if (places.empty()) continue;
      if (member == rank_) {
        for (const std::size_t i : places) e_.copy(input(edges[i].slot), block_of(leaving, i));
      } else if (places.size() == 1) {
        e_.recv(member, block_of(leaving, places[0]), kUp);
      } else {
        const Region given = room(places.size());
        e_.recv(member, given, kUp);
        for (std::size_t k = 0; k < places.size(); ++k)
          e_.copy(block_of(given, k), block_of(leaving, places[k]));
      }
    }
    e_.send(other_leader, leaving, kAcross);
  }

  void tell_own_subnet() {
    const auto is_here = [&](int peer) {
      return view_.subnet_of_rank[static_cast<std::size_t>(peer)] == subnet_;
    };
    for (const Edge& edge : edges_in(graph_, rank_)) {
      if (is_here(edge.peer)) e_.recv(edge.peer, output(edge.slot), kInside);
    }
    for (const Edge& edge : edges_out(graph_, rank_)) {
      if (is_here(edge.peer)) e_.send(edge.peer, input(edge.slot), kInside);
    }
    for (const SelfEdge& edge : self_edges(graph_, rank_)) e_.copy(input(edge.from), output(edge.to));
  }

  void hand_out(const Edges& edges, int other_leader) {
    const Region coming = room(edges.size());
    e_.recv(other_leader, coming, kAcross);
    for (std::size_t begin = 0, end = 0; begin < edges.size(); begin = end) {
      while (end < edges.size() && edges[end].to == edges[begin].to) ++end;
      if (edges[begin].to != rank_) {
        e_.send(edges[begin].to, {coming.buffer, coming.offset + begin * block_, (end - begin) * block_},
                kDown);
        continue;
      }
      for (std::size_t i = begin; i < end; ++i) e_.copy(block_of(coming, i), output(edges[i].place));
    }
  }

  void get(const Edges& edges, int leader) {
    Edges mine;
    std::copy_if(edges.begin(), edges.end(), std::back_inserter(mine),
                 [&](const FullEdge& edge) { return edge.to == rank_; });
    if (leader == rank_ || mine.empty()) return;
    if (mine.size() == 1) return e_.recv(leader, output(mine[0].place), kDown);
    const Region given = room(mine.size());
    e_.recv(leader, given, kDown);
    for (std::size_t i = 0; i < mine.size(); ++i) e_.copy(block_of(given, i), output(mine[i].place));
  }

  const coll::Neighborhood& graph_;
  const GroupView& view_;
  int rank_;
  int subnet_;
  std::size_t block_;
  Crossings crossings_;
  std::vector<sched::Op> ops_;
  Emitter e_;
  std::size_t scratch_ = 0;
};

}  // namespace

std::size_t most_edges_across(const coll::Neighborhood& graph, const GroupView& view) {
  std::size_t most = 0;
  for (const auto& [pair, edges] : crossings_of(graph, view)) most = std::max(most, edges.size());
  return most;
}

Schedule build_neighborhood_alltoall_leaders(const CommonProblem& problem, const GroupView& view,
                                             const Params& params, int rank) {
  Program program(problem, view, rank);
  Schedule schedule(rank, problem.n_ranks);
  set_window(schedule, params);
  schedule.n_channels = kChannels;
  schedule.scratch_bytes = program.scratch_bytes();
  schedule.once([ops = std::move(program).ops()](std::size_t, Emitter& e) {
    for (const sched::Op& op : ops) e.emit(op);
  });
  return schedule;
}

}  // namespace eco::algo
