// eco-fuzz: runs one program of collectives and writes down what every rank saw. `eco fuzz` starts it without ECO and
// with it, on the same program, and compares.
//
//   mpirun -n 4 eco-fuzz-openmpi PROGRAM FOLDER [STEP]      FOLDER/rank-0, ...; with STEP all bytes of it in
//   FOLDER/bytes-0, ...
//
// It is an ordinary MPI program, which neither knows nor cares what is under it. Read run() here, then flight.h.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <vector>

#include "preload/fuzz/flight.h"
#include "preload/fuzz/groups.h"
#include "preload/fuzz/program.h"
#include "preload/fuzz/record.h"

namespace eco::fuzz {
namespace {

using Flights = std::vector<std::unique_ptr<Flight>>;

class Running {
 public:
  Running(Record& record, std::string folder, int bytes_of, int rank)
      : record_(record), folder_(std::move(folder)), bytes_of_(bytes_of), rank_(rank) {}

  void run(const Step& step) {
    record_.enter(step.id);
    if (step.number("late", -1) == rank_) ::usleep(2000);
    if (step.verb == "comm")
      groups_.make(step);
    else if (step.verb == "free")
      groups_.free(step.number("id"));
    else if (step.verb == "complete")
      complete(step);
    else if (step.verb == "exchange")
      exchange(step);
    else if (const Group* group = groups_.find(step.number("on")))
      call(step, *group);
    record_.leave();
  }

  // Whatever the program left under way.
  void end(int step) {
    record_.enter(step);
    for (auto& [request, flight] : under_way_) wait_for(*flight);
    under_way_.clear();
    groups_.free_all();
    record_.leave();
  }

 private:
  void call(const Step& step, const Group& group) {
    auto flight = std::make_unique<Flight>(step, group, rank_);
    flight->begin();
    if (!flight->is_under_way()) return ended(*flight);
    // In a program that has lost steps the number may be in use.
    std::unique_ptr<Flight>& place = under_way_[step.number("request")];
    if (place != nullptr) wait_for(*place);
    place = std::move(flight);
  }

  void ended(Flight& flight) {
    flight.end(record_[flight.step()],
               flight.step() == bytes_of_ ? folder_ + "/bytes-" + std::to_string(rank_) : "");
  }

  void wait_for(Flight& flight) {
    MPI_Wait(flight.request(), MPI_STATUS_IGNORE);
    ended(flight);
  }

  // Each rank in an order of its own.
  void complete(const Step& step) {
    Flights flights;
    for (const int request : step.numbers("requests")) {
      const auto found = under_way_.find(request);
      if (found == under_way_.end()) continue;
      flights.push_back(std::move(found->second));
      under_way_.erase(found);
    }
    const auto place = [&](const std::unique_ptr<Flight>& flight) {
      return mixed(static_cast<std::uint64_t>(step.number("seed")), static_cast<std::uint64_t>(rank_),
                   static_cast<std::uint64_t>(flight->step()));
    };
    std::sort(flights.begin(), flights.end(),
              [&](const auto& a, const auto& b) { return place(a) < place(b); });
    const std::string way = step.word("way", "wait");
    if (way == "wait") {
      for (const auto& flight : flights) wait_for(*flight);
      return;
    }
    std::vector<MPI_Request> requests;
    for (const auto& flight : flights) requests.push_back(*flight->request());
    while (!flights.empty()) take_ended(way, requests, flights);
  }

  // Some that have ended, at least one where the way waits.
  void take_ended(const std::string& way, std::vector<MPI_Request>& requests, Flights& flights) {
    const int n = static_cast<int>(requests.size());
    std::vector<int> indices(requests.size());
    int n_done = 0, flag = 0;
    if (way == "waitall" || way == "testall") {
      if (way == "waitall")
        flag = MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS ? 1 : 0;
      else
        MPI_Testall(n, requests.data(), &flag, MPI_STATUSES_IGNORE);
      if (flag != 0)
        for (; n_done < n; ++n_done) indices[static_cast<std::size_t>(n_done)] = n_done;
    } else if (way == "waitany") {
      MPI_Waitany(n, requests.data(), indices.data(), MPI_STATUS_IGNORE);
      n_done = 1;
    } else if (way == "testany") {
      MPI_Testany(n, requests.data(), indices.data(), &n_done, MPI_STATUS_IGNORE);
    } else if (way == "waitsome") {
      MPI_Waitsome(n, requests.data(), &n_done, indices.data(), MPI_STATUSES_IGNORE);
    } else if (way == "testsome") {
      MPI_Testsome(n, requests.data(), &n_done, indices.data(), MPI_STATUSES_IGNORE);
    } else {  // test, asked without ending it before
      MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
      MPI_Test(requests.data(), &n_done, MPI_STATUS_IGNORE);
      indices[0] = 0;
    }
    indices.resize(static_cast<std::size_t>(n_done));
    std::sort(indices.rbegin(), indices.rend());
    for (const int index : indices) {
      ended(*flights[static_cast<std::size_t>(index)]);
      flights.erase(flights.begin() + index);
      requests.erase(requests.begin() + index);
    }
    if (n_done == 0) ::usleep(20);
  }

  // Messages of the program's own around a ring, received with any tag, and from anybody unless their sender is named.
  void exchange(const Step& step) {
    const Group* group = groups_.find(step.number("on"));
    if (group == nullptr || group->n_remote > 0) return;
    const auto seed = [&](int rank) {
      return mixed(static_cast<std::uint64_t>(step.id), static_cast<std::uint64_t>(rank));
    };
    const Span span{0, step.number("count")};
    Memory in(span, seed(rank_)), out(span, seed(-1));
    MPI_Request requests[2];
    MPI_Status statuses[2];
    const int before = (group->me + group->n - 1) % group->n;
    MPI_Irecv(out.at(), step.number("count"), MPI_BYTE, step.number("named") != 0 ? before : MPI_ANY_SOURCE,
              MPI_ANY_TAG, group->comm, &requests[0]);
    MPI_Isend(in.at(), step.number("count"), MPI_BYTE, (group->me + 1) % group->n, step.id % 1000,
              group->comm, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    Entry& entry = record_[step.id];
    entry.digest = mixed(digest(out.all()), static_cast<std::uint64_t>(statuses[0].MPI_SOURCE),
                         static_cast<std::uint64_t>(statuses[0].MPI_TAG));
    entry.group = group->world.front();
    entry.is_there = 1;
  }

  Record& record_;
  std::string folder_;
  int bytes_of_;
  int rank_;
  Groups groups_;
  std::map<int, std::unique_ptr<Flight>>
      under_way_;  // by request, which is also the order in which they began
};

int run(int argc, char** argv) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 3) {
    if (rank == 0) std::fprintf(stderr, "usage: eco-fuzz PROGRAM FOLDER [STEP]\n");
    return 2;
  }
  int step_now = -1;
  try {
    const std::vector<Step> steps = read_program(argv[1]);
    int n_entries = 0;
    for (const Step& step : steps) n_entries = std::max(n_entries, step.id + 1);
    const std::string folder = argv[2];
    Record record(folder + "/rank-" + std::to_string(rank), n_entries);
    Running running(record, folder, argc > 3 ? std::atoi(argv[3]) : -1, rank);
    for (const Step& step : steps) {
      step_now = step.id;
      running.run(step);
    }
    running.end(n_entries);
    record.end();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "eco-fuzz: rank %d, step %d: %s\n", rank, step_now, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
}

}  // namespace
}  // namespace eco::fuzz

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = eco::fuzz::run(argc, argv);
  MPI_Finalize();
  return code;
}
