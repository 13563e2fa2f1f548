#include "preload/fuzz/calls.h"

#include <stdexcept>

namespace eco::fuzz {
namespace {

#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
#define ECO_LARGE_CASES(Name, name, ...)          \
  case Form::large: {                             \
    const auto& c = a.large;                      \
    return MPI_##Name##_c(__VA_ARGS__);           \
  }                                               \
  case Form::nonblocking_large: {                 \
    const auto& c = a.large;                      \
    return MPI_I##name##_c(__VA_ARGS__, request); \
  }
#else
#define ECO_LARGE_CASES(Name, name, ...)
#endif

#define ECO_CALL(Name, name, ...)                                                                  \
  int name(const Arguments& a, Form form, MPI_Request* request) {                                  \
    switch (form) {                                                                                \
      ECO_LARGE_CASES(Name, name, __VA_ARGS__)                                                     \
      case Form::persistent: {                                                                     \
        const auto& c = a.counts;                                                                  \
        return MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request);                             \
      }                                                                                            \
      default: {                                                                                   \
        const auto& c = a.counts;                                                                  \
        return is_nonblocking(form) ? MPI_I##name(__VA_ARGS__, request) : MPI_##Name(__VA_ARGS__); \
      }                                                                                            \
    }                                                                                              \
  }

#define ECO_IN a.in, c.in, a.in_type
#define ECO_OUT a.out, c.out, a.out_type
#define ECO_IN_EACH a.in, c.each_in.data(), c.in_places.data(), a.in_type
#define ECO_OUT_EACH a.out, c.each_out.data(), c.out_places.data(), a.out_type
#define ECO_VECTORS a.in, a.out, c.out, a.out_type, a.op

ECO_CALL(Bcast, bcast, ECO_OUT, a.root, a.comm)
ECO_CALL(Gather, gather, ECO_IN, ECO_OUT, a.root, a.comm)
ECO_CALL(Gatherv, gatherv, ECO_IN, ECO_OUT_EACH, a.root, a.comm)
ECO_CALL(Scatter, scatter, ECO_IN, ECO_OUT, a.root, a.comm)
ECO_CALL(Scatterv, scatterv, ECO_IN_EACH, ECO_OUT, a.root, a.comm)
ECO_CALL(Allgather, allgather, ECO_IN, ECO_OUT, a.comm)
ECO_CALL(Allgatherv, allgatherv, ECO_IN, ECO_OUT_EACH, a.comm)
ECO_CALL(Alltoall, alltoall, ECO_IN, ECO_OUT, a.comm)
ECO_CALL(Alltoallv, alltoallv, ECO_IN_EACH, ECO_OUT_EACH, a.comm)
ECO_CALL(Alltoallw, alltoallw, a.in, c.each_in.data(), c.in_places.data(), a.in_types.data(), a.out,
         c.each_out.data(), c.out_places.data(), a.out_types.data(), a.comm)
ECO_CALL(Reduce, reduce, ECO_VECTORS, a.root, a.comm)
ECO_CALL(Allreduce, allreduce, ECO_VECTORS, a.comm)
ECO_CALL(Reduce_scatter, reduce_scatter, a.in, a.out, c.each_out.data(), a.out_type, a.op, a.comm)
ECO_CALL(Reduce_scatter_block, reduce_scatter_block, ECO_VECTORS, a.comm)
ECO_CALL(Scan, scan, ECO_VECTORS, a.comm)
ECO_CALL(Exscan, exscan, ECO_VECTORS, a.comm)
ECO_CALL(Neighbor_allgather, neighbor_allgather, ECO_IN, ECO_OUT, a.comm)
ECO_CALL(Neighbor_alltoall, neighbor_alltoall, ECO_IN, ECO_OUT, a.comm)
ECO_CALL(Neighbor_allgatherv, neighbor_allgatherv, ECO_IN, ECO_OUT_EACH, a.comm)
ECO_CALL(Neighbor_alltoallv, neighbor_alltoallv, ECO_IN_EACH, ECO_OUT_EACH, a.comm)
// Their places are addresses in every form.
ECO_CALL(Neighbor_alltoallw, neighbor_alltoallw, a.in, c.each_in.data(), a.large.in_places.data(),
         a.in_types.data(), a.out, c.each_out.data(), a.large.out_places.data(), a.out_types.data(), a.comm)

int barrier(const Arguments& a, Form form, MPI_Request* request) {
  if (form == Form::persistent) return MPI_Barrier_init(a.comm, MPI_INFO_NULL, request);
  return is_nonblocking(form) ? MPI_Ibarrier(a.comm, request) : MPI_Barrier(a.comm);
}

}  // namespace

void Arguments::widen() {
  large.in = counts.in;
  large.out = counts.out;
  large.each_in.assign(counts.each_in.begin(), counts.each_in.end());
  large.each_out.assign(counts.each_out.begin(), counts.each_out.end());
  large.in_places.assign(counts.in_places.begin(), counts.in_places.end());
  large.out_places.assign(counts.out_places.begin(), counts.out_places.end());
}

Form form_of(const std::string& name) {
  if (name == "blocking") return Form::blocking;
  if (name == "nonblocking") return Form::nonblocking;
  if (name == "persistent") return Form::persistent;
  if (name == "large") return Form::large;
  if (name == "nonblocking_large") return Form::nonblocking_large;
  throw std::runtime_error("form '" + name + "' is none that is known");
}

const CallEntry& find_call(const std::string& name) {
  static const std::vector<CallEntry> table = {
      {"barrier", barrier},
      {"bcast", bcast},
      {"gather", gather},
      {"gatherv", gatherv},
      {"scatter", scatter},
      {"scatterv", scatterv},
      {"allgather", allgather},
      {"allgatherv", allgatherv},
      {"alltoall", alltoall},
      {"alltoallv", alltoallv},
      {"alltoallw", alltoallw},
      {"reduce", reduce},
      {"allreduce", allreduce},
      {"reduce_scatter", reduce_scatter},
      {"reduce_scatter_block", reduce_scatter_block},
      {"scan", scan},
      {"exscan", exscan},
      {"neighbor_allgather", neighbor_allgather},
      {"neighbor_alltoall", neighbor_alltoall},
      {"neighbor_allgatherv", neighbor_allgatherv},
      {"neighbor_alltoallv", neighbor_alltoallv},
      {"neighbor_alltoallw", neighbor_alltoallw},
  };
  for (const CallEntry& call : table) {
    if (name == call.name) return call;
  }
  throw std::runtime_error("call '" + name + "' is none that is known");
}

}  // namespace eco::fuzz
