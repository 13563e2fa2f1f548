#include "eco/plan/cells.h"

#include <algorithm>
#include <map>
#include <utility>

#include "eco/plan/rows.h"

namespace eco::plan {
namespace {

using coll::Collective;
using net::GroupView;

struct Size {
  bool asked = true;
  std::size_t up_to_bytes = 0;
};

// Of a collective's cells by their bytes, and whether they are asked for now; with those that are known already. Barriers have
// one, of no bytes.
std::map<std::size_t, Size> sizes_of(Collective collective, const GroupView& view,
                                     const PlannerOptions& options, bool asked, const Entry* known) {
  if (collective == Collective::barrier) return {{0, {}}};
  std::map<std::size_t, Size> sizes;
  const auto add = [&](std::size_t up_to_bytes, bool is_asked) {
    const std::size_t bytes = planned_problem(collective, 0, up_to_bytes, view).bytes;
    if (bytes == 0) return;
    Size& size = sizes.emplace(bytes, Size{is_asked}).first->second;
    size.up_to_bytes = std::max({size.up_to_bytes, bytes, up_to_bytes});
  };
  for (const std::size_t bytes : options.sizes) add(bytes, asked);
  for (const std::size_t bytes : options.left_open) add(bytes, false);
  if (known == nullptr) return sizes;
  for (const Row& row : known->rows) {
    if (row.is_measured()) add(row.up_to_bytes, false);
  }
  return sizes;
}

// What is known of it already.
void begin_with(Cell& cell, const GroupView& view, const PlannerOptions& options, const Entry* known) {
  cell.row.up_to_bytes = cell.up_to_bytes;
  if (known != nullptr) {
    const auto bytes_of = [&](const Row& row) {
      return planned_problem(cell.problem.collective, 0, row.up_to_bytes, view).bytes;
    };
    for (const Row& row : known->rows) {
      if (row.is_measured() && bytes_of(row) == cell.problem.bytes) cell.row = row;
    }
  }
  cell.row.open = false;
  cell.settled = !cell.asked || (!options.anew && cell.row.is_measured(options.effort));
  cell.leave_open(cell.asked ? "not planned yet" : "not asked for");
}

int root_in(int subnet, const GroupView& view) {
  const auto& ranks = view.subnets[static_cast<std::size_t>(subnet)].ranks;
  return *std::min_element(ranks.begin(), ranks.end());
}

void add_entry(Cells& cells, Collective collective, int root_subnet, const GroupView& view,
               const PlannerOptions& options) {
  const bool rooted = coll::is_rooted(collective);
  const Entry entry{collective, rooted ? root_subnet : 0, {}};
  const int root = rooted ? root_in(root_subnet, view) : 0;
  const Entry* known =
      options.known != nullptr ? options.known->find_entry(collective, entry.root_subnet) : nullptr;
  const bool asked = !rooted || options.root_subnet.value_or(root_subnet) == root_subnet;
  const std::map<std::size_t, Size> sizes = sizes_of(collective, view, options, asked, known);
  std::size_t n_asked = 0;
  const auto all_asked = static_cast<std::size_t>(
      std::count_if(sizes.begin(), sizes.end(), [](const auto& size) { return size.second.asked; }));
  for (const auto& [bytes, size] : sizes) {
    Cell cell;
    cell.problem = planned_problem(collective, root, bytes, view);
    cell.up_to_bytes = size.up_to_bytes;
    cell.entry = cells.entries.size();
    cell.asked = size.asked;
    if (cell.asked) {
      ++n_asked;
      cell.held_out = options.holds_out && n_asked % 2 == 0 && n_asked < all_asked;
    }
    begin_with(cell, view, options, known);
    cells.all.push_back(std::move(cell));
  }
  cells.entries.push_back(entry);
}

}  // namespace

void Cell::leave_open(std::string reason) {
  if (row.is_measured()) return;
  row.reason = std::move(reason);
  row.open = true;
}

Cells cells_of(const GroupView& view, const std::vector<Collective>& collectives,
               const PlannerOptions& options) {
  Cells cells;
  cells.first_class = view.subnet_of_rank.empty() ? 0 : view.subnet_of_rank[0];
  for (const Collective collective : collectives) {
    add_entry(cells, collective, cells.first_class, view, options);
  }
  cells.n_first = cells.all.size();
  for (int s = 0; s < view.n_subnets(); ++s) {
    if (s == cells.first_class) continue;
    for (const Collective collective : collectives) {
      if (coll::is_rooted(collective)) add_entry(cells, collective, s, view, options);
    }
  }
  // Small sizes first in all entries: they cost little and every program has them.
  const auto before = [](const Cell& a, const Cell& b) {
    return std::pair(a.held_out, a.problem.bytes) < std::pair(b.held_out, b.problem.bytes);
  };
  const auto others = cells.all.begin() + static_cast<std::ptrdiff_t>(cells.n_first);
  std::stable_sort(cells.all.begin(), others, before);
  std::stable_sort(others, cells.all.end(), before);
  return cells;
}

}  // namespace eco::plan
