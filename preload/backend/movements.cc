// Broadcast, scatter, gather, allgather (and v), all-to-all: which arguments are significant on which rank, and what they
// say.
//
// Ranks may differ in datatype and count as long as the signatures match, so the bytes are common and the types are not.
#include "preload/backend/call.h"

namespace eco::preload {
namespace {

using coll::Collective;

// Of a rank that gets every rank's block: gather's root, all ranks of an allgather.
Sides sides_of_receiver(const Member& me, const Data& mine, const Data& block) {
  const Data all = blocks(me.n_ranks, block);
  const Data in_place = block_at(me.rank, block);
  if (mine.memory == MPI_IN_PLACE) return {.whole = all, .input = in_place, .output = all, .in_place = true};
  return {.whole = all, .input = mine, .output = all, .twins = {{mine, in_place}}};
}

template <class Form, class Count>
int broadcast(const Form& form, void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  const Lengths lengths{.out_count = count, .out_type = type};
  return form({.collective = Collective::broadcast, .comm = comm, .root = root, .lengths = lengths},
              [&](const Member&) -> Sides {
                const Data data{buffer, count, type};
                return {.whole = data, .output = data};
              });
}

template <class Form, class Count>
int scatter(const Form& form, const void* in, Count in_count, MPI_Datatype in_type, void* out,
            Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm) {
  const Lengths lengths{in_count, in_type, out_count, out_type};
  return form({.collective = Collective::scatter, .comm = comm, .root = root, .lengths = lengths},
              [&](const Member& me) -> Sides {
                const Data mine{out, out_count, out_type};
                if (me.rank != root) return {.whole = blocks(me.n_ranks, mine), .output = mine};
                const Data block{in, in_count, in_type};
                const Data all = blocks(me.n_ranks, block);
                if (out == MPI_IN_PLACE) return {.whole = all, .input = all};
                return {
                    .whole = all, .input = all, .output = mine, .twins = {{mine, block_at(me.rank, block)}}};
              });
}

template <class Form, class Count>
int gather(const Form& form, const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
           MPI_Datatype out_type, int root, MPI_Comm comm) {
  const Lengths lengths{in_count, in_type, out_count, out_type};
  return form({.collective = Collective::gather, .comm = comm, .root = root, .lengths = lengths},
              [&](const Member& me) -> Sides {
                const Data mine{in, in_count, in_type};
                if (me.rank != root) return {.whole = blocks(me.n_ranks, mine), .input = mine};
                return sides_of_receiver(me, mine, {out, out_count, out_type});
              });
}

template <class Form, class Count>
int allgather(const Form& form, const void* in, Count in_count, MPI_Datatype in_type, void* out,
              Count out_count, MPI_Datatype out_type, MPI_Comm comm) {
  const Lengths lengths{in_count, in_type, out_count, out_type};
  return form({.collective = Collective::allgather, .comm = comm, .lengths = lengths}, [&](const Member& me) {
    return sides_of_receiver(me, {in, in_count, in_type}, {out, out_count, out_type});
  });
}

// All ranks have all counts, so it is decided alike whether and how the blocks are padded to one length. Where they lie in
// memory is each rank's own business.
template <class Form, class Count, class Place>
int allgatherv(const Form& form, const void* in, Count in_count, MPI_Datatype in_type, void* out,
               const Count* counts, const Place* places, MPI_Datatype out_type, MPI_Comm comm) {
  return form({.collective = Collective::allgather, .comm = comm}, [&](const Member& me) -> Sides {
    const Pieces pieces(me.n_ranks, counts, places);
    const Data mine{in, in_count, in_type};
    const long long longest = pieces.longest();
    if (pieces.empty() || places == nullptr || longest < 0) return {};  // wrong, and the library's to say so
    if (pieces.are_even()) return sides_of_receiver(me, mine, {out, longest, out_type});
    const Pieces::Piece own = pieces.of(me.rank);
    const Data in_place{out, own.count, out_type, own.skipped};
    const bool is_in_place = in == MPI_IN_PLACE;
    return {.whole = blocks(me.n_ranks, {out, longest, out_type}),
            .input = is_in_place ? in_place : mine,
            .output = Data{out, pieces.total(), out_type},
            .in_place = is_in_place,
            .twins = {{mine, in_place}},
            .pieces = pieces};
  });
}

template <class Form, class Count>
int alltoall(const Form& form, const void* in, Count in_count, MPI_Datatype in_type, void* out,
             Count out_count, MPI_Datatype out_type, MPI_Comm comm) {
  const Lengths lengths{in_count, in_type, out_count, out_type};
  return form({.collective = Collective::alltoall, .comm = comm, .lengths = lengths},
              [&](const Member& me) -> Sides {
                const Data to_me = blocks(me.n_ranks, {out, out_count, out_type});
                if (in == MPI_IN_PLACE)
                  return {.whole = to_me, .input = to_me, .output = to_me, .in_place = true};
                const Data from_me = blocks(me.n_ranks, {in, in_count, in_type});
                return {.whole = to_me, .input = from_me, .output = to_me, .twins = {{from_me, to_me}}};
              });
}

}  // namespace
}  // namespace eco::preload

#define ECO_ENTRIES(S, Count, Place)                                                                    \
  ECO_BOTH_FORMS(Bcast, bcast, broadcast, S,                                                            \
                 (void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm),               \
                 (buffer, count, type, root, comm))                                                     \
  ECO_BOTH_FORMS(Scatter, scatter, scatter, S, (ECO_TWO_SIDES(Count), int root, MPI_Comm comm),         \
                 (in, in_count, in_type, out, out_count, out_type, root, comm))                         \
  ECO_BOTH_FORMS(Gather, gather, gather, S, (ECO_TWO_SIDES(Count), int root, MPI_Comm comm),            \
                 (in, in_count, in_type, out, out_count, out_type, root, comm))                         \
  ECO_BOTH_FORMS(Allgather, allgather, allgather, S, (ECO_TWO_SIDES(Count), MPI_Comm comm),             \
                 (in, in_count, in_type, out, out_count, out_type, comm))                               \
  ECO_BOTH_FORMS(Allgatherv, allgatherv, allgatherv, S,                                                 \
                 (const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts, \
                  const Place* places, MPI_Datatype out_type, MPI_Comm comm),                           \
                 (in, in_count, in_type, out, counts, places, out_type, comm))                          \
  ECO_BOTH_FORMS(Alltoall, alltoall, alltoall, S, (ECO_TWO_SIDES(Count), MPI_Comm comm),                \
                 (in, in_count, in_type, out, out_count, out_type, comm))

ECO_ENTRIES(, int, int)
#if defined(ECO_HAS_LARGE_COUNTS)
ECO_ENTRIES(_c, MPI_Count, MPI_Aint)
#endif
#undef ECO_ENTRIES
