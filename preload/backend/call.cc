#include "preload/backend/call.h"

#include <climits>
#include <cstdio>
#include <exception>
#include <span>
#include <utility>

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

// MPICH looks for the same memory given twice and says so; under Open MPI such programs work, so they must here.
#if defined(OPEN_MPI)
constexpr bool kLibraryRefusesAliases = false;
#else
constexpr bool kLibraryRefusesAliases = true;
#endif

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

bool has_bytes(const Data& data) { return data.count >= 0 && data.type != MPI_DATATYPE_NULL; }

std::byte* address(const Data& data) {
  auto* memory = static_cast<std::byte*>(const_cast<void*>(data.memory));
  if (data.skipped == 0) return memory;
  return memory + static_cast<std::ptrdiff_t>(data.skipped) * extent_bytes(data.type);
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

// Would MPI take these arguments, and do they make the bytes that the problem has on this rank?
bool is_sound(const std::optional<Data>& data, std::size_t bytes) {
  if (!data) return true;
  if (!has_bytes(*data) || data->memory == MPI_IN_PLACE || total_bytes(data->count, data->type) != bytes) {
    return false;
  }
  // MPI_BOTTOM is a null pointer, and right where the type holds addresses.
  return bytes == 0 || data->memory != nullptr || !is_dense(data->type);
}

bool is_refused_alias(const Sides& sides) {
  if (!kLibraryRefusesAliases || sides.in_place || !sides.twins) return false;
  const auto& [one, other] = *sides.twins;
  return one.type == other.type && one.count == other.count && one.memory != nullptr &&
         address(one) == address(other);
}

// One rank's memory, bound to what its schedule wants: all dense, and nothing twice except in an allreduce.
class Bound {
 public:
  Bound(Group& group, const coll::CommonProblem& problem, const Sides& sides)
      : group_(group), problem_(problem), sides_(sides) {}
  ~Bound() {
    if (packs_) group_.packed_is_free();
  }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

  // False if MPI reports an error. Throws std::bad_alloc.
  bool run(const algo::Recipe& recipe, exec::Combine combine) {
    exec::Buffers buffers{.input = {}, .output = {}, .combine = combine};
    return bind_output(buffers) && bind_input(buffers) && group_.run(problem_, recipe, buffers) &&
           unpack_output();
  }

 private:
  bool bind_output(exec::Buffers& buffers) {
    const std::size_t bytes = coll::output_bytes(problem_, group_.rank());
    if (bytes == 0) return true;
    packs_output_ = sides_.output && !is_dense(sides_.output->type);
    if (sides_.output && !packs_output_) {
      buffers.output = {address(*sides_.output), bytes};
      return true;
    }
    // Without an output it is scrap: a scatter's root in place has its block already.
    buffers.output = memory(group_.packed().output, bytes);
    return !packs_output_ || !is_broadcast_root() || pack_into(buffers.output, *sides_.output);
  }

  bool bind_input(exec::Buffers& buffers) {
    const std::size_t bytes = coll::input_bytes(problem_, group_.rank());
    if (bytes == 0 || !sides_.input) return true;
    const bool dense = is_dense(sides_.input->type);
    const std::span<const std::byte> direct = {address(*sides_.input), bytes};
    const bool is_output = sides_.in_place || (in_output_ ? direct.data() == buffers.output.data()
                                                          : dense && overlap(direct, buffers.output));
    if (is_output && in_output_) {
      buffers.input_is_output = true;
      return true;
    }
    if (dense && !is_output) {
      buffers.input = direct;
      return true;
    }
    const std::span<std::byte> copy = memory(group_.packed().input, bytes);
    buffers.input = copy;
    return pack_into(copy, *sides_.input);
  }

  bool unpack_output() const {
    if (!packs_output_ || is_broadcast_root()) return true;
    return unpack(group_.packed().output, address(*sides_.output), static_cast<int>(sides_.output->count),
                  sides_.output->type);
  }

  // A broadcast's message is its root's output from the start.
  bool is_broadcast_root() const {
    return problem_.collective == Collective::broadcast && group_.rank() == problem_.root;
  }

  static bool pack_into(std::span<std::byte> dense, const Data& data) {
    return pack(address(data), static_cast<int>(data.count), data.type, dense);
  }

  std::span<std::byte> memory(std::vector<std::byte>& vector, std::size_t bytes) {
    packs_ = true;
    vector.resize(bytes);
    return vector;
  }

  Group& group_;
  const coll::CommonProblem& problem_;
  const Sides& sides_;
  // Allreduces alone have schedules that work in place.
  const bool in_output_ = problem_.collective == Collective::allreduce;
  bool packs_ = false;
  bool packs_output_ = false;
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
  const std::uint64_t took_ns = now_ns() - began;
  session.counters().served(problem.collective, problem.bytes, took_ns, group.planned_gain_s(problem),
                            group.last_crossing());
  group.note_served(problem.collective, problem.bytes, took_ns);
  return {.served = true, .code = MPI_SUCCESS, .bytes = problem.bytes};
}

}  // namespace

