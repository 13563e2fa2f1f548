// The same elements in memory in many ways: datatypes whose signatures are equal.
//
//   Types types;                                          // of one step
//   const Layout layout = types.whole("mixed", 100, way); // 100 elements of (double, int) as `count` of `type`
//
// Way 0 is the plain one. Ways below kElementWays lay out each element for itself, so that so many of them can stand at
// any place of a v-variant; the others are one type for all elements.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace eco::fuzz {

inline constexpr int kElementWays = 6;
inline constexpr int kWays = 12;

struct Layout {
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

// The bytes that so many blocks of `layout`, one behind the other, may touch, relative to their address.
struct Span {
  MPI_Aint from = 0, to = 0;
};
Span span_of(const Layout& layout, int n_blocks = 1);
MPI_Aint extent_of(MPI_Datatype type);

// Makes committed types and frees them in the end, or as early as the program likes.
class Types {
 public:
  Types() = default;
  Types(const Types&) = delete;
  Types& operator=(const Types&) = delete;
  ~Types() { free(); }
  void free();

  // `signature`: byte, char, short, int, double, two (int, int) or mixed (double, int). Local.
  MPI_Datatype element(const std::string& signature, int way);
  Layout whole(const std::string& signature, int n, int way);
  // The pair of ints of the program's own operations: dense, or with a gap.
  MPI_Datatype pair(bool gap);

 private:
  MPI_Datatype keep(MPI_Datatype type);
  std::vector<MPI_Datatype> made_;
};

}  // namespace eco::fuzz
