#include "preload/trampoline/stand_ins.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "preload/trampoline/kept_numbers.h"
#include "preload/trampoline/resolve.h"

namespace {

using eco::trampoline::give_up;

// Handles are passed on untouched, whatever their size. A count that does not fit becomes -1: the library then reports
// MPI_ERR_COUNT by the communicator's error handler.
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
Count narrowed(int64_t count) { return Large<Count>::narrow(count); }

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
int MPI_Gatherv(const void*, Count, Handle, void*, const Count*, const Count*, Handle, int, Handle);
int MPI_Scatterv(const void*, const Count*, const Count*, Handle, void*, Count, Handle, int, Handle);
int MPI_Alltoallv(const void*, const Count*, const Count*, Handle, void*, const Count*, const Count*, Handle,
                  Handle);
int MPI_Alltoallw(const void*, const Count*, const Count*, const Handle*, void*, const Count*, const Count*,
                  const Handle*, Handle);
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
int MPI_Iallgatherv(const void*, Count, Handle, void*, const Count*, const Count*, Handle, Handle, Request*);
int MPI_Ialltoall(const void*, Count, Handle, void*, Count, Handle, Handle, Request*);
int MPI_Ireduce(const void*, void*, Count, Handle, Handle, int, Handle, Request*);
int MPI_Iallreduce(const void*, void*, Count, Handle, Handle, Handle, Request*);
int MPI_Ireduce_scatter(const void*, void*, const Count*, Handle, Handle, Handle, Request*);
int MPI_Ireduce_scatter_block(const void*, void*, Count, Handle, Handle, Handle, Request*);
int MPI_Iscan(const void*, void*, Count, Handle, Handle, Handle, Request*);
int MPI_Iexscan(const void*, void*, Count, Handle, Handle, Handle, Request*);
int MPI_Igatherv(const void*, Count, Handle, void*, const Count*, const Count*, Handle, int, Handle,
                 Request*);
int MPI_Iscatterv(const void*, const Count*, const Count*, Handle, void*, Count, Handle, int, Handle,
                  Request*);
int MPI_Ialltoallv(const void*, const Count*, const Count*, Handle, void*, const Count*, const Count*, Handle,
                   Handle, Request*);
int MPI_Ialltoallw(const void*, const Count*, const Count*, const Handle*, void*, const Count*, const Count*,
                   const Handle*, Handle, Request*);
int MPI_Ineighbor_allgather(const void*, Count, Handle, void*, Count, Handle, Handle, Request*);
int MPI_Ineighbor_alltoall(const void*, Count, Handle, void*, Count, Handle, Handle, Request*);
}

// What a function says of a communicator. Its error code is the call's: the program's handler has heard of it.
int ask(const char* function, Handle comm, int& answer) {
  using Function = int (*)(Handle, int*);
  return reinterpret_cast<Function>(eco::trampoline::find_target(function))(comm, &answer);
}

// As many ranks as a rank sends to or receives from: those of the other side, where there are two.
int ask_partners(Handle comm, int& n) {
  int is_inter = 0;
  if (const int code = ask("MPI_Comm_test_inter", comm, is_inter); code != 0) return code;
  return ask(is_inter != 0 ? "MPI_Comm_remote_size" : "MPI_Comm_size", comm, n);
}

// At the root alone they are significant, which between two sides is called so by a number below those of
// MPI_PROC_NULL and MPI_ANY_SOURCE in every library's ABI. Elsewhere nobody may look at them.
constexpr int kMostRoot = -3;
int ask_partners_of_root(Handle comm, int root, int& n) {
  int is_inter = 0;
  int rank = 0;
  if (const int code = ask("MPI_Comm_test_inter", comm, is_inter); code != 0) return code;
  if (const int code = ask("MPI_Comm_rank", comm, rank); code != 0) return code;
  n = 0;
  const bool is_root = is_inter != 0 ? root <= kMostRoot : root == rank;
  return is_root ? ask_partners(comm, n) : 0;
}

// MPI_IN_PLACE is one of these in every library's ABI, and neither is any memory's address.
bool is_in_place(const void* in) {
  return reinterpret_cast<intptr_t>(in) == 1 || reinterpret_cast<intptr_t>(in) == -1;
}

