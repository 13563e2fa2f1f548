#include "eco/plan/plan_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "eco/algo/algorithm.h"
#include "eco/base/errors.h"
#include "eco/base/json_file.h"

namespace eco::plan {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kSchema = "eco.plan";
constexpr int kVersion = 1;

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw CorruptFile("plan: " + where + ": " + what + "; make it again with eco tune");
}

const json& field(const json& object, const char* key, const std::string& where) {
  if (!object.is_object()) refuse(where, "is not an object");
  const auto found = object.find(key);
  if (found == object.end()) refuse(where, std::string("field '") + key + "' is missing");
  return *found;
}

std::string text_of(const json& object, const char* key, const std::string& where) {
  const json& value = field(object, key, where);
  if (!value.is_string()) refuse(where, std::string("field '") + key + "' is not a text");
  return value.get<std::string>();
}

// A whole number of at most `limit`.
std::uint64_t whole(const json& value, const std::string& where, std::uint64_t limit) {
  if (!value.is_number_unsigned()) refuse(where, "is not a whole number of 0 or more");
  const auto number = value.get<std::uint64_t>();
  if (number > limit) refuse(where, std::to_string(number) + " is more than " + std::to_string(limit));
  return number;
}

double seconds_of(const json& object, const char* key, const std::string& where) {
  const json& value = field(object, key, where);
  if (!value.is_number()) refuse(where, std::string("field '") + key + "' is not a number");
  const double seconds = value.get<double>();
  if (!std::isfinite(seconds) || seconds < 0) refuse(where, std::string("field '") + key + "' is not a time");
  return seconds;
}

const json& array_of(const json& object, const char* key, const std::string& where) {
  const json& value = field(object, key, where);
  if (!value.is_array()) refuse(where, std::string("field '") + key + "' is not a list");
  return value;
}

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;
constexpr std::uint64_t kMostRanks = std::uint64_t{1} << 30;

algo::Recipe recipe_from(const json& object, const char* key, const std::string& where) {
  try {
    return algo::parse_recipe(text_of(object, key, where));
  } catch (const InvalidArgument& error) {
    refuse(where, error.what());
  }
}

// False where nothing is said.
bool flag_of(const json& object, const std::string& key, const std::string& where) {
  const auto flag = object.find(key);
  if (flag == object.end()) return false;
  if (!flag->is_boolean()) refuse(where, "field '" + key + "' is neither true nor false");
  return flag->get<bool>();
}

Row row_from(const json& object, const std::string& where) {
  Row row;
  row.up_to_bytes = whole(field(object, "up_to_bytes", where), where + ".up_to_bytes", kMostBytes);
  if (!field(object, "recipe", where).is_null()) row.recipe = recipe_from(object, "recipe", where);
  const auto in_order = object.find("in_order");
  if (in_order != object.end()) row.in_order = recipe_from(object, "in_order", where);
  row.predicted_s = seconds_of(object, "predicted_s", where);
  row.measured_s = seconds_of(object, "measured_s", where);
  row.native_s = seconds_of(object, "native_s", where);
  row.native_is_least = flag_of(object, "native_is_least", where);
  row.in_a_row = flag_of(object, "in_a_row", where);
  row.reason = text_of(object, "reason", where);
  row.open = flag_of(object, "open", where);
  if (object.contains("effort")) {
    const std::string text = text_of(object, "effort", where);
    const auto effort = effort_from_name(text);
    if (!effort) refuse(where, "unknown effort '" + text + "'");
    row.effort = *effort;
  }
  return row;
}

// An entry's recipes must exist here and do what the entry says.
void check_recipe(const algo::Recipe& recipe, coll::Collective collective, const std::string& where) {
  if (const auto reason = algo::why_not_named(recipe.algorithm, collective)) refuse(where, *reason);
}

