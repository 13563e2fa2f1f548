// Connections that ranks will need, opened at the same time. Open MPI opens one with its first message, and every step of a
// collective waits for its own: over a way of 10 ms, 60 ms a step. So in MPI_Init each rank exchanges a byte with those
// whom the library's agreements go through, all at once.
//
//   FirstConnections connections(world());         // begins; all ranks do
//   while (!connections.are_open()) ...            // as long as it lives
//
// Part of what ranks say to each other before they know that they have the same ECO (job_agreement.cc), so it and its
// partners stay as they are in every version.
#pragma once

#include <mpi.h>

#include <vector>

#include "preload/backend/world.h"

namespace eco::preload {

class FirstConnections {
 public:
  explicit FirstConnections(const World& here);

  FirstConnections(const FirstConnections&) = delete;
  FirstConnections& operator=(const FirstConnections&) = delete;

  // Nonblocking, as a rank without ECO never comes. True at once under libraries that need none of this.
  bool are_open();

 private:
  std::vector<int> counts_;  // by rank: of the bytes to it, and from it
  std::vector<int> places_;
  std::vector<char> given_;
  std::vector<char> got_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace eco::preload