// Numbers for each of `n` ranks, as the ordinary calls take them. A call that is waited for needs them no longer than this
// lives; one with a request may look at them until it has ended.
class Numbers {
 public:
  Numbers(int n, int n_arrays) : n_(n > 0 ? n : 0) {
    const size_t room = static_cast<size_t>(n_) * static_cast<size_t>(n_arrays);
    memory_ = static_cast<Count*>(malloc((room > 0 ? room : 1) * sizeof(Count)));
    if (memory_ == nullptr) give_up("has no memory for", "counts of a large-count call");
    free_ = memory_;
  }
  ~Numbers() { free(memory_); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  const Count* counts(const int64_t* large) {
    return take(large, [this](int64_t count) {
      const Count narrow = narrowed(count);
      fit_ = fit_ && narrow >= 0;
      return narrow;
    });
  }
  // With places. One may lie below the buffer; where one is no int, all counts become none.
  const Count* counts(const int64_t* large, const int64_t* places) {
    for (int i = 0; i < n_ && places != nullptr; ++i) {
      if (is_int(places[i])) continue;
      fit_ = false;
      return take(large, [](int64_t) { return Count{-1}; });
    }
    return counts(large);
  }
  const Count* places(const int64_t* large) {
    return take(large, [](int64_t place) { return Count{is_int(place) ? static_cast<int>(place) : 0}; });
  }

  // Are all counts until now right ones?
  bool fit() const { return fit_; }

  // Returns the code of the call that got them.
  int given(int code) const { return code; }
  int given(int code, const Request* request) {
    if (code != 0) return code;
    eco::trampoline::keep_until_reused(request, memory_);
    memory_ = nullptr;
    return code;
  }

 private:
  static bool is_int(int64_t number) { return number == static_cast<int64_t>(static_cast<int>(number)); }
  template <class Narrow>
  const Count* take(const int64_t* large, const Narrow& narrow) {
    if (large == nullptr) return nullptr;
    Count* const taken = free_;
    for (int i = 0; i < n_; ++i) *free_++ = narrow(large[i]);
    return taken;
  }

  int n_;
  bool fit_ = true;
  Count* memory_ = nullptr;
  Count* free_ = nullptr;
};

// `Asked`: nothing, or Request*.
template <auto function, class... Asked>
int reduce_scatter(const void* in, void* out, const int64_t* counts, Handle type, Handle op, Handle comm,
                   Asked... request) {
  int n = 0;
  if (const int code = ask("MPI_Comm_size", comm, n); code != 0) return code;
  Numbers numbers(n, 1);
  return numbers.given(function(in, out, numbers.counts(counts), type, op, comm, request...), request...);
}

template <auto function, class... Asked>
int allgatherv(const void* in, int64_t in_count, Handle in_type, void* out, const int64_t* counts,
               const int64_t* places, Handle out_type, Handle comm, Asked... request) {
  int n = 0;
  if (const int code = ask_partners(comm, n); code != 0) return code;
  Numbers numbers(n, 2);
  const Count* const narrow = numbers.counts(counts, places);
  const Count* const narrow_places = numbers.places(places);
  if (!numbers.fit()) {  // Open MPI looks at what is sent alone, and in place at nothing
    in = out;
    in_count = -1;
    in_type = out_type;
  }
  return numbers.given(
      function(in, narrowed(in_count), in_type, out, narrow, narrow_places, out_type, comm, request...),
      request...);
}

template <auto function, class... Asked>
int gatherv(const void* in, int64_t in_count, Handle in_type, void* out, const int64_t* counts,
            const int64_t* places, Handle out_type, int root, Handle comm, Asked... request) {
  int n = 0;
  if (const int code = ask_partners_of_root(comm, root, n); code != 0) return code;
  Numbers numbers(n, 2);
  const Count* const narrow = numbers.counts(counts, places);
  return numbers.given(function(in, narrowed(in_count), in_type, out, narrow, numbers.places(places),
                                out_type, root, comm, request...),
                       request...);
}

template <auto function, class... Asked>
int scatterv(const void* in, const int64_t* counts, const int64_t* places, Handle in_type, void* out,
             int64_t out_count, Handle out_type, int root, Handle comm, Asked... request) {
  int n = 0;
  if (const int code = ask_partners_of_root(comm, root, n); code != 0) return code;
  Numbers numbers(n, 2);
  const Count* const narrow = numbers.counts(counts, places);
  return numbers.given(function(in, narrow, numbers.places(places), in_type, out, narrowed(out_count),
                                out_type, root, comm, request...),
                       request...);
}

// All-to-all v and w: `Types` is one handle, or an array of them, which stays the program's.
template <auto function, class Types, class... Asked>
int alltoall(const void* in, const int64_t* in_counts, const int64_t* in_places, Types in_types, void* out,
             const int64_t* out_counts, const int64_t* out_places, Types out_types, Handle comm,
             Asked... request) {
  int n = 0;
  if (const int code = ask_partners(comm, n); code != 0) return code;
  if (is_in_place(in)) in_counts = in_places = nullptr;
  Numbers numbers(n, 4);
  const Count* const narrow_in = numbers.counts(in_counts, in_places);
  const Count* const narrow_in_places = numbers.places(in_places);
  const Count* const narrow_out = numbers.counts(out_counts, out_places);
  return numbers.given(function(in, narrow_in, narrow_in_places, in_types, out, narrow_out,
                                numbers.places(out_places), out_types, comm, request...),
                       request...);
}
template <auto function, class... Asked>
constexpr auto alltoallv = &alltoall<function, Handle, Asked...>;
template <auto function, class... Asked>
constexpr auto alltoallw = &alltoall<function, const Handle*, Asked...>;

#define ECO_WITH_ARRAYS(Name, name, stand_in)                      \
  template <>                                                      \
  struct Narrowed<&MPI_##Name> {                                   \
    static constexpr auto call = stand_in<&MPI_##Name>;            \
  };                                                               \
  template <>                                                      \
  struct Narrowed<&MPI_I##name> {                                  \
    static constexpr auto call = stand_in<&MPI_I##name, Request*>; \
  };
ECO_WITH_ARRAYS(Reduce_scatter, reduce_scatter, reduce_scatter)
ECO_WITH_ARRAYS(Allgatherv, allgatherv, allgatherv)
ECO_WITH_ARRAYS(Gatherv, gatherv, gatherv)
ECO_WITH_ARRAYS(Scatterv, scatterv, scatterv)
ECO_WITH_ARRAYS(Alltoallv, alltoallv, alltoallv)
ECO_WITH_ARRAYS(Alltoallw, alltoallw, alltoallw)

struct Entry {
  const char* large;
  void* function;
};
const Entry kEntries[] = {
#define ECO_WRAP(name)
#define ECO_WRAP_LARGE(name, narrow) {#name, reinterpret_cast<void*>(Narrowed<&narrow>::call)},
#include "preload/wrappers.def"
};

}  // namespace

void* eco::trampoline::find_stand_in(const char* large) {
  for (const Entry& entry : kEntries) {
    if (strcmp(entry.large, large) == 0) return entry.function;
  }
  return nullptr;
}
