// Reduce, allreduce, reduce_scatter (and _block), scan, exscan. By MPI's rules all ranks have the same count, type and
// operation.
#include "preload/backend/call.h"

namespace eco::preload {
namespace {

using coll::Collective;

// Of a rank that has a whole vector and gets one: all but the ranks of a reduce that are not its root.
ECO_ON_EVERY_CALL Sides sides_of_vectors(const void* in, void* out, long long count, MPI_Datatype type) {
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

// All ranks have the same.
Lengths lengths_of(long long count, MPI_Datatype type) { return {.in_count = count, .in_type = type}; }

template <class Form, class Count>
int reduce(const Form& form, const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm) {
  return form({.collective = Collective::reduce,
               .comm = comm,
               .root = root,
               .op = op,
               .lengths = lengths_of(count, type)},
              [&](const Member& me) -> Sides {
                if (me.rank == root) return sides_of_vectors(in, out, count, type);
                const Data mine{in, count, type};
                return {.whole = mine, .input = mine};
              });
}

template <class Form, class Count>
int allreduce(const Form& form, const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm) {
  return form(
      {.collective = Collective::allreduce, .comm = comm, .op = op, .lengths = lengths_of(count, type)},
      [&](const Member&) { return sides_of_vectors(in, out, count, type); });
}

template <class Form, class Count>
int reduce_scatter_block(const Form& form, const void* in, void* out, Count count, MPI_Datatype type,
                         MPI_Op op, MPI_Comm comm) {
  return form({.collective = Collective::reduce_scatter_block,
               .comm = comm,
               .op = op,
               .lengths = lengths_of(count, type)},
              [&](const Member& me) { return sides_of_blocks(me, in, out, count, type); });
}

// The counts are the same on all ranks, and so is how blocks are padded to one length.
template <class Form, class Count>
int reduce_scatter(const Form& form, const void* in, void* out, const Count* counts, MPI_Datatype type,
                   MPI_Op op, MPI_Comm comm) {
  return form({.collective = Collective::reduce_scatter, .comm = comm, .op = op},
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

template <class Form, class Count>
int scan(const Form& form, const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op,
         MPI_Comm comm) {
  return form({.collective = Collective::scan, .comm = comm, .op = op, .lengths = lengths_of(count, type)},
              [&](const Member&) { return sides_of_vectors(in, out, count, type); });
}

template <class Form, class Count>
int exscan(const Form& form, const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op,
           MPI_Comm comm) {
  return form({.collective = Collective::exscan, .comm = comm, .op = op, .lengths = lengths_of(count, type)},
              [&](const Member& me) {
                Sides sides = sides_of_vectors(in, out, count, type);
                // Rank 0 gets nothing: its receive buffer stays as it is.
                if (me.rank == 0) sides.output.reset();
                return sides;
              });
}

}  // namespace
}  // namespace eco::preload

#define ECO_VECTORS(Count) \
  (const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
#define ECO_ENTRIES(S, Count)                                                                              \
  ECO_BOTH_FORMS(                                                                                          \
      Reduce, reduce, reduce, S,                                                                           \
      (const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),     \
      (in, out, count, type, op, root, comm))                                                              \
  ECO_BOTH_FORMS(                                                                                          \
      Reduce_scatter, reduce_scatter, reduce_scatter, S,                                                   \
      (const void* in, void* out, const Count* counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm),       \
      (in, out, counts, type, op, comm))                                                                   \
  ECO_BOTH_FORMS(Allreduce, allreduce, allreduce, S, ECO_VECTORS(Count), (in, out, count, type, op, comm)) \
  ECO_BOTH_FORMS(Reduce_scatter_block, reduce_scatter_block, reduce_scatter_block, S, ECO_VECTORS(Count),  \
                 (in, out, count, type, op, comm))                                                         \
  ECO_BOTH_FORMS(Scan, scan, scan, S, ECO_VECTORS(Count), (in, out, count, type, op, comm))                \
  ECO_BOTH_FORMS(Exscan, exscan, exscan, S, ECO_VECTORS(Count), (in, out, count, type, op, comm))

ECO_ENTRIES(, int)
#if defined(ECO_HAS_LARGE_COUNTS)
ECO_ENTRIES(_c, MPI_Count)
#endif
#undef ECO_ENTRIES
