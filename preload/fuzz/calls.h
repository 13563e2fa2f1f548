// Every collective call of MPI in every form that the library has, from one set of arguments.
//
//   const CallEntry* call = find_call("reduce_scatter");
//   call->make(arguments, Form::nonblocking, &request);
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace eco::fuzz {

enum class Form { blocking, nonblocking, persistent, large, nonblocking_large };
Form form_of(const std::string& name);
inline bool is_nonblocking(Form form) { return form == Form::nonblocking || form == Form::nonblocking_large; }

// Counts as one kind of call wants them.
template <class Count, class Place>
struct Counts {
  Count in = 0, out = 0;
  std::vector<Count> each_in, each_out;
  std::vector<Place> in_places, out_places;
};

struct Arguments {
  MPI_Comm comm = MPI_COMM_NULL;
  int root = 0;
  const void* in = nullptr;
  void* out = nullptr;
  MPI_Datatype in_type = MPI_DATATYPE_NULL, out_type = MPI_DATATYPE_NULL;
  std::vector<MPI_Datatype> in_types, out_types;
  MPI_Op op = MPI_OP_NULL;
  Counts<int, int> counts{};
  Counts<MPI_Count, MPI_Aint> large{};
  // Once `counts` is complete.
  void widen();
};

struct CallEntry {
  const char* name;
  // A code of MPI's. A form that the library does not have is made in the usual one.
  int (*make)(const Arguments& arguments, Form form, MPI_Request* request);
};
// Throws std::runtime_error.
const CallEntry& find_call(const std::string& name);

}  // namespace eco::fuzz
