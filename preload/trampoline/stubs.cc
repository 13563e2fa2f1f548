// What the stubs (stubs.<architecture>.S) call: the search for a slot's target, and the large-count entries for
// libraries that have none.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "preload/trampoline/resolve.h"

namespace {

// mpi4py asks for the large-count entries with weak symbols, finds our stubs under every library and then calls them
// alone. Under a library without them these stand in. Handles are passed on untouched, whatever their size. A count
// that does not fit becomes -1: the library then reports MPI_ERR_COUNT by the communicator's error handler.
using Handle = void*;
enum Count : int {};  // an int argument that is a count, and so of another type in the large variant

template <class Argument>
struct Large {
  using Type = Argument;
  static Argument narrow(Argument argument) { return argument; }
};
template <>
struct Large<Count> {
  using Type = int64_t;
  static Count narrow(int64_t count) {
    return Count{count > INT32_MAX || count < 0 ? -1 : static_cast<int>(count)};
  }
};

// The large variant of `function`, as a function.
template <auto function>
struct Narrowed;
template <class... Arguments, int (*function)(Arguments...)>
struct Narrowed<function> {
  static int call(typename Large<Arguments>::Type... arguments) {
    return function(Large<Arguments>::narrow(arguments)...);
  }
};

extern "C" {
int MPI_Bcast(void*, Count, Handle, int, Handle);
int MPI_Scatter(const void*, Count, Handle, void*, Count, Handle, int, Handle);
int MPI_Gather(const void*, Count, Handle, void*, Count, Handle, int, Handle);
int MPI_Allgather(const void*, Count, Handle, void*, Count, Handle, Handle);
int MPI_Alltoall(const void*, Count, Handle, void*, Count, Handle, Handle);
int MPI_Reduce(const void*, void*, Count, Handle, Handle, int, Handle);
int MPI_Allreduce(const void*, void*, Count, Handle, Handle, Handle);
int MPI_Reduce_scatter(const void*, void*, const Count*, Handle, Handle, Handle);
int MPI_Reduce_scatter_block(const void*, void*, Count, Handle, Handle, Handle);
int MPI_Scan(const void*, void*, Count, Handle, Handle, Handle);
int MPI_Exscan(const void*, void*, Count, Handle, Handle, Handle);
}

// A count for every rank.
template <>
struct Narrowed<&MPI_Reduce_scatter> {
  static int call(const void* in, void* out, const int64_t* counts, Handle type, Handle op, Handle comm) {
    using CommSize = int (*)(Handle, int*);
    const auto comm_size = reinterpret_cast<CommSize>(eco::trampoline::find_target("MPI_Comm_size"));
    int n_ranks = 0;
    const int code = comm_size(comm, &n_ranks);
    if (code != 0 || counts == nullptr)
      return code != 0 ? code : MPI_Reduce_scatter(in, out, nullptr, type, op, comm);
    auto* narrow = static_cast<Count*>(malloc(static_cast<size_t>(n_ranks) * sizeof(Count)));
    if (narrow == nullptr)
      eco::trampoline::give_up("has no memory for the counts of", "MPI_Reduce_scatter_c");
    for (int i = 0; i < n_ranks; ++i) narrow[i] = Large<Count>::narrow(counts[i]);
    const int result = MPI_Reduce_scatter(in, out, narrow, type, op, comm);
    free(narrow);
    return result;
  }
};

struct Narrow {
  const char* large;
  void* function;
};
const Narrow kNarrow[] = {
#define ECO_WRAP(name)
#define ECO_WRAP_LARGE(name, narrow) {#name, reinterpret_cast<void*>(&Narrowed<&narrow>::call)},
#include "preload/wrappers.def"
};

}  // namespace

extern "C" __attribute__((visibility("hidden"), used)) void* eco_trampoline_resolve(const char* name) {
  if (void* target = eco::trampoline::find_target(name)) return target;
  for (const Narrow& entry : kNarrow) {
    if (strcmp(entry.large, name) == 0) return entry.function;
  }
  eco::trampoline::give_up("found no MPI library that has this function", name);
}

// The algorithm that served this thread's last intercepted call since this was asked last ("broadcast/subnets");
// "native" if the library served it or there was none. Valid until the communicator is freed. For tools that want to
// know what they measured: dlsym(RTLD_DEFAULT, "eco_last_algorithm").
extern "C" __attribute__((visibility("default"))) const char* eco_last_algorithm() {
  using Function = const char* (*)();
  const auto function =
      reinterpret_cast<Function>(eco::trampoline::find_in_backend("eco_backend_last_algorithm"));
  return function != nullptr ? function() : "native";
}
