// What is compared, one line each: the bytes of the whole (docs/benchmarking.md says of what), then a recipe.
//
//   1048576 broadcast/chain segment=16384
#pragma once

#include <ctime>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/base/errors.h"
#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/net/io.h"

namespace eco::bench {

// What something cost: of the one thread that both programs have, so that other work on the machine does not count.
inline double processor_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Cell {
  algo::Recipe recipe;
  coll::CommonProblem problem;
  std::string why_not;  // empty if the recipe can serve the problem
};

// One rank on each host, in the network's order.
inline net::GroupView view_of(const std::string& network_file) {
  auto network = std::make_shared<const net::Network>(net::load_network(network_file));
  std::vector<int> host_of_rank(static_cast<std::size_t>(network->n_hosts()));
  std::iota(host_of_rank.begin(), host_of_rank.end(), 0);
  return net::make_view(std::move(network), std::move(host_of_rank));
}

// Of so many bytes of the whole, or the next number that the collective can have.
inline coll::CommonProblem problem_of(coll::Collective collective, std::size_t bytes,
                                      const net::GroupView& view) {
  coll::CommonProblem problem{.collective = collective, .n_ranks = view.n_ranks()};
  if (coll::is_reduction(collective)) problem.element_bytes = sizeof(double);
  problem.bytes = coll::whole_bytes(problem, bytes);
  return problem;
}

// Throws InvalidArgument where a line is none.
inline std::vector<Cell> read_cells(const std::string& path, const net::GroupView& view) {
  std::ifstream file(path);
  if (!file) throw InvalidArgument("can't read the cells in '" + path + "'");
  std::vector<Cell> cells;
  std::size_t bytes = 0;
  for (std::string recipe; file >> bytes && std::getline(file >> std::ws, recipe);) {
    Cell cell{algo::parse_recipe(recipe), {}, {}};
    const auto collective =
        coll::collective_from_name(cell.recipe.algorithm.substr(0, cell.recipe.algorithm.find('/')));
    if (!collective) throw InvalidArgument("recipe '" + recipe + "' names no collective");
    cell.problem = problem_of(*collective, bytes, view);
    cell.why_not = algo::why_not(cell.recipe, cell.problem, view).value_or("");
    cells.push_back(std::move(cell));
  }
  return cells;
}

}  // namespace eco::bench
