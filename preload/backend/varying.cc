// Calls that are never served: gatherv, scatterv, all-to-all v and w, and those of neighbours, since no rank knows the
// counts of all, and the nonblocking barrier and neighbourhood collectives. They are counted and timed for a profile, as
// so many bytes as this rank sends, of a scatterv or in place receives. Under ECO_CHECK the ranks of those that a program
// waits in are compared, name and root. Without either they go straight on.
#include "preload/backend/call.h"
#include "preload/backend/datatypes.h"
#include "preload/backend/neighbors.h"

namespace eco::preload {
namespace {

using coll::Collective;

std::size_t bytes_of(long long count, MPI_Datatype type) {
  MPI_Count bytes = 0;
  if (count <= 0 || PMPI_Type_size_x(type, &bytes) != MPI_SUCCESS || bytes < 0) return 0;
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(bytes);
}

template <class Count, class TypeOf>
std::size_t bytes_of(int n_ranks, const Count* counts, const TypeOf& type_of) {
  std::size_t sum = 0;
  for (int rank = 0; rank < n_ranks; ++rank) sum += bytes_of(counts[rank], type_of(rank));
  return sum;
}

Watched varying(Varying operation, MPI_Comm comm, int root = runtime::CallRecord::kNoRoot) {
  return {.operation = Profile::number_of(operation), .fate = Fate::varying, .comm = comm, .root = root};
}

template <class Form, class Count, class Place>
int gatherv(const Form& form, const void* in, Count in_count, MPI_Datatype in_type, void* /*out*/,
            const Count* counts, const Place* /*places*/, MPI_Datatype out_type, int root, MPI_Comm comm) {
  return form(varying(Varying::gatherv, comm, root), [&](const Member& me) {
    return in == MPI_IN_PLACE ? bytes_of(counts[me.rank], out_type) : bytes_of(in_count, in_type);
  });
}

template <class Form, class Count, class Place>
int scatterv(const Form& form, const void* /*in*/, const Count* counts, const Place* /*places*/,
             MPI_Datatype in_type, void* out, Count out_count, MPI_Datatype out_type, int root,
             MPI_Comm comm) {
  return form(varying(Varying::scatterv, comm, root), [&](const Member& me) {
    return out == MPI_IN_PLACE ? bytes_of(counts[me.rank], in_type) : bytes_of(out_count, out_type);
  });
}

template <class Form, class Count, class Place>
int alltoallv(const Form& form, const void* in, const Count* in_counts, const Place* /*in_places*/,
              MPI_Datatype in_type, void* /*out*/, const Count* out_counts, const Place* /*out_places*/,
              MPI_Datatype out_type, MPI_Comm comm) {
  return form(varying(Varying::alltoallv, comm), [&](const Member& me) {
    return in == MPI_IN_PLACE ? bytes_of(me.n_ranks, out_counts, [&](int) { return out_type; })
                              : bytes_of(me.n_ranks, in_counts, [&](int) { return in_type; });
  });
}

template <class Form, class Count, class Place>
int alltoallw(const Form& form, const void* in, const Count* in_counts, const Place* /*in_places*/,
              const MPI_Datatype* in_types, void* /*out*/, const Count* out_counts,
              const Place* /*out_places*/, const MPI_Datatype* out_types, MPI_Comm comm) {
  return form(varying(Varying::alltoallw, comm), [&](const Member& me) {
    return in == MPI_IN_PLACE ? bytes_of(me.n_ranks, out_counts, [&](int i) { return out_types[i]; })
                              : bytes_of(me.n_ranks, in_counts, [&](int i) { return in_types[i]; });
  });
}

// To a neighbour who is nobody a program may say anything; its count is taken for what it says.
template <class Form, class Count, class Place>
int neighbor_allgatherv(const Form& form, const void* /*in*/, Count in_count, MPI_Datatype in_type,
                        void* /*out*/, const Count* /*counts*/, const Place* /*places*/,
                        MPI_Datatype /*out_type*/, MPI_Comm comm) {
  return form(varying(Varying::neighbor_allgatherv, comm),
              [&](const Member&) { return bytes_of(in_count, in_type); });
}

template <class Form, class Count, class Place>
int neighbor_alltoallv(const Form& form, const void* /*in*/, const Count* in_counts,
                       const Place* /*in_places*/, MPI_Datatype in_type, void* /*out*/,
                       const Count* /*out_counts*/, const Place* /*out_places*/, MPI_Datatype /*out_type*/,
                       MPI_Comm comm) {
  return form(varying(Varying::neighbor_alltoallv, comm), [&](const Member& me) {
    return bytes_of(n_targets(comm, me.rank), in_counts, [&](int) { return in_type; });
  });
}

template <class Form, class Count>
int neighbor_alltoallw(const Form& form, const void* /*in*/, const Count* in_counts,
                       const MPI_Aint* /*in_places*/, const MPI_Datatype* in_types, void* /*out*/,
                       const Count* /*out_counts*/, const MPI_Aint* /*out_places*/,
                       const MPI_Datatype* /*out_types*/, MPI_Comm comm) {
  return form(varying(Varying::neighbor_alltoallw, comm), [&](const Member& me) {
    return bytes_of(n_targets(comm, me.rank), in_counts, [&](int i) { return in_types[i]; });
  });
}

Watched beside(Collective collective, MPI_Comm comm) {
  return {.operation = Profile::number_of(collective), .fate = Fate::nonblocking, .comm = comm};
}

template <class Form>
int barrier_beside(const Form& form, MPI_Comm comm) {
  return form(beside(Collective::barrier, comm), [](const Member&) { return std::size_t{0}; });
}

// Of neighbours one block counts, as in their blocking forms.
template <Collective collective, class Form, class Count>
int neighbors_beside(const Form& form, const void* /*in*/, Count in_count, MPI_Datatype in_type,
                     void* /*out*/, Count /*out_count*/, MPI_Datatype /*out_type*/, MPI_Comm comm) {
  return form(beside(collective, comm), [&](const Member&) { return bytes_of(in_count, in_type); });
}

}  // namespace
}  // namespace eco::preload

