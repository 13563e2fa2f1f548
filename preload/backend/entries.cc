// The wrappers: what the program's MPI calls become. Serve or pass is decided here, from facts that all ranks share.
//
// Read a call from top to bottom: arguments that MPI would object to pass, so that the library reports them as
// always; then the communicator may be armed; then the table is asked; what it does not serve passes.
//
// No exception leaves this file, and no lock is held while communicating.
#include <mpi.h>
#include <time.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "preload/backend/datatypes.h"
#include "preload/backend/session.h"

namespace eco::preload {
namespace {

using coll::Collective;

// A message of more bytes passes: MPI's int counts end here, in packing and in point-to-point alike.
constexpr std::size_t kMostBytes = INT_MAX;
// A broadcast of more bytes passes. A rank whose type is not dense packs into a second buffer of the whole size, and
// which ranks do is not known to the others: so the bytes, which all share, decide for all.
constexpr std::size_t kMostBroadcastBytes = std::size_t{256} << 20;
constexpr const char* kNative = "native";

thread_local const char* last_algorithm = kNative;

std::uint64_t now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// The library's own function, by the type of the count.
int native_broadcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return PMPI_Bcast(buffer, count, type, root, comm);
}
int native_allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return PMPI_Allreduce(in, out, count, type, op, comm);
}
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
#define ECO_HAS_LARGE_COUNTS 1
int native_broadcast(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  return PMPI_Bcast_c(buffer, count, type, root, comm);
}
int native_allreduce(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm) {
  return PMPI_Allreduce_c(in, out, count, type, op, comm);
}
#endif

template <class Native>
int pass(Session& session, Collective collective, std::size_t bytes, Native&& native) {
  last_algorithm = kNative;
  const std::uint64_t began = now_ns();
  const int code = native();
  session.counters().passed(collective, bytes, now_ns() - began);
  return code;
}

// A communicator on which a served call failed half-way: ranks no longer agree on what was sent, so nothing more goes
// over it (DESIGN, rule 8).
int refuse(MPI_Comm comm) {
  PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

template <class Run>
int serve(Session& session, Group& group, const coll::CommonProblem& problem, const algo::Recipe& recipe,
          Run&& run) {
  last_algorithm = recipe.algorithm.c_str();
  const std::uint64_t began = now_ns();
  bool ran = false;
  try {
    ran = run();
  } catch (const std::bad_alloc&) {
    // On this rank alone: the others are in the call already.
    std::fprintf(stderr, "eco: no memory to serve %zu bytes by %s; the communicator is lost\n", problem.bytes,
                 last_algorithm);
  }
  if (!ran) {
    group.poison();
    return refuse(group.comm());
  }
  session.counters().served(problem.collective, problem.bytes, now_ns() - began,
                            group.planned_gain_s(problem));
  return MPI_SUCCESS;
}

std::span<std::byte> bytes_at(void* memory, std::size_t bytes) {
  return {static_cast<std::byte*>(memory), bytes};
}

// Ranks may differ in type and count; whether this one packs is its own business.
bool run_broadcast(Group& group, const coll::CommonProblem& problem, const algo::Recipe& recipe, void* buffer,
                   int count, MPI_Datatype type) {
  if (is_dense(type)) {
    return group.run(problem, recipe,
                     {.input = {}, .output = bytes_at(buffer, problem.bytes), .combine = {}});
  }
  std::vector<std::byte>& packed = group.packed(problem.bytes);
  const bool is_root = group.rank() == problem.root;
  const bool done = (!is_root || pack(buffer, count, type, packed)) &&
                    group.run(problem, recipe, {.input = {}, .output = packed, .combine = {}}) &&
                    (is_root || unpack(packed, buffer, count, type));
  group.packed_is_free();
  return done;
}

template <class Count>
int broadcast(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  Session& session = Session::instance();
  const auto native = [&] { return native_broadcast(buffer, count, type, root, comm); };
  if (!session.running()) return native();
  if (count < 0 || type == MPI_DATATYPE_NULL) return pass(session, Collective::broadcast, 0, native);

  const std::size_t bytes = total_bytes(count, type);
  if (!session.arms()) return pass(session, Collective::broadcast, bytes, native);
  Group* group = session.group(comm);
  if (group == nullptr || root < 0 || root >= group->n_ranks() || bytes == 0 || bytes > kMostBroadcastBytes) {
    return pass(session, Collective::broadcast, bytes, native);
  }
  if (group->poisoned()) return refuse(comm);
  group->count_towards_arming();
  const coll::CommonProblem problem{
      .collective = Collective::broadcast, .n_ranks = group->n_ranks(), .root = root, .bytes = bytes};
  const algo::Recipe* recipe = group->recipe(problem);
  if (recipe == nullptr) return pass(session, Collective::broadcast, bytes, native);
  return serve(session, *group, problem, *recipe, [&] {
    return run_broadcast(*group, problem, *recipe, buffer, static_cast<int>(count), type);
  });
}

// The same memory twice is the program's mistake: MPICH says so, Open MPI works in place.
bool is_aliased(const void* in, const void* out) { return in == out && in != MPI_IN_PLACE; }
#if defined(OPEN_MPI)
constexpr bool kLibraryRefusesAliases = false;
#else
constexpr bool kLibraryRefusesAliases = true;
#endif

template <class Count>
int allreduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  Session& session = Session::instance();
  const auto native = [&] { return native_allreduce(in, out, count, type, op, comm); };
  if (!session.running()) return native();
  if (count < 0 || type == MPI_DATATYPE_NULL) return pass(session, Collective::allreduce, 0, native);

  const std::size_t bytes = total_bytes(count, type);
  if (!session.arms()) return pass(session, Collective::allreduce, bytes, native);
  Group* group = session.group(comm);
  if (group == nullptr || op == MPI_OP_NULL || out == MPI_IN_PLACE ||
      (kLibraryRefusesAliases && is_aliased(in, out)) || bytes == 0 || bytes > kMostBytes) {
    return pass(session, Collective::allreduce, bytes, native);
  }
  if (group->poisoned()) return refuse(comm);
  group->count_towards_arming();
  std::optional<Reduction> reduction = find_reduction(type, op);
  if (!reduction) return pass(session, Collective::allreduce, bytes, native);
  const coll::CommonProblem problem{.collective = Collective::allreduce,
                                    .n_ranks = group->n_ranks(),
                                    .bytes = bytes,
                                    .element_bytes = reduction->element_bytes};
  const algo::Recipe* recipe = group->recipe(problem);
  if (recipe == nullptr) return pass(session, Collective::allreduce, bytes, native);
  return serve(session, *group, problem, *recipe, [&] {
    const bool in_place = in == MPI_IN_PLACE || is_aliased(in, out);
    exec::Buffers buffers{.input = {},
                          .output = bytes_at(out, bytes),
                          .input_is_output = in_place,
                          .combine = reduction->combine()};
    if (!in_place) buffers.input = {static_cast<const std::byte*>(in), bytes};
    return group->run(problem, *recipe, buffers);
  });
}

