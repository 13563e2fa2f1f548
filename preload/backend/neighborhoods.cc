// MPI_Neighbor_allgather and MPI_Neighbor_alltoall: what goes along the edges of a topology (docs/adr/0016).
//
// What a rank's arguments say depends on its edges, and which calls are alike is known with the whole graph alone: so the
// graph comes first (Group::prepare_neighbors), and then the frame of every call.
#include "preload/backend/call.h"
#include "preload/backend/datatypes.h"
#include "preload/backend/neighbors.h"

namespace eco::preload {
namespace {

using coll::Collective;

std::size_t bytes_in(const Data& data) { return has_bytes(data) ? total_bytes(data.count, data.type) : 0; }

// One block to whom a rank tells something, and one from whom it hears.
Sides sides_along(const coll::Neighborhood& graph, Collective collective, int rank, const Data& told,
                  const Data& heard) {
  const auto& targets = graph.targets_of(rank);
  const auto& sources = graph.sources_of(rank);
  const bool tells = graph.tells_somebody(rank);
  Sides sides;
  sides.whole = tells ? told : heard;
  if (collective == Collective::neighbor_allgather) {
    if (tells) sides.input = told;
  } else if (!targets.empty()) {
    sides.input = blocks(static_cast<int>(targets.size()), told);
  }
  if (!sources.empty()) sides.output = blocks(static_cast<int>(sources.size()), heard);
  sides.has_places_of_nobody = std::any_of(sources.begin(), sources.end(), [](const auto& from) {
    return from.rank == coll::Neighborhood::kNobody;
  });
  return sides;
}

Attempt try_along_edges(Session& session, Group& group, const Call& call, const Data& told,
                        const Data& heard) {
  group.prepare_neighbors({bytes_in(told), bytes_in(heard)});
  if (group.poisoned()) return refused(group);
  const std::shared_ptr<const coll::Neighborhood>& graph = group.neighbors();
  if (graph == nullptr) return {.fate = group.fate_of_neighbors()};
  return try_to_serve(session, group, call, sides_along(*graph, call.collective, group.rank(), told, heard));
}

template <class Native>
int along_edges(const Call& call, const Native& native, const Data& told, const Data& heard) {
  Session& session = Session::instance();
  if (!session.running()) return native();
  const Session::Found found = session.group(call.comm);
  if (found.refused) return found.code;
  if (const std::optional<int> code = disagreement(session, found.group, call.name)) return *code;
  const Attempt made = is_for(found.group, call) ? try_along_edges(session, *found.group, call, told, heard)
                                                 : Attempt{.fate = fate_unlooked_at(found.group)};
  return made.served ? made.code : pass(session, found.group, call.collective, made, native);
}

}  // namespace
}  // namespace eco::preload

#define ECO_ALONG_EDGES(Name, which, suffix, Count)                                                          \
  ECO_ENTRY int eco_wrap_MPI_##Name##suffix(const void* in, Count in_count, MPI_Datatype in_type, void* out, \
                                            Count out_count, MPI_Datatype out_type,                          \
                                            MPI_Comm comm) noexcept {                                        \
    return eco::preload::along_edges(                                                                        \
        {.collective = eco::coll::Collective::which, .comm = comm, .name = "MPI_" #Name},                    \
        [&] { return PMPI_##Name##suffix(in, in_count, in_type, out, out_count, out_type, comm); },          \
        {in, in_count, in_type}, {out, out_count, out_type});                                                \
  }
#define ECO_ENTRIES(suffix, Count)                                       \
  ECO_ALONG_EDGES(Neighbor_allgather, neighbor_allgather, suffix, Count) \
  ECO_ALONG_EDGES(Neighbor_alltoall, neighbor_alltoall, suffix, Count)

ECO_ENTRIES(, int)
#if defined(ECO_HAS_LARGE_COUNTS)
ECO_ENTRIES(_c, MPI_Count)
#endif
#undef ECO_ENTRIES