Entry entry_from(const json& object, const std::string& where) {
  Entry entry;
  const std::string name = text_of(object, "collective", where);
  const auto collective = coll::collective_from_name(name);
  if (!collective) refuse(where, "unknown collective '" + name + "'");
  entry.collective = *collective;
  entry.root_subnet =
      static_cast<int>(whole(field(object, "root_subnet", where), where + ".root_subnet", kMostRanks));
  for (const json& row : array_of(object, "rows", where)) {
    const std::string here = where + ".rows[" + std::to_string(entry.rows.size()) + "]";
    entry.rows.push_back(row_from(row, here));
    for (const auto* recipe : {&entry.rows.back().recipe, &entry.rows.back().in_order}) {
      if (*recipe) check_recipe(**recipe, entry.collective, here);
    }
    if (entry.rows.back().in_order && !(entry.rows.back().recipe && coll::is_reduction(entry.collective))) {
      refuse(here, "'in_order' stands beside the recipe of a reduction only");
    }
    const std::size_t n = entry.rows.size();
    if (n > 1 && entry.rows[n - 1].up_to_bytes <= entry.rows[n - 2].up_to_bytes) {
      refuse(here, "up_to_bytes does not rise");
    }
  }
  return entry;
}

ordered_json to_json_object(const Row& row) {
  ordered_json object;
  object["up_to_bytes"] = row.up_to_bytes;
  object["recipe"] = row.recipe ? ordered_json(row.recipe->text()) : ordered_json(nullptr);
  if (row.in_order) object["in_order"] = row.in_order->text();
  object["predicted_s"] = row.predicted_s;
  object["measured_s"] = row.measured_s;
  object["native_s"] = row.native_s;
  if (row.native_is_least) object["native_is_least"] = true;
  if (row.in_a_row) object["in_a_row"] = true;
  object["reason"] = row.reason;
  if (row.open) object["open"] = true;
  if (row.effort != Row{}.effort) object["effort"] = name(row.effort);
  return object;
}

bool says_gain(const Row& row) { return row.is_measured() && (!row.recipe || row.measured_s > 0); }

// At its size; nothing where the library serves it.
double gained_s(const Row& row) { return row.recipe ? row.native_s - row.measured_s : 0; }

// A row serves shorter calls than the one that was measured: on the line between its size and the one below.
double between(const Row& smaller, const Row& larger, std::size_t bytes) {
  const double share = static_cast<double>(bytes - smaller.up_to_bytes) /
                       static_cast<double>(larger.up_to_bytes - smaller.up_to_bytes);
  return std::lerp(gained_s(smaller), gained_s(larger), share);
}

}  // namespace

int root_subnet(const coll::CommonProblem& problem, const net::GroupView& view) {
  return coll::is_rooted(problem.collective) ? view.subnet_of_rank[static_cast<std::size_t>(problem.root)]
                                             : 0;
}

const Entry* PlanTable::find_entry(coll::Collective collective, int root_subnet) const {
  for (const Entry& entry : entries) {
    if (entry.collective == collective && entry.root_subnet == root_subnet) return &entry;
  }
  return nullptr;
}

const Row* PlanTable::find_row(coll::Collective collective, int root_subnet, std::size_t bytes) const {
  const Entry* entry = find_entry(collective, root_subnet);
  if (entry == nullptr) return nullptr;
  const auto row = std::lower_bound(entry->rows.begin(), entry->rows.end(), bytes,
                                    [](const Row& a, std::size_t b) { return a.up_to_bytes < b; });
  return row == entry->rows.end() ? nullptr : &*row;
}

const algo::Recipe* PlanTable::lookup(coll::Collective collective, int root_subnet, std::size_t bytes,
                                      bool commutative) const {
  const Row* row = find_row(collective, root_subnet, bytes);
  if (row == nullptr) return nullptr;
  const auto& recipe = commutative ? row->recipe : row->in_order;
  return recipe ? &*recipe : nullptr;
}

