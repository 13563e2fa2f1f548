// Reduce, allreduce, reduce_scatter (and _block), scan, exscan. By MPI's rules all ranks have the same count, type and
// operation.
#include "preload/backend/call.h"

namespace eco::preload {
namespace {

using coll::Collective;

// Of a rank that has a whole vector and gets one: all but the ranks of a reduce that are not its root.
Sides sides_of_vectors(const void* in, void* out, long long count, MPI_Datatype type) {
  const Data result{out, count, type};
  if (in == MPI_IN_PLACE) return {.whole = result, .input = result, .output = result, .in_place = true};
  const Data mine{in, count, type};
  return {.whole = mine, .input = mine, .output = result, .twins = {{mine, result}}};
}

Sides sides_of_blocks(const Member& me, const void* in, void* out, long long count, MPI_Datatype type) {
  const Data result{out, count, type};
  const Data block{in == MPI_IN_PLACE ? out : in, count, type};
  const Data all = blocks(me.n_ranks, block);
  if (in == MPI_IN_PLACE) return {.whole = all, .input = all, .output = result, .in_place = true};
  return {.whole = all, .input = all, .output = result, .twins = {{block, result}}};
}

template <class Count>
int reduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  return run(
      {.collective = Collective::reduce, .comm = comm, .root = root, .op = op},
      [&] { return Library<Count>::reduce(in, out, count, type, op, root, comm); },
      [&](const Member& me) -> Sides {
        if (me.rank == root) return sides_of_vectors(in, out, count, type);
        const Data mine{in, count, type};
        return {.whole = mine, .input = mine};
      });
}

template <class Count>
int allreduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return run(
      {.collective = Collective::allreduce, .comm = comm, .op = op},
      [&] { return Library<Count>::allreduce(in, out, count, type, op, comm); },
      [&](const Member&) { return sides_of_vectors(in, out, count, type); });
}

template <class Count>
int reduce_scatter_block(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm) {
  return run(
      {.collective = Collective::reduce_scatter_block, .comm = comm, .op = op},
      [&] { return Library<Count>::reduce_scatter_block(in, out, count, type, op, comm); },
      [&](const Member& me) { return sides_of_blocks(me, in, out, count, type); });
}

// The counts are the same on all ranks, and so is how blocks are padded to one length.
template <class Count>
int reduce_scatter(const void* in, void* out, const Count* counts, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm) {
  return run(
      {.collective = Collective::reduce_scatter, .comm = comm, .op = op},
      [&] { return Library<Count>::reduce_scatter(in, out, counts, type, op, comm); },
      [&](const Member& me) -> Sides {
        const Pieces pieces(me.n_ranks, counts, static_cast<const Count*>(nullptr));
        const long long longest = pieces.longest();
        if (pieces.empty() || longest < 0) return {};  // wrong, and the library's to say so
        Sides sides = sides_of_blocks(me, in, out, longest, type);
        if (pieces.are_even()) return sides;
        sides.input = Data{sides.input->memory, pieces.total(), type};
        sides.output->count = pieces.of(me.rank).count;
        if (!sides.in_place) sides.twins = {{Data{in, 1, type}, Data{out, 1, type}}};
        sides.pieces = pieces;
        return sides;
      });
}

template <class Count>
int scan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return run(
      {.collective = Collective::scan, .comm = comm, .op = op},
      [&] { return Library<Count>::scan(in, out, count, type, op, comm); },
      [&](const Member&) { return sides_of_vectors(in, out, count, type); });
}

template <class Count>
int exscan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return run(
      {.collective = Collective::exscan, .comm = comm, .op = op},
      [&] { return Library<Count>::exscan(in, out, count, type, op, comm); },
      [&](const Member& me) {
        Sides sides = sides_of_vectors(in, out, count, type);
        // Rank 0 gets nothing: its receive buffer stays as it is.
        if (me.rank == 0) sides.output.reset();
        return sides;
      });
}

}  // namespace
}  // namespace eco::preload

#define ECO_ENTRIES(suffix, Count)                                                                          \
  ECO_ENTRY int eco_wrap_MPI_Reduce##suffix(const void* in, void* out, Count count, MPI_Datatype type,      \
                                            MPI_Op op, int root, MPI_Comm comm) noexcept {                  \
    return eco::preload::reduce(in, out, count, type, op, root, comm);                                      \
  }                                                                                                         \
  ECO_ENTRY int eco_wrap_MPI_Allreduce##suffix(const void* in, void* out, Count count, MPI_Datatype type,   \
                                               MPI_Op op, MPI_Comm comm) noexcept {                         \
    return eco::preload::allreduce(in, out, count, type, op, comm);                                         \
  }                                                                                                         \
  ECO_ENTRY int eco_wrap_MPI_Reduce_scatter##suffix(const void* in, void* out, const Count* counts,         \
                                                    MPI_Datatype type, MPI_Op op, MPI_Comm comm) noexcept { \
    return eco::preload::reduce_scatter(in, out, counts, type, op, comm);                                   \
  }                                                                                                         \
  ECO_ENTRY int eco_wrap_MPI_Reduce_scatter_block##suffix(                                                  \
      const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) noexcept {       \
    return eco::preload::reduce_scatter_block(in, out, count, type, op, comm);                              \
  }                                                                                                         \
  ECO_ENTRY int eco_wrap_MPI_Scan##suffix(const void* in, void* out, Count count, MPI_Datatype type,        \
                                          MPI_Op op, MPI_Comm comm) noexcept {                              \
    return eco::preload::scan(in, out, count, type, op, comm);                                              \
  }                                                                                                         \
  ECO_ENTRY int eco_wrap_MPI_Exscan##suffix(const void* in, void* out, Count count, MPI_Datatype type,      \
                                            MPI_Op op, MPI_Comm comm) noexcept {                            \
    return eco::preload::exscan(in, out, count, type, op, comm);                                            \
  }

ECO_ENTRIES(, int)
#if defined(ECO_HAS_LARGE_COUNTS)
ECO_ENTRIES(_c, MPI_Count)
#endif
