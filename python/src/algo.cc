// The repertoire: proofs of it, and what its algorithms send.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "eco/algo/algorithm.h"
#include "eco/algo/proving.h"
#include "eco/sched/traffic.h"
#include "python/src/bindings.h"
#include "python/src/question.h"

namespace eco::python {
namespace {

using nlohmann::ordered_json;

std::vector<std::tuple<std::string, int, int>> proof_tasks(const std::vector<int>& ranks,
                                                           const std::vector<std::string>& collectives,
                                                           const std::string& algorithm) {
  std::vector<coll::Collective> wanted;
  for (const std::string& name : collectives) wanted.push_back(collective_named(name));
  std::vector<std::tuple<std::string, int, int>> tasks;
  for (const algo::ProofTask& task : algo::proof_tasks(ranks, wanted, algorithm)) {
    tasks.emplace_back(task.algorithm, task.n_ranks, task.root);
  }
  return tasks;
}

std::string prove(const std::string& algorithm, int ranks, int root, std::uint64_t seed, std::size_t picks) {
  const algo::Proof proof = algo::prove({algorithm, ranks, root}, {.seed = seed, .picks = picks});
  ordered_json record;
  record["cases"] = proof.n_cases;
  record["distinct"] = proof.n_distinct;
  record["ordered"] = proof.n_ordered;
  record["in_place"] = proof.n_in_place;
  record["composed"] = proof.n_composed;
  record["native"] = proof.n_native;
  record["refused"] = proof.n_refused;
  record["faults"] = proof.faults;
  return record.dump();
}

// Whether it keeps rank order where an operation does not commute: "", or why not.
std::string why_not_ordered(const algo::Algorithm& algorithm, coll::CommonProblem problem,
                            const net::GroupView& view) {
  problem.commutative = false;
  return algorithm.why_not(problem, view).value_or("");
}

// The recipe without segments, where it can be.
algo::Recipe uncut(algo::Recipe recipe, const Question& question) {
  algo::Recipe whole = recipe;
  whole.params.segment_bytes = 0;
  return algo::why_not(whole, question.problem, question.view) ? recipe : whole;
}

// A dense graph to show: every rank and all others but the one farthest around the ring.
std::shared_ptr<const coll::Neighborhood> all_but_opposite(const net::GroupView& view) {
  const int n = view.n_ranks();
  std::vector<std::vector<int>> lists(static_cast<std::size_t>(n));
  for (int rank = 0; rank < n; ++rank) {
    for (int step = 1; step < n; ++step) {
      if (step != n / 2) lists[static_cast<std::size_t>(rank)].push_back((rank + step) % n);
    }
  }
  return coll::paired(lists, lists, coll::Pairing::in_order);
}

std::string traffic(const std::string& network, const std::vector<int>& host_of_rank, std::size_t bytes) {
  ordered_json records = ordered_json::array();
  for (const algo::Algorithm& algorithm : algo::registry()) {
    Question question(network, host_of_rank, std::string(coll::name(algorithm.collective)), bytes, 0);
    if (coll::follows_graph(algorithm.collective))
      question.problem.neighbors = all_but_opposite(question.view);
    ordered_json record;
    record["name"] = algorithm.name;
    record["collective"] = coll::name(algorithm.collective);
    record["bytes"] = coll::payload_bytes(question.problem);
    const auto reason = algorithm.why_not(question.problem, question.view);
    const bool combines =
        coll::is_reduction(algorithm.collective) && algorithm.collective != coll::Collective::barrier;
    record["why_not"] = reason.value_or("");
    if (!reason) {
      const std::vector<algo::Params> candidates = algorithm.candidates(question.problem, question.view);
      const algo::Recipe recipe = uncut({algorithm.name, candidates.front()}, question);
      const auto sent = sched::count_traffic(algo::build_all(recipe, question.problem, question.view));
      std::vector<std::vector<int>> groups;
      for (const net::SubnetView& subnet : question.view.subnets) groups.push_back(subnet.ranks);
      record["recipe"] = recipe.text();
      record["rounds"] = sent.rounds;
      record["chain"] = sent.chain;
      record["messages"] = sent.messages.size();
      record["sent_bytes"] = sent.bytes;
      record["most_sent_bytes"] = sent.most_sent_bytes;
      record["most_received_bytes"] = sent.most_received_bytes;
      record["most_combined_bytes"] = sent.most_combined_bytes;
      record["between_bytes"] = sent.bytes_between(question.view.subnet_of_rank);
      record["why_not_ordered"] =
          combines ? ordered_json(why_not_ordered(algorithm, question.problem, question.view))
                   : ordered_json(nullptr);
      record["drawing"] = sched::draw(sent, groups);
      for (const algo::Params& params : candidates) {
        const algo::Recipe native = uncut({algorithm.name, params}, question);
        if (algo::stand_in(native) == native) continue;
        const auto schedules = algo::build_all(native, question.problem, question.view);
        record["native"] = {{"recipe", native.text()},
                            {"drawing", sched::draw(sched::count_traffic(schedules), groups)}};
        break;
      }
    }
    records.push_back(std::move(record));
  }
  return records.dump();
}

void check_recipe(const std::string& text, const std::string& collective) {
  const algo::Recipe recipe = algo::parse_recipe(text);
  const auto reason = algo::why_not_named(recipe.algorithm, collective_named(collective));
  if (reason) throw InvalidArgument("recipe '" + text + "': " + *reason);
}

}  // namespace

void bind_algo(nb::module_& m) {
  m.def("check_recipe", &check_recipe, nb::arg("recipe"), nb::arg("collective"),
        "Raises InvalidArgument for a text that is no recipe, or one of another collective; whether it fits "
        "a group only the group can tell. Local.");
  m.def("proof_tasks", &proof_tasks, nb::arg("ranks"), nb::arg("collectives") = std::vector<std::string>(),
        nb::arg("algorithm") = "",
        "Independent parts of a proof of the repertoire: (algorithm, ranks, root), largest first. Local.");
  m.def("prove", &prove, nb::arg("algorithm"), nb::arg("ranks"), nb::arg("root"), nb::arg("seed") = 1,
        nb::arg("picks") = 2, nb::call_guard<nb::gil_scoped_release>(),
        "Proves one part; counts and faults as JSON. Local.");
  m.def("traffic", &traffic, nb::arg("network"), nb::arg("host_of_rank"), nb::arg("bytes"),
        nb::call_guard<nb::gil_scoped_release>(),
        "What every algorithm sends, uncut and from rank 0, counted and drawn, as JSON. Local.");
}

}  // namespace eco::python
