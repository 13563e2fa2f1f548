#include "eco/runtime/plan_by_hand.h"

#include <limits>
#include <sstream>
#include <utility>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/plan/proving.h"

namespace eco::runtime {
namespace {

// MPI counts in int.
constexpr std::size_t kMostBytes = std::numeric_limits<int>::max();
// A row is built for its longest message, which takes time by the segment while all ranks wait.
constexpr std::size_t kMostSegments = 65'536;

void check_size(const plan::Row& row, const std::string& where) {
  const std::size_t segment = row.recipe->params.segment_bytes;
  const std::size_t n_segments = segment == 0 ? 1 : (row.up_to_bytes + segment - 1) / segment;
  if (row.up_to_bytes > kMostBytes) {
    throw CorruptFile(where + "no MPI message is longer than " + std::to_string(kMostBytes) +
                      " bytes; end the row there");
  }
  if (n_segments > kMostSegments) {
    throw CorruptFile(where + std::to_string(n_segments) + " segments a rank are more than " +
                      std::to_string(kMostSegments) + "; use larger segments or end the row earlier");
  }
}

// How well a plan fits: 2 for just these hosts, 1 for as many ranks.
int fit(const plan::PlanTable& table, const net::GroupView& view) {
  if (table.host_of_rank == view.host_of_rank) return 2;
  return table.host_of_rank.size() == static_cast<std::size_t>(view.n_ranks()) ? 1 : 0;
}

plan::PlanTable read_table(const std::string& file) {
  const std::string text = base::read_text(file);
  try {
    return plan::PlanTable::from_json(text);
  } catch (const CorruptFile& error) {
    throw CorruptFile(file + ": " + error.what());  // of several it would not be known which
  }
}

}  // namespace

PlanByHand read_plan(const std::string& files, const net::GroupView& view) {
  PlanByHand best;
  int best_fit = -1;
  std::istringstream list(files);
  for (std::string file; best_fit < 2 && std::getline(list, file, ':');) {
    plan::PlanTable table = read_table(file);
    const int this_fit = fit(table, view);
    if (this_fit <= best_fit) continue;
    best = {file, std::move(table)};
    best_fit = this_fit;
  }
  return best;
}

void prove_plan(plan::PlanTable& table, const net::GroupView& view, const std::string& where) {
  if (table.host_of_rank.size() != static_cast<std::size_t>(view.n_ranks())) {
    throw CorruptFile(where + " is for " + std::to_string(table.host_of_rank.size()) +
                      " ranks, this group has " + std::to_string(view.n_ranks()));
  }
  for (plan::Entry& entry : table.entries) {
    const bool rooted = coll::is_rooted(entry.collective);
    if (rooted && entry.root_subnet >= view.n_subnets()) {
      throw CorruptFile(where + " speaks of subnet " + std::to_string(entry.root_subnet) +
                        ", this group has " + std::to_string(view.n_subnets()));
    }
    for (plan::Row& row : entry.rows) {
      if (!row.recipe) continue;
      check_size(row, where + ": '" + row.recipe->text() + "' up to " + std::to_string(row.up_to_bytes) +
                          " bytes: ");
      coll::CommonProblem problem;
      problem.collective = entry.collective;
      problem.n_ranks = view.n_ranks();
      if (coll::follows_graph(entry.collective)) problem.neighbors = view.neighbors;
      problem.bytes = coll::whole_bytes(problem, row.up_to_bytes);
      if (rooted) problem.root = view.subnets[static_cast<std::size_t>(entry.root_subnet)].ranks.front();
      if (const auto fault = plan::prove(*row.recipe, problem, view)) {
        throw CorruptFile(where + ": '" + row.recipe->text() + "': " + *fault);
      }
      if (!coll::is_reduction(entry.collective)) continue;
      problem.commutative = false;
      if (!row.in_order) {
        if (!plan::prove(*row.recipe, problem, view)) row.in_order = row.recipe;
      } else if (const auto fault = plan::prove(*row.in_order, problem, view)) {
        throw CorruptFile(where + ": in_order '" + row.in_order->text() + "': " + *fault);
      }
    }
  }
}

std::string proof_of(plan::PlanTable table) {
  table.proof.clear();
  return base::digest("plans " + std::to_string(plan::kPlanEpoch) + ";" + table.to_json());
}

}  // namespace eco::runtime
