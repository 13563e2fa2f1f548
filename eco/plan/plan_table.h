// The decision table of one communicator: size class -> recipe or native. Computed by one rank, sent to all, only
// looked up afterwards: no rank ever compares two floating-point numbers to decide.
//
//   const Recipe* recipe = table.lookup(Collective::broadcast, root_subnet, bytes);   // nullptr: native
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eco/algo/recipe.h"
#include "eco/base/hot.h"
#include "eco/coll/problem.h"
#include "eco/net/group_view.h"
#include "eco/plan/effort.h"

namespace eco::plan {

// Builds that have it in common run the same schedule for a recipe's text. Raised with every change to what a recipe
// means, to what the verifier proves or to when and in how many words ranks agree; plans that were remembered before are
// then made again, and ranks of different builds do not serve together.
inline constexpr int kPlanEpoch = 14;

struct Row {
  std::size_t up_to_bytes = 0;         // this row serves sizes above the previous row's and up to this one
  std::optional<algo::Recipe> recipe;  // nothing: the native collective
  // Evidence, for explain(); seconds at up_to_bytes, 0 where not known. Never compared when looking up.
  double predicted_s = 0;
  double measured_s = 0;
  double native_s = 0;
  std::string reason;  // "measured 3.9x", "native not sampled", ...
  // Not measured at up_to_bytes because there was no time, or nobody asked for it: a plan made later may do so. Until then
  // what serves is a guess.
  bool open = false;
  // Serves operations that do not commute where `recipe` serves the others: itself, if it combines in rank order.
  std::optional<algo::Recipe> in_order{};
  // Of what was measured; files that say nothing of it are older, and their rows may be a job's.
  Effort effort = Effort::job;
  // The library takes no less than native_s: it was not run at this size, because fewer bytes took it long.
  bool native_is_least = false;
  // Its times are of calls in a row (runtime/trials.h), which say nothing beside times from a common start.
  bool in_a_row = false;

  // At its size, with at least so much effort.
  bool is_measured(Effort least = Effort::job) const { return native_s > 0 && effort >= least; }
  // Measured, or ECO's between two sizes that it won: nothing is to be learned of the calls that it serves.
  bool stands() const { return !open && (is_measured() || recipe); }
};

struct Entry {
  coll::Collective collective = coll::Collective::broadcast;
  int root_subnet = 0;    // of the view; 0 for collectives without a root
  std::vector<Row> rows;  // ascending up_to_bytes; larger sizes are native
};

// Where a table has the problem's entry.
ECO_ON_EVERY_CALL int root_subnet(const coll::CommonProblem& problem, const net::GroupView& view);

// Seconds that a call gains by its recipe.
struct Gain {
  double seconds = 0;
  bool is_least =
      false;  // may be more: between two sizes, or where the library was not run (Row::native_is_least)
};

struct PlanTable {
  // What the table was made for. Files made for something else are not taken from the cache.
  std::string network;            // Network::fingerprint()
  std::string library;            // Native::library(), whose costs were measured
  std::vector<int> host_of_rank;  // of the network
  std::vector<Entry> entries;
  // Of a table that is remembered, else empty: version and epoch of ECO, and runtime::proof_of().
  std::string made_by;
  std::string proof;

  ECO_ON_EVERY_CALL const Entry* find_entry(coll::Collective collective, int root_subnet) const;
  ECO_ON_EVERY_CALL const Row* find_row(coll::Collective collective, int root_subnet,
                                        std::size_t bytes) const;
  ECO_ON_EVERY_CALL const algo::Recipe* lookup(coll::Collective collective, int root_subnet,
                                               std::size_t bytes, bool commutative = true) const;
  // As recipe and library were measured; nothing where that was not, or the library serves it.
  Gain gain(const coll::CommonProblem& problem, const net::GroupView& view) const;
  // Seconds that a call takes by its recipe when all ranks come together, as its row says: measured or else predicted, of
  // the row's largest size; 0 where neither is known.
  double recipe_s(const coll::CommonProblem& problem, const net::GroupView& view) const;
  // Seconds that a call takes from a common start, as its row was measured, of the row's largest size: by its recipe or by the
  // library; 0 where that is not known.
  double call_s(const coll::CommonProblem& problem, const net::GroupView& view) const;
  // The same by the library, whatever serves it.
  double native_s(const coll::CommonProblem& problem, const net::GroupView& view) const;
  // True if no row holds a recipe.
  bool is_all_native() const;
  // True if it was planned, whatever came out.
  bool knows(coll::Collective collective) const;
  // What `other` knows of a collective takes the place of what stood here; all other entries stay.
  void take(const PlanTable& other);

  // Versioned JSON ("eco.plan", 1). from_json throws CorruptFile with the reason.
  std::string to_json() const;
  static PlanTable from_json(std::string_view text);
};

}  // namespace eco::plan