// Never arms: some bindings of MPICH reach barriers past the C entry (DESIGN, rule 3).
int barrier(MPI_Comm comm) {
  Session& session = Session::instance();
  const auto native = [&] { return PMPI_Barrier(comm); };
  if (!session.running()) return native();
  Group* group = session.arms() ? session.find_group(comm) : nullptr;
  if (group == nullptr) return pass(session, Collective::barrier, 0, native);
  if (group->poisoned()) return refuse(comm);
  const coll::CommonProblem problem{.collective = Collective::barrier, .n_ranks = group->n_ranks()};
  const algo::Recipe* recipe = group->recipe(problem);
  if (recipe == nullptr) return pass(session, Collective::barrier, 0, native);
  return serve(session, *group, problem, *recipe, [&] { return group->run(problem, *recipe, {}); });
}

}  // namespace
}  // namespace eco::preload

#define ECO_ENTRY extern "C" __attribute__((visibility("default")))

ECO_ENTRY int eco_wrap_MPI_Init(int* argc, char*** argv) noexcept {
  const int code = PMPI_Init(argc, argv);
  if (code == MPI_SUCCESS) eco::preload::Session::instance().start();
  return code;
}

ECO_ENTRY int eco_wrap_MPI_Init_thread(int* argc, char*** argv, int required, int* provided) noexcept {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) eco::preload::Session::instance().start();
  return code;
}

ECO_ENTRY int eco_wrap_MPI_Finalize() noexcept {
  eco::preload::Session::instance().finish(/*collective=*/true);
  return PMPI_Finalize();
}

ECO_ENTRY int eco_wrap_MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root,
                                 MPI_Comm comm) noexcept {
  return eco::preload::broadcast(buffer, count, type, root, comm);
}

ECO_ENTRY int eco_wrap_MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                                     MPI_Comm comm) noexcept {
  return eco::preload::allreduce(in, out, count, type, op, comm);
}

ECO_ENTRY int eco_wrap_MPI_Barrier(MPI_Comm comm) noexcept { return eco::preload::barrier(comm); }

#if defined(ECO_HAS_LARGE_COUNTS)
ECO_ENTRY int eco_wrap_MPI_Bcast_c(void* buffer, MPI_Count count, MPI_Datatype type, int root,
                                   MPI_Comm comm) noexcept {
  return eco::preload::broadcast(buffer, count, type, root, comm);
}

ECO_ENTRY int eco_wrap_MPI_Allreduce_c(const void* in, void* out, MPI_Count count, MPI_Datatype type,
                                       MPI_Op op, MPI_Comm comm) noexcept {
  return eco::preload::allreduce(in, out, count, type, op, comm);
}
#endif

ECO_ENTRY const char* eco_backend_last_algorithm() noexcept {
  return std::exchange(eco::preload::last_algorithm, eco::preload::kNative);
}
