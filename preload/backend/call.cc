#include "preload/backend/call.h"

#include <climits>
#include <cstdio>
#include <exception>
#include <utility>

#include "preload/backend/binding.h"
#include "preload/backend/datatypes.h"

namespace eco::preload {
namespace {

using coll::Collective;

// More bytes pass: MPI's int counts end here, in packing and in point-to-point alike.
constexpr std::size_t kMostBytes = INT_MAX;
// So do these, except in an allreduce, which never packs. A rank whose type is not dense, or that works in place, keeps
// a second buffer of that size; which ranks do is not known to the others, so the bytes decide for all.
constexpr std::size_t kMostPackedBytes = std::size_t{256} << 20;
constexpr const char* kNative = "native";

thread_local const char* last_algorithm = kNative;

std::size_t most_bytes(Collective collective) {
  return collective == Collective::allreduce ? kMostBytes : kMostPackedBytes;
}

// A communicator on which a served call failed half-way: ranks no longer agree on what was sent, so nothing more goes
// over it (DESIGN, rule 8).
int refuse(MPI_Comm comm) {
  PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

// Lets go of what a large call packed, whatever became of it.
struct PackedIsFree {
  Group& group;
  ~PackedIsFree() { group.packed_is_free(); }
};

template <class Run>
Attempt serve(Session& session, Group& group, const coll::CommonProblem& problem, const algo::Recipe& recipe,
              const Run& run) {
  last_algorithm = recipe.algorithm.c_str();
  const std::uint64_t began = now_ns();
  bool ran = false;
  try {
    ran = run();
  } catch (const std::exception& error) {
    // On this rank alone: the others are in the call already.
    std::fprintf(stderr, "eco: cannot serve %zu bytes by %s (%s); the communicator is lost\n", problem.bytes,
                 last_algorithm, error.what());
  }
  if (!ran) {
    group.poison();
    return {.served = true, .code = refuse(group.comm()), .bytes = problem.bytes};
  }
  session.counters().served(problem.collective, problem.bytes, now_ns() - began,
                            group.planned_gain_s(problem));
  return {.served = true, .code = MPI_SUCCESS, .bytes = problem.bytes};
}

}  // namespace

Attempt try_to_serve(Session& session, Group& group, const Call& call, const Sides& sides) noexcept {
  Attempt passed;
  if (!has_bytes(sides.whole)) return passed;
  const std::size_t bytes = total_bytes(sides.whole.count, sides.whole.type);
  passed.bytes = bytes;
  if (!group.may_serve() || bytes == 0 || bytes > most_bytes(call.collective)) return passed;
  if (!sides.pieces.empty() && !pads_little(sides.pieces)) return passed;

  coll::CommonProblem problem{.collective = call.collective,
                              .n_ranks = group.n_ranks(),
                              .root = coll::is_rooted(call.collective) ? call.root : 0,
                              .bytes = bytes};
  std::optional<Reduction> reduction;
  if (coll::is_reduction(call.collective)) {
    reduction = find_reduction(sides.whole.type, call.op);
    if (!reduction) return passed;
    problem.element_bytes = reduction->element_bytes;
    problem.commutative = reduction->commutative;
  }
  if (group.poisoned()) return {.served = true, .code = refuse(call.comm), .bytes = bytes};
  group.prepare(call.collective, bytes);
  if (group.poisoned()) return {.served = true, .code = refuse(call.comm), .bytes = bytes};
  const algo::Recipe* recipe = group.recipe(problem);
  if (recipe == nullptr) return passed;

  // From here on this rank's own arguments: if they are wrong, what follows is between its program and the library.
  if (!are_sound(sides, problem, group.rank()) || is_refused_alias(sides)) return passed;
  return serve(session, group, problem, *recipe, [&] {
    const PackedIsFree packed_is_free{group};
    Binding binding(group.packed(), problem, group.rank(), sides);
    exec::Buffers buffers{
        .input = {}, .output = {}, .combine = reduction ? reduction->combine() : exec::Combine{}};
    return binding.before(buffers) && group.run(problem, *recipe, buffers) && binding.after();
  });
}

Attempt try_to_serve_barrier(Session& session, Group& group) noexcept {
  if (group.poisoned()) return {.served = true, .code = refuse(group.comm())};
  const coll::CommonProblem problem{.collective = Collective::barrier, .n_ranks = group.n_ranks()};
  const algo::Recipe* recipe = group.recipe(problem);
  if (recipe == nullptr) return {};
  return serve(session, group, problem, *recipe, [&] { return group.run(problem, *recipe, {}); });
}

const char* take_last_algorithm() { return std::exchange(last_algorithm, kNative); }
void note_native() { last_algorithm = kNative; }

}  // namespace eco::preload
