// eco-rank: the MPI program that measures, tunes and benchmarks where the user's launcher starts it.
//
//   mpirun -n 8 eco-rank-openmpi characterize --out network.json [--budget S] [--remembered used|left] [--plogp] [--rail-plogp]
//                                          [--progress]
//   mpirun -n 8 eco-rank-openmpi tune --out plan.json [--network F] [--ops A,B] [--sizes 8,16KiB] [--progress]
//   mpirun -n 8 eco-rank-openmpi bench --ops broadcast,allreduce --sizes 8,1MiB --out samples.json
//   mpirun -n 8 eco-rank-openmpi time --network network.json --trials trials.json --out times.json
//   mpirun -n 8 eco-rank-openmpi trace --network network.json --op broadcast --bytes 1MiB --out trace.json
//
// `bench` is an ordinary program that calls MPI_ functions: under eco-exec it measures ECO, without it the library.
// Rank 0 writes the files. Exit codes: 1 failed, 2 usage, 3 a collective gave a wrong result.
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <string>

#include "eco/base/errors.h"
#include "preload/rank/arguments.h"

namespace {

using Verb = int (*)(int argc, char** argv);

Verb find_verb(const std::string& name) {
  if (name == "bench") return &eco::rank::bench;
  if (name == "characterize") return &eco::rank::characterize;
  if (name == "tune") return &eco::rank::tune;
  if (name == "time") return &eco::rank::time;
  if (name == "trace") return &eco::rank::trace;
  return nullptr;
}

// Usage errors strike all ranks alike, so they end normally; one voice is enough.
int complain(const std::string& message, int code) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::fprintf(stderr, "%s\n", message.c_str());
  return code;
}

int run(int argc, char** argv) {
  const Verb verb = argc > 1 ? find_verb(argv[1]) : nullptr;
  if (verb == nullptr)
    return complain("usage: eco-rank characterize|tune|bench|time|trace ...", eco::rank::kBadUsage);
  try {
    return verb(argc - 2, argv + 2);
  } catch (const eco::InvalidArgument& error) {
    return complain(error.what(), eco::rank::kBadUsage);
  } catch (const std::exception& error) {
    // Perhaps on this rank alone: the others would wait for ever.
    std::fprintf(stderr, "eco-rank: %s\n", error.what());
    std::fflush(stderr);
    PMPI_Abort(MPI_COMM_WORLD, eco::rank::kFailed);
    return eco::rank::kFailed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = run(argc, argv);
  MPI_Finalize();
  return code;
}