Gain PlanTable::gain(const coll::CommonProblem& problem, const net::GroupView& view) const {
  const int subnet = root_subnet(problem, view);
  const Row* const row = find_row(problem.collective, subnet, problem.bytes);
  if (row == nullptr || !row->recipe) return {};
  const Row* const first = find_entry(problem.collective, subnet)->rows.data();
  const auto end = std::make_reverse_iterator(first);
  const auto smaller = std::find_if(std::make_reverse_iterator(row), end, says_gain);
  const bool has_smaller = smaller != end;
  if (!says_gain(*row)) {
    // Between two sizes that ECO won it gains at least what it does at the smaller one.
    if (!has_smaller || !smaller->recipe) return {};
    return {.seconds = gained_s(*smaller), .is_least = true};
  }
  if (!has_smaller) return {.seconds = gained_s(*row), .is_least = row->native_is_least};
  return {.seconds = between(*smaller, *row, problem.bytes),
          .is_least = row->native_is_least || smaller->native_is_least};
}

double PlanTable::recipe_s(const coll::CommonProblem& problem, const net::GroupView& view) const {
  const Row* row = find_row(problem.collective, root_subnet(problem, view), problem.bytes);
  if (row == nullptr || !row->recipe) return 0;
  return row->measured_s > 0 && !row->in_a_row ? row->measured_s : row->predicted_s;
}

double PlanTable::call_s(const coll::CommonProblem& problem, const net::GroupView& view) const {
  const Row* row = find_row(problem.collective, root_subnet(problem, view), problem.bytes);
  if (row == nullptr || row->in_a_row) return 0;
  return row->recipe ? row->measured_s : row->native_s;
}

double PlanTable::native_s(const coll::CommonProblem& problem, const net::GroupView& view) const {
  const Row* row = find_row(problem.collective, root_subnet(problem, view), problem.bytes);
  return row != nullptr ? row->native_s : 0;
}

bool PlanTable::is_all_native() const {
  for (const Entry& entry : entries) {
    for (const Row& row : entry.rows) {
      if (row.recipe) return false;
    }
  }
  return true;
}

bool PlanTable::knows(coll::Collective collective) const {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const Entry& entry) { return entry.collective == collective; });
}

void PlanTable::take(const PlanTable& other) {
  std::erase_if(entries, [&](const Entry& entry) { return other.knows(entry.collective); });
  entries.insert(entries.end(), other.entries.begin(), other.entries.end());
}

std::string PlanTable::to_json() const {
  ordered_json file;
  file["schema"] = kSchema;
  file["version"] = kVersion;
  file["network"] = network;
  file["library"] = library;
  file["host_of_rank"] = host_of_rank;
  if (!made_by.empty()) file["made_by"] = made_by;
  if (!proof.empty()) file["proof"] = proof;
  file["entries"] = ordered_json::array();
  for (const Entry& entry : entries) {
    ordered_json object;
    object["collective"] = coll::name(entry.collective);
    object["root_subnet"] = entry.root_subnet;
    object["rows"] = ordered_json::array();
    for (const Row& row : entry.rows) object["rows"].push_back(to_json_object(row));
    file["entries"].push_back(std::move(object));
  }
  return base::to_text(file);
}

PlanTable PlanTable::from_json(std::string_view text) {
  const json file = base::parse_document(text, "plan", kSchema, kVersion);
  PlanTable table;
  table.network = text_of(file, "network", "file");
  table.library = text_of(file, "library", "file");
  for (const json& host : array_of(file, "host_of_rank", "file")) {
    table.host_of_rank.push_back(static_cast<int>(whole(host, "file.host_of_rank", kMostRanks)));
  }
  if (file.contains("made_by")) table.made_by = text_of(file, "made_by", "file");
  if (file.contains("proof")) table.proof = text_of(file, "proof", "file");
  for (const json& object : array_of(file, "entries", "file")) {
    const std::string where = "entries[" + std::to_string(table.entries.size()) + "]";
    Entry entry = entry_from(object, where);
    if (table.find_entry(entry.collective, entry.root_subnet) != nullptr) refuse(where, "stands twice");
    table.entries.push_back(std::move(entry));
  }
  return table;
}

}  // namespace eco::plan
