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
using Request = void*;
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
int MPI_Allgatherv(const void*, Count, Handle, void*, const Count*, const Count*, Handle, Handle);
int MPI_Alltoall(const void*, Count, Handle, void*, Count, Handle, Handle);
int MPI_Neighbor_allgather(const void*, Count, Handle, void*, Count, Handle, Handle);
int MPI_Neighbor_alltoall(const void*, Count, Handle, void*, Count, Handle, Handle);
int MPI_Reduce(const void*, void*, Count, Handle, Handle, int, Handle);
int MPI_Allreduce(const void*, void*, Count, Handle, Handle, Handle);
int MPI_Reduce_scatter(const void*, void*, const Count*, Handle, Handle, Handle);
int MPI_Reduce_scatter_block(const void*, void*, Count, Handle, Handle, Handle);
int MPI_Scan(const void*, void*, Count, Handle, Handle, Handle);
int MPI_Exscan(const void*, void*, Count, Handle, Handle, Handle);
int MPI_Ibcast(void*, Count, Handle, int, Handle, Request*);
int MPI_Iscatter(const void*, Count, Handle, void*, Count, Handle, int, Handle, Request*);
int MPI_Igather(const void*, Count, Handle, void*, Count, Handle, int, Handle, Request*);
int MPI_Iallgather(const void*, Count, Handle, void*, Count, Handle, Handle, Request*);
int MPI_Ialltoall(const void*, Count, Handle, void*, Count, Handle, Handle, Request*);
int MPI_Ireduce(const void*, void*, Count, Handle, Handle, int, Handle, Request*);
int MPI_Iallreduce(const void*, void*, Count, Handle, Handle, Handle, Request*);
int MPI_Ireduce_scatter_block(const void*, void*, Count, Handle, Handle, Handle, Request*);
int MPI_Iscan(const void*, void*, Count, Handle, Handle, Handle, Request*);
int MPI_Iexscan(const void*, void*, Count, Handle, Handle, Handle, Request*);
}

// A number for every rank, as the ordinary calls take them.
class Narrow {
 public:
  Narrow(const int64_t* numbers, int n, Count (*narrow)(int64_t)) {
    if (numbers == nullptr) return;
    narrow_ = static_cast<Count*>(malloc(static_cast<size_t>(n > 0 ? n : 1) * sizeof(Count)));
    if (narrow_ == nullptr) eco::trampoline::give_up("has no memory for", "counts of a large-count call");
    for (int i = 0; i < n; ++i) narrow_[i] = narrow(numbers[i]);
  }
  ~Narrow() { free(narrow_); }
  Narrow(const Narrow&) = delete;
  Narrow& operator=(const Narrow&) = delete;
  const Count* get() const { return narrow_; }

 private:
  Count* narrow_ = nullptr;
};

// A place may lie below the buffer. Where one is no int, all counts become none.
bool is_int(int64_t number) { return number == static_cast<int64_t>(static_cast<int>(number)); }
Count narrow_place(int64_t place) { return Count{is_int(place) ? static_cast<int>(place) : 0}; }

// What a function says of a communicator. Its error code is the call's: the program's handler has heard of it.
int ask(const char* function, Handle comm, int& answer) {
  using Function = int (*)(Handle, int*);
  return reinterpret_cast<Function>(eco::trampoline::find_target(function))(comm, &answer);
}

template <>
struct Narrowed<&MPI_Reduce_scatter> {
  static int call(const void* in, void* out, const int64_t* counts, Handle type, Handle op, Handle comm) {
    int n = 0;
    if (const int code = ask("MPI_Comm_size", comm, n); code != 0) return code;
    const Narrow narrow(counts, n, &Large<Count>::narrow);
    return MPI_Reduce_scatter(in, out, narrow.get(), type, op, comm);
  }
};

template <>
struct Narrowed<&MPI_Allgatherv> {
  static int call(const void* in, int64_t in_count, Handle in_type, void* out, const int64_t* counts,
                  const int64_t* places, Handle out_type, Handle comm) {
    int is_inter = 0;
    int n = 0;
    if (const int code = ask("MPI_Comm_test_inter", comm, is_inter); code != 0) return code;
    if (const int code = ask(is_inter != 0 ? "MPI_Comm_remote_size" : "MPI_Comm_size", comm, n); code != 0) {
      return code;
    }
    bool fits = true;
    for (int i = 0; i < n && places != nullptr; ++i) fits = fits && is_int(places[i]);
    const Narrow narrow(counts, n, fits ? &Large<Count>::narrow : [](int64_t) { return Count{-1}; });
    const Narrow narrow_places(places, n, &narrow_place);
    return MPI_Allgatherv(in, Large<Count>::narrow(in_count), in_type, out, narrow.get(), narrow_places.get(),
                          out_type, comm);
  }
};

struct Entry {
  const char* large;
  void* function;
};
const Entry kNarrow[] = {
#define ECO_WRAP(name)
#define ECO_WRAP_LARGE(name, narrow) {#name, reinterpret_cast<void*>(&Narrowed<&narrow>::call)},
#include "preload/wrappers.def"
};

}  // namespace

extern "C" __attribute__((visibility("hidden"), used)) void* eco_trampoline_resolve(const char* name) {
  if (void* target = eco::trampoline::find_target(name)) return target;
  for (const Entry& entry : kNarrow) {
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
