// Executes recipes over the rails of simulated hosts: every rank an actor of SimGrid that runs ECO's own Executor.
//
//   bench-simgrid-rails PLATFORM NETWORK CELLS RECORDS RAILS CHECK_BYTES [--cfg=...]
//
// Host k of the network has on rail r the NIC "n<k>r<r>" of the platform. Writes one JSON object for each cell: simulated
// seconds from an instant common to all ranks to the last rank's end. Results of cells of up to CHECK_BYTES are held
// against what the collective means; beyond, all ranks have one piece of memory and nothing is copied.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "bench/cells.h"
#include "bench/simgrid/simulated_rails.h"
#include "eco/exec/executor.h"
#include "eco/runtime/combine.h"
#include "eco/runtime/contents.h"

namespace {

namespace s4u = simgrid::s4u;
using eco::bench::Cell;
using eco::bench::SimulatedRails;
using eco::bench::Wires;

eco::bench::Hosts hosts_of(const s4u::Engine& engine, int n_ranks, int n_rails) {
  eco::bench::Hosts hosts(static_cast<std::size_t>(n_rails));
  for (int rail = 0; rail < n_rails; ++rail) {
    for (int rank = 0; rank < n_ranks; ++rank) {
      const std::string name = "n" + std::to_string(rank) + "r" + std::to_string(rail);
      s4u::Host* const host = engine.host_by_name_or_null(name);
      if (host == nullptr) throw eco::InvalidArgument("the platform has no host '" + name + "'");
      hosts[static_cast<std::size_t>(rail)].push_back(host);
    }
  }
  return hosts;
}

struct Processor {
  double combine_bytes_per_s;

  static void sum(void* context, const void* in, void* inout, std::size_t bytes) {
    eco::runtime::sum_doubles(nullptr, in, inout, bytes);
    const auto& self = *static_cast<const Processor*>(context);
    s4u::this_actor::sleep_for(static_cast<double>(bytes) / self.combine_bytes_per_s);
  }
};

// The memory of one rank, or of all.
struct Memory {
  std::vector<std::byte> input;
  std::vector<std::byte> output;
};

Memory memory_of(const eco::coll::CommonProblem& problem, int rank) {
  Memory memory{eco::runtime::input_of(problem, rank),
                std::vector<std::byte>(eco::coll::output_bytes(problem, rank))};
  if (problem.collective == eco::coll::Collective::broadcast && rank == problem.root)
    memory.output = memory.input;
  return memory;
}

// Simulated seconds.
double run(s4u::Engine& engine, const eco::bench::Hosts& hosts, const Cell& cell,
           const eco::net::GroupView& view, std::size_t check_bytes) {
  const eco::coll::CommonProblem& problem = cell.problem;
  const bool folded = problem.bytes > check_bytes;
  Wires wires(view, hosts, folded);
  Processor processor{view.network->combine_bytes_per_s};
  std::vector<Memory> memories;
  for (int rank = 0; rank < (folded ? 1 : view.n_ranks()); ++rank)
    memories.push_back(memory_of(problem, rank));
  const double begin_s = s4u::Engine::get_clock();
  double end_s = begin_s;
  std::string error;
  for (int rank = 0; rank < view.n_ranks(); ++rank) {
    s4u::Actor::create("rank", hosts[0][static_cast<std::size_t>(rank)], [&, rank] {
      try {
        const eco::sched::Schedule schedule =
            eco::algo::find(cell.recipe.algorithm)->build(problem, view, cell.recipe.params, rank);
        SimulatedRails transport(wires, rank);
        eco::exec::Executor executor(transport);
        if (!executor.reserve(schedule.scratch_bytes)) throw std::bad_alloc();
        Memory& memory = memories[folded ? 0 : static_cast<std::size_t>(rank)];
        const eco::exec::Buffers buffers{
            .input = std::span<const std::byte>(memory.input)
                         .first(std::min(memory.input.size(), eco::coll::input_bytes(problem, rank))),
            .output = std::span<std::byte>(memory.output),
            .combine = {Processor::sum, &processor}};
        if (executor.run(schedule, buffers, 0) != eco::transport::Status::ok)
          throw std::runtime_error("the transport failed");
        if (!folded && memory.output != eco::runtime::expected_of(problem, rank))
          throw std::runtime_error("the result is wrong");
        end_s = std::max(end_s, s4u::Engine::get_clock());
      } catch (const std::exception& thrown) {
        error = "rank " + std::to_string(rank) + ": " + thrown.what();
      }
    });
  }
  engine.run();
  if (!error.empty()) throw std::runtime_error(error);
  return end_s - begin_s;
}

}  // namespace

int main(int argc, char** argv) {
  std::string where = "starting";
  try {
    s4u::Engine engine(&argc, argv);  // takes its --cfg words out
    if (argc != 7) throw std::runtime_error("PLATFORM NETWORK CELLS RECORDS RAILS CHECK_BYTES are needed");
    engine.load_platform(argv[1]);
    const eco::net::GroupView view = eco::bench::view_of(argv[2]);
    const eco::bench::Hosts hosts = hosts_of(engine, view.n_ranks(), std::atoi(argv[5]));
    const auto check_bytes = static_cast<std::size_t>(std::strtoull(argv[6], nullptr, 10));
    std::ofstream records(argv[4]);
    for (const Cell& cell : eco::bench::read_cells(argv[3], view)) {
      where = cell.recipe.text();
      if (!cell.why_not.empty()) throw eco::InvalidArgument(cell.why_not);
      const double before_s = eco::bench::processor_s();
      const double seconds = run(engine, hosts, cell, view, check_bytes);
      const nlohmann::ordered_json record = {{"recipe", where},
                                             {"bytes", cell.problem.bytes},
                                             {"simgrid_s", seconds},
                                             {"simgrid_cost_s", eco::bench::processor_s() - before_s}};
      records << record.dump() << std::endl;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench-simgrid-rails: %s: %s\n", where.c_str(), error.what());
    return 1;
  }
  return 0;
}