Data blocks(int n, const Data& block) {
  Data all = block;
  // A count that MPI has no int for makes too many bytes, or none at all; either way it passes.
  if (block.count <= INT_MAX) all.count = block.count * n;
  return all;
}

Data block_at(int index, const Data& block) {
  Data one = block;
  one.skipped = block.count * index;
  return one;
}

Attempt try_to_serve(Session& session, Group& group, const Call& call, const Sides& sides) noexcept {
  Attempt passed;
  if (!has_bytes(sides.whole)) return passed;
  const std::size_t bytes = total_bytes(sides.whole.count, sides.whole.type);
  passed.bytes = bytes;
  passed.fate = !group.may_serve()                    ? Fate::communicator
                : bytes == 0                          ? Fate::empty
                : bytes > most_bytes(call.collective) ? Fate::too_large
                                                      : Fate::waiting;
  if (passed.fate != Fate::waiting) return passed;

  coll::CommonProblem problem{.collective = call.collective,
                              .n_ranks = group.n_ranks(),
                              .root = coll::is_rooted(call.collective) ? call.root : 0,
                              .bytes = bytes};
  std::optional<Reduction> reduction;
  if (coll::is_reduction(call.collective)) {
    reduction = find_reduction(sides.whole.type, call.op);
    if (!reduction) {
      passed.fate = Fate::reduction;
      return passed;
    }
    problem.element_bytes = reduction->element_bytes;
    problem.commutative = reduction->commutative;
  }
  if (group.poisoned()) return {.served = true, .code = refuse(call.comm), .bytes = bytes};
  group.prepare(call.collective, bytes);
  if (group.poisoned()) return {.served = true, .code = refuse(call.comm), .bytes = bytes};
  const algo::Recipe* recipe = group.recipe(problem);
  passed.fate = group.fate();
  if (recipe == nullptr) return passed;

  // From here on this rank's own arguments: if they are wrong, what follows is between its program and the library.
  if (!is_sound(sides.input, coll::input_bytes(problem, group.rank())) ||
      !is_sound(sides.output, coll::output_bytes(problem, group.rank())) || is_refused_alias(sides)) {
    passed.fate = Fate::arguments;
    return passed;
  }
  return serve(session, group, problem, *recipe, [&] {
    const exec::Combine combine = reduction ? reduction->combine() : exec::Combine{};
    return Bound(group, problem, sides).run(*recipe, combine);
  });
}

Attempt try_to_serve_barrier(Session& session, Group& group) noexcept {
  if (group.poisoned()) return {.served = true, .code = refuse(group.comm())};
  const coll::CommonProblem problem{.collective = Collective::barrier, .n_ranks = group.n_ranks()};
  const algo::Recipe* recipe = group.recipe(problem);
  if (recipe == nullptr) return {.fate = group.fate()};
  return serve(session, group, problem, *recipe, [&] { return group.run(problem, *recipe, {}); });
}

const char* take_last_algorithm() { return std::exchange(last_algorithm, kNative); }
void note_native() { last_algorithm = kNative; }

}  // namespace eco::preload
