#include "preload/rank/cases.h"

#include <mpi.h>

#include <functional>
#include <utility>

#include "eco/base/errors.h"
#include "eco/coll/problem.h"
#include "preload/rank/stage.h"

namespace eco::rank {
namespace {

using Bytes = std::vector<unsigned char>;

// What rank r holds at position i before the call: small, so that sums of it are exact in every type and order.
unsigned value_at(int rank, std::size_t i) {
  return (static_cast<unsigned>(rank) * 3u + static_cast<unsigned>(i % 251u)) % 7u;
}

constexpr unsigned char kWiped = 0xee;

// Data movement: bytes. The expected result is written out before the first call.
class Movement final : public Case {
 public:
  using Call = std::function<void(Bytes& in, Bytes& out)>;

  Movement(Bytes in, Bytes expected, bool in_is_out, Call call)
      : start_(std::move(in)), expected_(std::move(expected)), in_is_out_(in_is_out), call_(std::move(call)) {
    reset();
  }

  void reset() override {
    in_ = start_;
    out_.assign(expected_.size(), kWiped);
  }
  void call() override { call_(in_, out_); }
  bool is_right() const override { return (in_is_out_ ? in_ : out_) == expected_; }

 private:
  Bytes start_, expected_;
  bool in_is_out_;
  Call call_;
  Bytes in_, out_;
};

// Reductions: sums of `Element`s.
template <class Element>
class Sum final : public Case {
 public:
  using Elements = std::vector<Element>;
  using Call = std::function<void(const Elements& in, Elements& out)>;

  Sum(Elements in, Elements expected, Call call)
      : in_(std::move(in)), expected_(std::move(expected)), call_(std::move(call)) {
    reset();
  }

  void reset() override { out_.assign(expected_.size(), static_cast<Element>(kWiped)); }
  void call() override { call_(in_, out_); }
  bool is_right() const override { return out_ == expected_; }

