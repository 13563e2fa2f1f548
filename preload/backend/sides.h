// What one rank reads and writes in a call, as its program describes it to MPI.
//
//   Sides sides{.whole = all, .input = mine, .output = all};
//   if (are_sound(sides, problem, rank)) ...                       // else it is between the program and the library
//
// Views of the program's memory and arrays: nothing here owns, and only what keeps them allocates.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "eco/coll/problem.h"

namespace eco::preload {

// Counts and types as a call has them that has no more than these. Which of them mean something on a rank is the call's business.
struct Lengths {
  long long in_count = 0;
  MPI_Datatype in_type = MPI_DATATYPE_NULL;
  long long out_count = 0;
  MPI_Datatype out_type = MPI_DATATYPE_NULL;

  friend bool operator==(const Lengths&, const Lengths&) = default;
};

// What a call says before anything is looked up.
struct Call {
  coll::Collective collective = coll::Collective::broadcast;
  MPI_Comm comm = MPI_COMM_NULL;
  int root = 0;             // rooted collectives
  MPI_Op op = MPI_OP_NULL;  // reductions
  std::optional<Lengths> lengths{};
  const char* name = "";  // "MPI_Ibcast", also with large counts
};

// This process in the call's communicator.
struct Member {
  int rank;
  int n_ranks;
};

// Elements of the program's memory.
struct Data {
  const void* memory = nullptr;
  long long count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  long long skipped = 0;  // elements before the first one
};
// So many blocks one behind the other, as MPI lays out what gather receives; and one of them.
Data blocks(int n, const Data& block);
Data block_at(int index, const Data& block);
std::byte* address(const Data& data);
bool has_bytes(const Data& data);

// The blocks of a call that has a count for every rank (the v-variants, reduce_scatter), over the program's own arrays.
// Without places the blocks lie one behind the other.
class Pieces {
 public:
  struct Piece {
    long long count;
    long long skipped;
  };

  Pieces() = default;  // none: all blocks are alike, as the Sides say
  template <class Count, class Place>
  Pieces(int n, const Count* counts, const Place* places)
      : n_(counts != nullptr ? n : 0),
        counts_(counts),
        places_(places),
        count_at_(&at<Count>),
        place_at_(&at<Place>) {}

  bool empty() const { return n_ == 0; }
  int n() const { return n_; }
  // function(index, piece), in the order of ranks.
  template <class Function>
  void for_each(const Function& function) const {
    long long behind = 0;
    for (int i = 0; i < n_; ++i) {
      const long long count = count_at_(counts_, i);
      function(i, Piece{.count = count, .skipped = places_ != nullptr ? place_at_(places_, i) : behind});
      behind += count;
    }
  }
  Piece of(int index) const;
  long long total() const;
  long long longest() const;  // below 0 if a count is
  // One behind the other and alike: no pieces at all.
  bool are_even() const;
  // The same, over numbers of the caller's instead of the program's.
  Pieces kept_in(std::vector<long long>& numbers) const;

 private:
  template <class Number>
  static long long at(const void* numbers, int i) {
    return static_cast<long long>(static_cast<const Number*>(numbers)[i]);
  }

  int n_ = 0;
  const void* counts_ = nullptr;
  const void* places_ = nullptr;
  long long (*count_at_)(const void*, int) = nullptr;
  long long (*place_at_)(const void*, int) = nullptr;
};

struct Sides {
  Data whole;                   // whose bytes are the problem's; of a reduction, whose type is its
  std::optional<Data> input{};  // a broadcast has none
  std::optional<Data> output{};
  bool in_place = false;  // the input lies in the receive buffer
  // What must not be the same memory, and a program may give so by mistake: this rank's own block on both sides.
  std::optional<std::array<Data, 2>> twins{};
  // Of the output only parts are written: the others may hold anything, and hold it still in the end.
  bool has_places_of_nobody = false;
  // Blocks of unequal lengths, or with holes between them: of an allgather's output, of a reduce_scatter's input. The
  // problem's blocks are then all as long as the longest.
  Pieces pieces{};
};

// True if padding all blocks to the longest adds no more than an eighth. From counts that all ranks have alike.
bool pads_little(const Pieces& pieces);

// Would MPI take these arguments, and do they make the bytes that the problem has on this rank? Local.
bool are_sound(const Sides& sides, const coll::CommonProblem& problem, int rank);
// Local.
bool is_refused_alias(const Sides& sides, coll::Collective collective);

}  // namespace eco::preload
