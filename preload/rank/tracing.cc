// eco-rank trace: runs a recipe some times and writes what every rank did when in the run in the middle, to be drawn
// beside its prediction.
//
//   eco-rank trace --network network.json --op broadcast --bytes 1MiB --out trace.json [--recipe "broadcast/chain ..."]
//                  [--root 0] [--runs 9]
//
// Without a recipe it is the one that is predicted to be fastest on these ranks. Times in the file are nanoseconds since
// the common start; between machines, which read different clocks, since each rank's own.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/plan/forecast.h"
#include "eco/plan/planner.h"
#include "eco/plan/proving.h"
#include "eco/plan/ranking.h"
#include "eco/runtime/agreement.h"
#include "preload/rank/arguments.h"
#include "preload/rank/stage.h"

namespace eco::rank {
namespace {

using exec::TracedOp;
using nlohmann::json;

// Local. The recipe that was asked for, or else the one that is predicted to be fastest. Throws InvalidArgument where there is
// none, or it does not fit, or is refused by the verifier.
algo::Recipe choose(const Arguments& arguments, const coll::CommonProblem& problem,
                    const net::GroupView& view) {
  if (!arguments.has("--recipe")) {
    for (const plan::Candidate& candidate :
         plan::rank_candidates(problem, view, plan::PlannerOptions().forecast, true)) {
      if (candidate.why_not.empty() && !plan::prove(candidate.recipe, problem, view)) return candidate.recipe;
    }
    throw InvalidArgument(
        "eco-rank trace: no algorithm serves " + std::string(coll::name(problem.collective)) + " of " +
        std::to_string(problem.bytes) + " bytes on " + std::to_string(problem.n_ranks) + " rank(s)");
  }
  algo::Recipe recipe = algo::parse_recipe(arguments.text("--recipe"));
  auto objection = algo::why_not(recipe, problem, view);
  if (!objection) objection = plan::prove(recipe, problem, view);
  if (objection) throw InvalidArgument("recipe '" + recipe.text() + "': " + *objection);
  return recipe;
}

// Collective: rank 0's choice. Throws InvalidArgument on all ranks alike.
algo::Recipe recipe_of(const Arguments& arguments, Stage& stage, const coll::CommonProblem& problem,
                       const net::GroupView& view) {
  runtime::Agreement agreement(*stage.native, stage.rank(), stage.n_ranks());
  std::string text;
  const auto reason = agreement.failed([&] {
    if (stage.rank() == 0) text = choose(arguments, problem, view).text();
  });
  if (reason) throw InvalidArgument(*reason);
  return algo::parse_recipe(agreement.share(std::move(text)));
}

// Collective: every rank's items, one after the other in rank order, on rank 0.
template <class Item>
std::vector<Item> gather(const Stage& stage, const std::vector<Item>& mine, const std::vector<int>& counts) {
  std::vector<int> bytes;
  std::vector<int> offsets;
  std::size_t n = 0;
  for (const int count : counts) {
    bytes.push_back(static_cast<int>(static_cast<std::size_t>(count) * sizeof(Item)));
    offsets.push_back(static_cast<int>(n * sizeof(Item)));
    n += static_cast<std::size_t>(count);
  }
  std::vector<Item> all(n);
  PMPI_Gatherv(mine.data(), static_cast<int>(mine.size() * sizeof(Item)), MPI_BYTE, all.data(), bytes.data(),
               offsets.data(), MPI_BYTE, 0, stage.comm);
  return all;
}

// One rank's, with times since its start.
json json_of_ops(std::span<const TracedOp> ops, std::int64_t waited_ns) {
  json list = json::array();
  std::int64_t end_ns = 0;
  for (const TracedOp& op : ops) {
    list.push_back({sched::name(op.kind), op.peer, op.channel, op.bytes, op.start_ns, op.end_ns});
    end_ns = std::max(end_ns, op.end_ns);
  }
  return {{"end_ns", end_ns}, {"waited_ns", waited_ns}, {"operations", std::move(list)}};
}

}  // namespace

int trace(int argc, char** argv) {
  const Arguments arguments(argc, argv,
                            {"--network", "--op", "--bytes", "--root", "--recipe", "--runs", "--out"}, {});
  const std::string out = arguments.text("--out");
  const std::vector<std::size_t> sizes = arguments.sizes("--bytes");
  if (sizes.size() != 1) throw InvalidArgument("eco-rank trace: --bytes is one size");
  const int runs = static_cast<int>(arguments.number("--runs", 9, 1, 1000));
  Stage stage(options_of_environment());
  const int root = static_cast<int>(arguments.number("--root", 0, 0, stage.n_ranks() - 1));
  const coll::CommonProblem problem = problem_of(arguments.text("--op"), sizes[0], root, stage.n_ranks());
  Rehearsal rehearsal(stage, arguments.text("--network"));
  const algo::Recipe recipe = recipe_of(arguments, stage, problem, rehearsal.view);
  const runtime::Traced traced = rehearsal.trials.trace(problem, recipe, runs);

  std::vector<TracedOp> ops = traced.trace.ops();
  for (TracedOp& op : ops) {
    op.start_ns -= traced.began_ns;
    op.end_ns -= traced.began_ns;
  }
  const std::vector<int> one_each(static_cast<std::size_t>(stage.n_ranks()), 1);
  const std::vector<int> counts = gather<int>(stage, {static_cast<int>(ops.size())}, one_each);
  const auto waited = gather<std::int64_t>(stage, {traced.trace.waited_ns()}, one_each);
  const std::vector<TracedOp> all = gather(stage, ops, counts);
  if (stage.rank() != 0) return 0;

  json ranks = json::array();
  std::span<const TracedOp> left = all;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const auto n = static_cast<std::size_t>(counts[rank]);
    ranks.push_back(json_of_ops(left.first(n), waited[rank]));
    left = left.subspan(n);
  }
  const json file = {{"schema", "eco.rank.trace"},
                     {"version", 1},
                     {"collective", coll::name(problem.collective)},
                     {"bytes", problem.bytes},
                     {"root", problem.root},
                     {"recipe", recipe.text()},
                     {"library", transport::mpi::library_name()},
                     {"one_clock", rehearsal.one_clock},
                     {"host_of_rank", rehearsal.view.host_of_rank},
                     {"seconds", traced.seconds},
                     {"median_s", traced.median_s},
                     {"ranks", std::move(ranks)}};
  write_file(out, base::to_text(file));
  return 0;
}

}  // namespace eco::rank
