#include "preload/fuzz/groups.h"

#include <numeric>
#include <stdexcept>
#include <string>

namespace eco::fuzz {
namespace {

constexpr int kTag = 4711;

// What a list of a step says of this rank: one that is longer or shorter is of another number of ranks.
int of_rank(const Step& step, const std::string& name, int rank, int otherwise) {
  const std::vector<int> all = step.numbers(name);
  return static_cast<std::size_t>(rank) < all.size() ? all[static_cast<std::size_t>(rank)] : otherwise;
}

std::vector<int> counting(int n) {
  std::vector<int> ranks(static_cast<std::size_t>(n));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

Groups::Groups() { keep(0, MPI_COMM_WORLD); }

void Groups::make(const Step& step) {
  const Group* parent = find(step.number("of"));
  if (parent == nullptr) return;
  const std::string kind = step.word("kind", "dup");
  const int n = parent->n, me = parent->me;
  MPI_Comm comm = MPI_COMM_NULL;
  if (kind == "dup") {
    MPI_Comm_dup(parent->comm, &comm);
  } else if (kind == "split") {  // color -1: in none
    const int color = of_rank(step, "color", me, 0);
    MPI_Comm_split(parent->comm, color < 0 ? MPI_UNDEFINED : color, of_rank(step, "key", me, me), &comm);
  } else if (kind == "create") {
    std::vector<int> ranks = step.numbers("ranks");
    std::erase_if(ranks, [&](int rank) { return rank >= n; });
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    MPI_Comm_group(parent->comm, &all);
    MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some);
    MPI_Comm_create(parent->comm, some, &comm);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
  } else if (kind == "ring") {
    const int periodic = 1;
    MPI_Cart_create(parent->comm, 1, &n, &periodic, 0, &comm);
  } else if (kind == "inter") {
    const bool is_upper = me >= n / 2;
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(parent->comm, is_upper ? 1 : 0, me, &half);
    if (n >= 2) MPI_Intercomm_create(half, 0, parent->comm, is_upper ? 0 : n / 2, kTag, &comm);
    MPI_Comm_free(&half);
  } else {
    throw std::runtime_error("communicators of kind '" + kind + "' are not known");
  }
  if (comm != MPI_COMM_NULL) keep(step.number("id"), comm);
}

void Groups::keep(int id, MPI_Comm comm) {
  Group group;
  int is_inter = 0, topology = MPI_UNDEFINED;
  group.comm = comm;
  MPI_Comm_rank(comm, &group.me);
  MPI_Comm_size(comm, &group.n);
  MPI_Comm_test_inter(comm, &is_inter);
  if (is_inter != 0) MPI_Comm_remote_size(comm, &group.n_remote);
  MPI_Topo_test(comm, &topology);
  group.is_ring = topology == MPI_CART;
  MPI_Group all = MPI_GROUP_NULL, mine = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Comm_group(comm, &mine);
  const std::vector<int> ranks = counting(group.n);
  group.world.resize(ranks.size());
  MPI_Group_translate_ranks(mine, group.n, ranks.data(), all, group.world.data());
  if (is_inter != 0) {
    MPI_Group there = MPI_GROUP_NULL;
    const int first = 0;
    int other = 0;
    MPI_Comm_remote_group(comm, &there);
    MPI_Group_translate_ranks(there, 1, &first, all, &other);
    MPI_Group_free(&there);
    group.is_upper = group.world.front() > other;
  }
  MPI_Group_free(&mine);
  MPI_Group_free(&all);
  groups_[id] = std::move(group);
}

void Groups::free(int id) {
  const auto found = groups_.find(id);
  if (id == 0 || found == groups_.end()) return;
  MPI_Comm comm = found->second.comm;
  groups_.erase(found);
  MPI_Comm_free(&comm);
}

void Groups::free_all() {
  std::vector<int> ids;
  for (const auto& [id, group] : groups_) ids.push_back(id);
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) free(*id);
}

const Group* Groups::find(int id) const {
  const auto found = groups_.find(id);
  return found == groups_.end() ? nullptr : &found->second;
}

}  // namespace eco::fuzz
