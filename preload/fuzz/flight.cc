#include "preload/fuzz/flight.h"

#include <dlfcn.h>

#include <cstring>
#include <fstream>
#include <stdexcept>

namespace eco::fuzz {
namespace {

// What served this rank's last call, from ECO's preload.
const char* last_algorithm() {
  using Ask = const char* (*)();
  static const auto ask = reinterpret_cast<Ask>(::dlsym(RTLD_DEFAULT, "eco_last_algorithm"));
  return ask == nullptr ? "native" : ask();
}

void check(int code) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(text);
}

bool is_root_of(const Step& step, const Group& group) {
  return group.n_remote == 0 && group.me == step.number("root") % group.n;
}

// The argument. Of an inter-communicator one side sends to the other.
int root_of(const Step& step, const Group& group) {
  const int root = step.number("root");
  if (group.n_remote == 0) return root % group.n;
  const bool is_side = group.is_upper == (step.number("side") != 0);
  if (!is_side) return root % group.n_remote;
  return group.me == root % group.n ? MPI_ROOT : MPI_PROC_NULL;
}

}  // namespace

int uneven(int way, int count, int i, int j, int n) {
  switch (way) {
    case 1:
      return count + (i + j) % 2;
    case 2:
      return i == 0 || j == 0 ? 0 : count * (i + j + 2) / (2 * n);
    case 3:
      return i == n - 1 || j == n - 1 ? count - count / 16 : count;
    default:
      return count;
  }
}

Flight::Flight(const Step& step, const Group& group, int rank)
    : step_(step),
      group_(group),
      form_(form_of(step.word("form", "blocking"))),
      entry_(find_call(step.verb)),
      call_{.step = step_, .group = group_, .rank = rank, .refill = {}, .settle = {}} {
  call_.arguments.comm = group_.comm;
  call_.arguments.root = root_of(step_, group_);
  call_.is_root = is_root_of(step_, group_);
  if (step_.has("op"))
    prepare_reduction(call_);
  else if (step_.verb != "barrier")
    prepare_movement(call_);
  call_.arguments.widen();
  if (call_.refill) call_.refill();
}

Flight::~Flight() { free_handles(); }

void Flight::free_handles() {
  call_.types.free();
  if (call_.operation.is_own && call_.operation.op != MPI_OP_NULL) MPI_Op_free(&call_.operation.op);
  call_.operation.op = MPI_OP_NULL;
}

void Flight::begin() {
  last_algorithm();  // what an earlier call left
  check(entry_.make(call_.arguments, form_, &request_));
  algorithm_ = last_algorithm();
  if (form_ == Form::persistent) run_twice();
  if (is_under_way() && step_.number("free") != 0) free_handles();
}

void Flight::run_twice() {
  for (const bool again : {false, true}) {
    if (again) {
      call_.in.refill();
      call_.out.refill();
      if (call_.refill) call_.refill();
    }
    check(MPI_Start(&request_));
    check(MPI_Wait(&request_, MPI_STATUS_IGNORE));
  }
  check(MPI_Request_free(&request_));
}

void Flight::end(Entry& entry, const std::string& bytes) {
  if (call_.settle) call_.settle(entry);
  entry.digest = digest(call_.in.all(), digest(call_.out.all()));
  entry.group = group_.world.front();
  std::strncpy(entry.algorithm.data(), algorithm_.c_str(), entry.algorithm.size() - 1);
  entry.is_there = 1;
  if (bytes.empty()) return;
  std::ofstream file(bytes, std::ios::binary);
  for (const Memory* memory : {&call_.out, &call_.in})
    file.write(reinterpret_cast<const char*>(memory->all().data()),
               static_cast<std::streamsize>(memory->all().size()));
}

}  // namespace eco::fuzz
