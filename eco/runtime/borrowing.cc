#include "eco/runtime/borrowing.h"

#include <utility>

#include "eco/base/errors.h"

namespace eco::runtime {

std::optional<Borrowed> borrow_plan(const std::vector<net::FoundText>& files, const net::PlanKey& key) {
  std::optional<Borrowed> best;
  for (const net::FoundText& file : files) {
    if (!file.text) continue;
    plan::PlanTable table;
    try {
      table = plan::PlanTable::from_json(*file.text);
    } catch (const Error&) {
      continue;
    }
    if (table.host_of_rank != key.host_of_rank || table.is_all_native()) continue;
    const bool same_network = table.network == key.fingerprint;
    std::string from = "the plan of ";
    from += !same_network                  ? "network " + table.network
            : table.library != key.library ? table.library
                                           : "ECO " + table.made_by;
    if (!best || same_network) best = {std::move(table), std::move(from)};
    if (same_network) break;
  }
  return best;
}

}  // namespace eco::runtime