 private:
  Elements in_, expected_;
  Call call_;
  Elements out_;
};

Bytes contents(int rank, std::size_t bytes, std::size_t first = 0) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(value_at(rank, first + i) + 1);
  return data;
}

std::unique_ptr<Case> make_movement(const std::string& name, std::size_t bytes, int rank, int n_ranks) {
  const auto ranks = static_cast<std::size_t>(n_ranks);
  const std::size_t block = bytes / ranks;
  const int count = static_cast<int>(block);
  Bytes in, expected;
  Movement::Call call;
  if (name == "broadcast") {
    in = rank == 0 ? contents(0, bytes) : Bytes(bytes, kWiped);
    call = [](Bytes& data, Bytes&) {
      MPI_Bcast(data.data(), static_cast<int>(data.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
    };
    return std::make_unique<Movement>(std::move(in), contents(0, bytes), true, std::move(call));
  }
  if (name == "scatter") {
    in = rank == 0 ? contents(0, block * ranks) : Bytes();
    expected = contents(0, block, block * static_cast<std::size_t>(rank));
    call = [count](Bytes& data, Bytes& out) {
      MPI_Scatter(data.data(), count, MPI_BYTE, out.data(), count, MPI_BYTE, 0, MPI_COMM_WORLD);
    };
  } else if (name == "gather" || name == "allgather") {
    in = contents(rank, block);
    const bool everywhere = name == "allgather";
    for (int r = 0; r < n_ranks && (everywhere || rank == 0); ++r) {
      const Bytes part = contents(r, block);
      expected.insert(expected.end(), part.begin(), part.end());
    }
    call = [count, everywhere](Bytes& data, Bytes& out) {
      if (everywhere)
        MPI_Allgather(data.data(), count, MPI_BYTE, out.data(), count, MPI_BYTE, MPI_COMM_WORLD);
      else
        MPI_Gather(data.data(), count, MPI_BYTE, out.data(), count, MPI_BYTE, 0, MPI_COMM_WORLD);
    };
  } else {  // alltoall
    in = contents(rank, block * ranks);
    for (int r = 0; r < n_ranks; ++r) {
      const Bytes part = contents(r, block, block * static_cast<std::size_t>(rank));
      expected.insert(expected.end(), part.begin(), part.end());
    }
    call = [count](Bytes& data, Bytes& out) {
      MPI_Alltoall(data.data(), count, MPI_BYTE, out.data(), count, MPI_BYTE, MPI_COMM_WORLD);
    };
  }
  return std::make_unique<Movement>(std::move(in), std::move(expected), false, std::move(call));
}

// Sum over ranks [0, end) at position i.
template <class Element>
Element sum_at(int end, std::size_t i) {
  unsigned sum = 0;
  for (int r = 0; r < end; ++r) sum += value_at(r, i);
  return static_cast<Element>(sum);
}

template <class Element>
std::unique_ptr<Case> make_sum(const std::string& name, std::size_t bytes, int rank, int n_ranks,
                               MPI_Datatype type) {
  using Elements = std::vector<Element>;
  const std::size_t total = bytes / sizeof(Element);
  const auto ranks = static_cast<std::size_t>(n_ranks);
  Elements in(total);
  for (std::size_t i = 0; i < total; ++i) in[i] = static_cast<Element>(value_at(rank, i));

  // Which part of the sum over which ranks this rank ends up with.
  std::size_t first = 0;
  std::size_t size = total;
  int over = n_ranks;
  std::vector<int> counts;
  if (name == "reduce" && rank != 0) size = 0;
  if (name == "scan") over = rank + 1;
  if (name == "exscan") over = rank;
  if (name == "exscan" && rank == 0) size = 0;  // undefined by MPI
  if (name == "reduce_scatter" || name == "reduce_scatter_block") {
    size = total / ranks;
    first = static_cast<std::size_t>(rank) * size;
    counts.assign(ranks, static_cast<int>(size));
  }
  Elements expected(size);
  for (std::size_t i = 0; i < size; ++i) expected[i] = sum_at<Element>(over, first + i);

  const int count = static_cast<int>(total);
  typename Sum<Element>::Call call;
  if (name == "reduce") {
    call = [=](const Elements& data, Elements& out) {
      MPI_Reduce(data.data(), out.data(), count, type, MPI_SUM, 0, MPI_COMM_WORLD);
    };
  } else if (name == "allreduce") {
    call = [=](const Elements& data, Elements& out) {
      MPI_Allreduce(data.data(), out.data(), count, type, MPI_SUM, MPI_COMM_WORLD);
    };
  } else if (name == "scan") {
    call = [=](const Elements& data, Elements& out) {
      MPI_Scan(data.data(), out.data(), count, type, MPI_SUM, MPI_COMM_WORLD);
    };
  } else if (name == "exscan") {
    // Rank 0's result is undefined but may be written.
    auto unused = std::make_shared<Elements>(total);
    call = [=](const Elements& data, Elements& out) {
      MPI_Exscan(data.data(), out.empty() ? unused->data() : out.data(), count, type, MPI_SUM,
                 MPI_COMM_WORLD);
    };
  } else if (name == "reduce_scatter") {
    call = [=](const Elements& data, Elements& out) {
      MPI_Reduce_scatter(data.data(), out.data(), counts.data(), type, MPI_SUM, MPI_COMM_WORLD);
    };
  } else {
    call = [=](const Elements& data, Elements& out) {
      MPI_Reduce_scatter_block(data.data(), out.data(), counts[0], type, MPI_SUM, MPI_COMM_WORLD);
    };
  }
  return std::make_unique<Sum<Element>>(std::move(in), std::move(expected), std::move(call));
}

class Barrier final : public Case {
 public:
  void reset() override {}
  void call() override { MPI_Barrier(MPI_COMM_WORLD); }
  bool is_right() const override { return true; }  // no result; see is_barrier()
  bool is_barrier() const override { return true; }
};

bool is_movement(const std::string& name) {
  return name == "broadcast" || name == "scatter" || name == "gather" || name == "allgather" ||
         name == "alltoall";
}

}  // namespace

const std::vector<std::string>& case_names() {
  static const std::vector<std::string> names = {
      "broadcast", "barrier", "reduce",    "allreduce", "reduce_scatter", "reduce_scatter_block",
      "scatter",   "gather",  "allgather", "alltoall",  "scan",           "exscan"};
  return names;
}

std::unique_ptr<Case> make_case(const std::string& name, std::size_t bytes, int rank, int n_ranks) {
  bool known = false;
  for (const std::string& each : case_names()) known = known || each == name;
  if (!known) {
    std::string all;
    for (const std::string& each : case_names()) all += (all.empty() ? "" : ", ") + each;
    throw InvalidArgument("eco-rank bench: no operation '" + name + "'; there are " + all);
  }
  if (name == "barrier") return std::make_unique<Barrier>();
  coll::CommonProblem problem = problem_of(name, bytes, 0, n_ranks);
  if (is_movement(name)) return make_movement(name, problem.bytes, rank, n_ranks);
  // Doubles where every rank gets one of a reduce_scatter, bytes where the vector is too short for that.
  if (bytes % sizeof(double) == 0 && problem.bytes <= bytes)
    return make_sum<double>(name, problem.bytes, rank, n_ranks, MPI_DOUBLE);
  problem.element_bytes = 1;
  return make_sum<unsigned char>(name, coll::whole_bytes(problem, bytes), rank, n_ranks, MPI_UNSIGNED_CHAR);
}

}  // namespace eco::rank
