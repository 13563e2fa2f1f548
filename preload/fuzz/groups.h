// The communicators of a program, by number; 0 is MPI_COMM_WORLD.
#pragma once

#include <mpi.h>

#include <map>
#include <vector>

#include "preload/fuzz/program.h"

namespace eco::fuzz {

struct Group {
  MPI_Comm comm = MPI_COMM_NULL;
  int me = 0, n = 0;
  int n_remote = 0;        // of an inter-communicator
  bool is_upper = false;   // its second side
  bool is_ring = false;    // of neighbours
  std::vector<int> world;  // ranks of its own side there
};

class Groups {
 public:
  Groups();
  // Collective over the parent, which this rank may not be in.
  void make(const Step& step);
  void free(int id);
  // The highest number first: a program ends like that.
  void free_all();
  // Null where this rank is in none of that number.
  const Group* find(int id) const;

 private:
  void keep(int id, MPI_Comm comm);
  std::map<int, Group> groups_;
};

}  // namespace eco::fuzz