#define ECO_ENTRIES(S, Count, Place)                                                                         \
  ECO_BOTH_FORMS(Gatherv, gatherv, gatherv, S,                                                               \
                 (const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts,      \
                  const Place* places, MPI_Datatype out_type, int root, MPI_Comm comm),                      \
                 (in, in_count, in_type, out, counts, places, out_type, root, comm))                         \
  ECO_BOTH_FORMS(Scatterv, scatterv, scatterv, S,                                                            \
                 (const void* in, const Count* counts, const Place* places, MPI_Datatype in_type, void* out, \
                  Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm),                          \
                 (in, counts, places, in_type, out, out_count, out_type, root, comm))                        \
  ECO_BOTH_FORMS(                                                                                            \
      Alltoallv, alltoallv, alltoallv, S,                                                                    \
      (const void* in, const Count* in_counts, const Place* in_places, MPI_Datatype in_type, void* out,      \
       const Count* out_counts, const Place* out_places, MPI_Datatype out_type, MPI_Comm comm),              \
      (in, in_counts, in_places, in_type, out, out_counts, out_places, out_type, comm))                      \
  ECO_BOTH_FORMS(Alltoallw, alltoallw, alltoallw, S,                                                         \
                 (const void* in, const Count* in_counts, const Place* in_places,                            \
                  const MPI_Datatype* in_types, void* out, const Count* out_counts, const Place* out_places, \
                  const MPI_Datatype* out_types, MPI_Comm comm),                                             \
                 (in, in_counts, in_places, in_types, out, out_counts, out_places, out_types, comm))         \
  ECO_NONBLOCKING_FORM(neighbor_allgather, neighbors_beside<eco::coll::Collective::neighbor_allgather>, S,   \
                       (ECO_TWO_SIDES(Count), MPI_Comm comm),                                                \
                       (in, in_count, in_type, out, out_count, out_type, comm))                              \
  ECO_NONBLOCKING_FORM(neighbor_alltoall, neighbors_beside<eco::coll::Collective::neighbor_alltoall>, S,     \
                       (ECO_TWO_SIDES(Count), MPI_Comm comm),                                                \
                       (in, in_count, in_type, out, out_count, out_type, comm))

ECO_ENTRIES(, int, int)
#if defined(ECO_HAS_LARGE_COUNTS)
ECO_ENTRIES(_c, MPI_Count, MPI_Aint)
#endif
#undef ECO_ENTRIES
ECO_NONBLOCKING_FORM(barrier, barrier_beside, , (MPI_Comm comm), (comm))
ECO_BOTH_FORMS(Neighbor_allgatherv, neighbor_allgatherv, neighbor_allgatherv, ,
               (const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts,
                const int* places, MPI_Datatype out_type, MPI_Comm comm),
               (in, in_count, in_type, out, counts, places, out_type, comm))
ECO_BOTH_FORMS(Neighbor_alltoallv, neighbor_alltoallv, neighbor_alltoallv, ,
               (const void* in, const int* in_counts, const int* in_places, MPI_Datatype in_type, void* out,
                const int* out_counts, const int* out_places, MPI_Datatype out_type, MPI_Comm comm),
               (in, in_counts, in_places, in_type, out, out_counts, out_places, out_type, comm))
ECO_BOTH_FORMS(Neighbor_alltoallw, neighbor_alltoallw, neighbor_alltoallw, ,
               (const void* in, const int* in_counts, const MPI_Aint* in_places, const MPI_Datatype* in_types,
                void* out, const int* out_counts, const MPI_Aint* out_places, const MPI_Datatype* out_types,
                MPI_Comm comm),
               (in, in_counts, in_places, in_types, out, out_counts, out_places, out_types, comm))
