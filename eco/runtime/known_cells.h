// Which calls of a communicator have been planned: a cell is a collective, its root's subnet and a size at which plans are
// made. What a program never calls costs it nothing, and what it calls first does not take the time of what it calls next.
//
//   if (!known.knows(call, root_subnet)) { learn(call); known.add(call, root_subnet); }
//
// Local, and the same on all ranks: it follows from the calls and from the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "eco/base/hot.h"
#include "eco/coll/problem.h"

namespace eco::runtime {

class KnownCells {
 public:
  KnownCells() = default;
  explicit KnownCells(int n_subnets);

  // Planned, whatever came out. Calls larger than any size that jobs plan are one cell.
  ECO_ON_EVERY_CALL bool knows(const coll::CommonProblem& call, int root_subnet) const;
  // All of its cells.
  bool knows_all(coll::Collective collective) const;
  void add(const coll::CommonProblem& call, int root_subnet);
  void add_all(coll::Collective collective);
  void forget(coll::Collective collective);

  // Equal texts: the same is known.
  std::string text() const;

 private:
  using Sizes = std::uint32_t;  // a bit for each of plan::sizes_in_job(), and one above
  std::size_t place(coll::Collective collective, int root_subnet) const;

  std::size_t n_subnets_ = 1;
  std::vector<Sizes> sizes_ = std::vector<Sizes>(coll::kCollectives, 0);
};

}  // namespace eco::runtime
