// Gatherv, scatterv, all-to-all v and w: never served, since no rank knows the counts of all. Their ranks are compared under
// ECO_CHECK (name and root), and they are counted and timed for a profile, as so many bytes as this rank sends, of a
// scatterv or in place receives. Without either they go straight on.
#include "preload/backend/call.h"

namespace eco::preload {
namespace {

std::size_t bytes_of(long long count, MPI_Datatype type) {
  MPI_Count bytes = 0;
  if (count <= 0 || PMPI_Type_size_x(type, &bytes) != MPI_SUCCESS || bytes < 0) return 0;
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(bytes);
}

template <class TypeOf>
std::size_t bytes_of(int n_ranks, const int* counts, const TypeOf& type_of) {
  std::size_t sum = 0;
  for (int rank = 0; rank < n_ranks; ++rank) sum += bytes_of(counts[rank], type_of(rank));
  return sum;
}

// `bytes_of_me` is asked after the library has found the arguments right.
template <class Native, class Bytes>
int look_on(Varying operation, const char* name, int root, MPI_Comm comm, const Native& native,
            const Bytes& bytes_of_me) {
  Session& session = Session::instance();
  note_native();
  if (!session.running() || !(session.profiles() || session.checks().is_open())) return native();
  const Session::Found found = session.group(comm);
  if (found.refused) return found.code;
  if (const std::optional<int> code = disagreement(session, found.group, name, root)) return *code;
  const std::uint64_t began = now_ns();
  const int code = native();
  const std::uint64_t took_ns = now_ns() - began;
  Group* const group = found.group;
  if (group == nullptr || code != MPI_SUCCESS) return code;
  // Between two groups of ranks, arguments mean something else.
  const std::size_t bytes =
      group->is_inter() ? 0 : bytes_of_me(Member{.rank = group->rank(), .n_ranks = group->n_ranks()});
  group->note_varying(operation, bytes, took_ns);
  return code;
}

}  // namespace
}  // namespace eco::preload

using eco::preload::bytes_of;
using eco::preload::look_on;
using eco::preload::Member;
using eco::preload::Varying;
using eco::runtime::CallRecord;

ECO_ENTRY int eco_wrap_MPI_Gatherv(const void* in, int in_count, MPI_Datatype in_type, void* out,
                                   const int* counts, const int* places, MPI_Datatype out_type, int root,
                                   MPI_Comm comm) noexcept {
  return look_on(
      Varying::gatherv, "MPI_Gatherv", root, comm,
      [&] { return PMPI_Gatherv(in, in_count, in_type, out, counts, places, out_type, root, comm); },
      [&](const Member& me) {
        return in == MPI_IN_PLACE ? bytes_of(counts[me.rank], out_type) : bytes_of(in_count, in_type);
      });
}

ECO_ENTRY int eco_wrap_MPI_Scatterv(const void* in, const int* counts, const int* places,
                                    MPI_Datatype in_type, void* out, int out_count, MPI_Datatype out_type,
                                    int root, MPI_Comm comm) noexcept {
  return look_on(
      Varying::scatterv, "MPI_Scatterv", root, comm,
      [&] { return PMPI_Scatterv(in, counts, places, in_type, out, out_count, out_type, root, comm); },
      [&](const Member& me) {
        return out == MPI_IN_PLACE ? bytes_of(counts[me.rank], in_type) : bytes_of(out_count, out_type);
      });
}

ECO_ENTRY int eco_wrap_MPI_Alltoallv(const void* in, const int* in_counts, const int* in_places,
                                     MPI_Datatype in_type, void* out, const int* out_counts,
                                     const int* out_places, MPI_Datatype out_type, MPI_Comm comm) noexcept {
  return look_on(
      Varying::alltoallv, "MPI_Alltoallv", CallRecord::kNoRoot, comm,
      [&] {
        return PMPI_Alltoallv(in, in_counts, in_places, in_type, out, out_counts, out_places, out_type, comm);
      },
      [&](const Member& me) {
        return in == MPI_IN_PLACE ? bytes_of(me.n_ranks, out_counts, [&](int) { return out_type; })
                                  : bytes_of(me.n_ranks, in_counts, [&](int) { return in_type; });
      });
}

ECO_ENTRY int eco_wrap_MPI_Alltoallw(const void* in, const int* in_counts, const int* in_places,
                                     const MPI_Datatype* in_types, void* out, const int* out_counts,
                                     const int* out_places, const MPI_Datatype* out_types,
                                     MPI_Comm comm) noexcept {
  return look_on(
      Varying::alltoallw, "MPI_Alltoallw", CallRecord::kNoRoot, comm,
      [&] {
        return PMPI_Alltoallw(in, in_counts, in_places, in_types, out, out_counts, out_places, out_types,
                              comm);
      },
      [&](const Member& me) {
        return in == MPI_IN_PLACE ? bytes_of(me.n_ranks, out_counts, [&](int i) { return out_types[i]; })
                                  : bytes_of(me.n_ranks, in_counts, [&](int i) { return in_types[i]; });
      });
}
