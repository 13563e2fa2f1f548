// What running a schedule costs besides moving its bytes, and how fast bytes move where no network is in the way.
//
//   cmake --preset release && cmake --build --preset release --target bench-executor && build/release/bench-executor
//   bench-executor --json [--ranks 2,4,8,16] [--bytes 16777216]       bench/overhead/run.py makes a table of it
//
//   window     one rank's program walked through sched::Window alone, every message complete at once
//   executor   the same through exec::Executor, on a transport whose messages complete at once and move nothing
//   loopback   all ranks as threads of this process on transport/loopback: time of a call over all ranks' operations
//   pipeline   the same with a long message in large segments: bytes of the message per second
//
// Every figure is the fastest of --repeats runs: what is above it is the machine's other work. Nanoseconds per operation:
// an operation is a send, a receive, a reduction or a copy. Building schedules is not in it, expanding their loops is.
#include "eco/exec/executor.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "eco/algo/algorithm.h"
#include "eco/net/synthetic.h"
#include "eco/sched/window.h"
#include "eco/transport/loopback/loopback.h"

namespace {

using eco::algo::Recipe;
using eco::coll::Collective;
using eco::coll::CommonProblem;
using eco::sched::OpId;
using eco::sched::OpKind;
using eco::sched::Schedule;
using eco::transport::SendMode;
using eco::transport::Status;
using eco::transport::Ticket;
using nlohmann::ordered_json;

struct Settings {
  std::vector<int> ranks = {2, 4, 8, 16};
  std::size_t bytes = std::size_t{16} << 20;
  int repeats = 5;
  bool json = false;
};

// A pattern of many small operations, and of few large ones.
struct Pattern {
  Collective collective;
  const char* recipe;
};
constexpr Pattern kPatterns[] = {
    {Collective::broadcast, "broadcast/chain"},
    {Collective::broadcast, "broadcast/binomial"},
    {Collective::allreduce, "allreduce/ring"},
    {Collective::alltoall, "alltoall/flat"},
};
constexpr Pattern kPipelines[] = {
    {Collective::broadcast, "broadcast/chain"},
    {Collective::allreduce, "allreduce/ring"},
};
constexpr std::size_t kSmallSegment = 64;
constexpr std::size_t kSmallSegments = 4096;
constexpr std::size_t kPipelineSegments[] = {std::size_t{16} << 10, std::size_t{64} << 10,
                                             std::size_t{256} << 10};

double seconds_of(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double fastest(int repeats, const std::function<void()>& body) {
  double best = seconds_of(body);
  for (int i = 1; i < repeats; ++i) best = std::min(best, seconds_of(body));
  return best;
}

eco::net::GroupView one_switch(int n_ranks) {
  auto network =
      std::make_shared<eco::net::Network>(eco::net::synthetic_network("hosts=" + std::to_string(n_ranks)));
  std::vector<int> hosts(static_cast<std::size_t>(n_ranks));
  for (int rank = 0; rank < n_ranks; ++rank) hosts[static_cast<std::size_t>(rank)] = rank;
  return eco::net::make_view(std::move(network), std::move(hosts));
}

struct Job {
  CommonProblem problem;
  std::vector<Schedule> schedules;
  std::vector<std::size_t> n_ops;  // by rank
  std::size_t all_ops = 0;
};

Job make_job(const Pattern& pattern, int n_ranks, std::size_t segment, std::size_t bytes) {
  Job job{.problem = {.collective = pattern.collective, .n_ranks = n_ranks, .element_bytes = 8}};
  job.problem.bytes = eco::coll::whole_bytes(job.problem, bytes);
  Recipe recipe{pattern.recipe, {}};
  recipe.params.segment_bytes = segment;
  job.schedules = eco::algo::build_all(recipe, job.problem, one_switch(n_ranks));
  for (const Schedule& schedule : job.schedules) {
    job.n_ops.push_back(eco::sched::count_operations(schedule));
    job.all_ops += job.n_ops.back();
  }
  return job;
}

// The rank with most to do.
std::size_t busiest(const Job& job) {
  return static_cast<std::size_t>(std::max_element(job.n_ops.begin(), job.n_ops.end()) - job.n_ops.begin());
}

void walk(eco::sched::Window& window, std::vector<OpId>& posted) {
  while (!window.done()) {
    posted.clear();
    while (const auto id = window.take_ready(OpKind::recv)) window.posted(*id), posted.push_back(*id);
    for (const OpKind kind : {OpKind::reduce, OpKind::copy}) {
      while (const auto id = window.take_ready(kind)) window.complete(*id);
    }
    while (const auto id = window.take_ready(OpKind::send)) window.posted(*id), posted.push_back(*id);
    for (const OpId id : posted) window.complete(id);
  }
}

// Every message is complete as soon as it is posted.
class Instant final : public eco::transport::Transport {
 public:
  Instant(int rank, int n_ranks) : rank_(rank), n_ranks_(n_ranks) {}

  int rank() const override { return rank_; }
  int n_ranks() const override { return n_ranks_; }
  int max_tag() const override { return 32767; }
  Status post_send(int, int, std::span<const std::byte>, SendMode, Ticket ticket) override {
    finished_.push_back(ticket);
    return Status::ok;
  }
  Status post_recv(int, int, std::span<std::byte>, Ticket ticket) override {
    finished_.push_back(ticket);
    return Status::ok;
  }
  Status wait_some(std::span<Ticket> done, std::size_t& n_done) override {
    n_done = std::min(done.size(), finished_.size());
    std::copy_n(finished_.begin(), n_done, done.begin());
    finished_.erase(finished_.begin(), finished_.begin() + static_cast<std::ptrdiff_t>(n_done));
    return Status::ok;
  }
  Status test_some(std::span<Ticket> done, std::size_t& n_done) override { return wait_some(done, n_done); }

 private:
  int rank_;
  int n_ranks_;
  std::vector<Ticket> finished_;
};

void add_words(void*, const void* in, void* inout, std::size_t bytes) {
  const auto* a = static_cast<const std::uint64_t*>(in);
  auto* b = static_cast<std::uint64_t*>(inout);
  for (std::size_t i = 0; i < bytes / 8; ++i) b[i] += a[i];
}

void must(Status status) {
  if (status == Status::ok) return;
  std::fprintf(stderr, "the transport failed\n");
  std::exit(1);
}

struct Memory {
  Memory(const CommonProblem& problem, int rank)
      : input((eco::coll::input_bytes(problem, rank) + 7) / 8, 1),
        output((eco::coll::output_bytes(problem, rank) + 7) / 8, 1) {}
  eco::exec::Buffers buffers() {
    return {.input = std::as_bytes(std::span(input)),
            .output = std::as_writable_bytes(std::span(output)),
            .combine = {add_words, nullptr}};
  }
  std::vector<std::uint64_t> input;
  std::vector<std::uint64_t> output;
};

double window_ns(const Job& job, int repeats) {
  const std::size_t rank = busiest(job);
  eco::sched::Window window(job.schedules[rank], eco::exec::kWindowCapacity, false);
  std::vector<OpId> posted;
  const double seconds = fastest(repeats, [&] {
    window.restart(job.schedules[rank], false);
    walk(window, posted);
  });
  return seconds * 1e9 / static_cast<double>(job.n_ops[rank]);
}

double executor_ns(const Job& job, int repeats) {
  const std::size_t rank = busiest(job);
  Instant transport(static_cast<int>(rank), job.problem.n_ranks);
  eco::exec::Executor executor(transport);
  Memory memory(job.problem, static_cast<int>(rank));
  const double seconds =
      fastest(repeats, [&] { must(executor.run(job.schedules[rank], memory.buffers(), 0)); });
  return seconds * 1e9 / static_cast<double>(job.n_ops[rank]);
}

// Seconds of one call on all ranks, from when all are there to when the last has ended.
double loopback_s(const Job& job, int repeats) {
  eco::transport::Hub hub(job.problem.n_ranks);
  std::vector<double> seconds(static_cast<std::size_t>(repeats));
  eco::transport::run_ranks(
      hub, [&](eco::transport::LoopbackTransport& transport, eco::transport::LoopbackNative& native) {
        const int rank = transport.rank();
        eco::exec::Executor executor(transport);
        Memory memory(job.problem, rank);
        for (std::size_t i = 0; i < seconds.size(); ++i) {
          native.barrier();
          const double taken = seconds_of([&] {
            must(executor.run(job.schedules[static_cast<std::size_t>(rank)], memory.buffers(), 0));
            native.barrier();
          });
          if (rank == 0) seconds[i] = taken;
        }
      });
  return *std::min_element(seconds.begin(), seconds.end());
}

ordered_json measure_operations(const Settings& settings) {
  ordered_json rows = ordered_json::array();
  for (const Pattern& pattern : kPatterns) {
    for (const int n_ranks : settings.ranks) {
      const Job job = make_job(pattern, n_ranks, kSmallSegment, kSmallSegment * kSmallSegments);
      rows.push_back(
          {{"recipe", pattern.recipe},
           {"ranks", n_ranks},
           {"operations", job.all_ops},
           {"window_ns", window_ns(job, settings.repeats)},
           {"executor_ns", executor_ns(job, settings.repeats)},
           {"loopback_ns", loopback_s(job, settings.repeats) * 1e9 / static_cast<double>(job.all_ops)}});
    }
  }
  return rows;
}

ordered_json measure_pipelines(const Settings& settings) {
  ordered_json rows = ordered_json::array();
  for (const Pattern& pattern : kPipelines) {
    for (const int n_ranks : settings.ranks) {
      for (const std::size_t segment : kPipelineSegments) {
        const Job job = make_job(pattern, n_ranks, segment, settings.bytes);
        const double seconds = loopback_s(job, settings.repeats);
        rows.push_back({{"recipe", pattern.recipe},
                        {"ranks", n_ranks},
                        {"bytes", job.problem.bytes},
                        {"segment_bytes", segment},
                        {"seconds", seconds},
                        {"gb_per_s", static_cast<double>(job.problem.bytes) / seconds / 1e9}});
      }
    }
  }
  return rows;
}

// What the memory of this machine does at best: one thread copies a message of the same size.
double copy_gb_per_s(const Settings& settings) {
  std::vector<char> from(settings.bytes, 1);
  std::vector<char> to(settings.bytes, 2);
  const double seconds =
      fastest(settings.repeats, [&] { std::memcpy(to.data(), from.data(), settings.bytes); });
  if (to.back() != 1) std::exit(1);
  return static_cast<double>(settings.bytes) / seconds / 1e9;
}

void print(const ordered_json& all) {
  std::printf("nanoseconds per operation        ranks   window  executor  loopback\n");
  for (const auto& row : all["operations"]) {
    std::printf("  %-30s %5d %8.1f %9.1f %9.1f\n", row["recipe"].get<std::string>().c_str(),
                row["ranks"].get<int>(), row["window_ns"].get<double>(), row["executor_ns"].get<double>(),
                row["loopback_ns"].get<double>());
  }
  std::printf("message per second over loopback ranks  segment      GB/s      (one thread's memcpy %.2f)\n",
              all["copy_gb_per_s"].get<double>());
  for (const auto& row : all["pipelines"]) {
    std::printf("  %-30s %5d %8zu %9.3f\n", row["recipe"].get<std::string>().c_str(), row["ranks"].get<int>(),
                row["segment_bytes"].get<std::size_t>(), row["gb_per_s"].get<double>());
  }
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--json") {
      settings.json = true;
    } else if (word == "--ranks" && has_value) {
      settings.ranks.clear();
      std::istringstream list(argv[++i]);
      for (std::string number; std::getline(list, number, ',');) settings.ranks.push_back(std::stoi(number));
    } else if (word == "--bytes" && has_value) {
      settings.bytes = std::stoul(argv[++i]);
    } else if (word == "--repeats" && has_value) {
      settings.repeats = std::stoi(argv[++i]);
    } else {
      std::fprintf(stderr, "usage: bench-executor [--json] [--ranks 2,4,8,16] [--bytes N] [--repeats N]\n");
      std::exit(2);
    }
  }
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  ordered_json all;
  all["cores"] = std::thread::hardware_concurrency();
  all["repeats"] = settings.repeats;
  all["copy_gb_per_s"] = copy_gb_per_s(settings);
  all["operations"] = measure_operations(settings);
  all["pipelines"] = measure_pipelines(settings);
  if (settings.json)
    std::printf("%s\n", all.dump(1).c_str());
  else
    print(all);
  return 0;
}
