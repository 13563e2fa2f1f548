// The entries without data: MPI_Init to MPI_Finalize, and the barrier.
#include "preload/backend/call.h"

namespace eco::preload {
namespace {

int barrier(MPI_Comm comm) {
  Session& session = Session::instance();
  const auto native = [&] { return PMPI_Barrier(comm); };
  if (!session.running()) return native();
  const Session::Found found = session.group_if_wanted(comm);
  if (found.refused) return found.code;
  const Call call{
      .collective = coll::Collective::barrier, .comm = comm, .lengths = Lengths{}, .name = "MPI_Barrier"};
  if (const std::optional<PassedCall> before = passed_before(found.group, call))
    return pass(session, found.group, call.collective, {.fate = before->fate}, native);
  if (found.group != nullptr && session.checks().is_open()) {
    const auto code = disagreement(session, *found.group, call, nullptr, CallCheck::Waits::yes);
    if (code) return *code;
  }
  const Attempt attempt =
      found.group != nullptr ? try_to_serve_barrier(session, *found.group, call) : Attempt{};
  return attempt.served ? attempt.code : pass(session, found.group, call.collective, attempt, native);
}

}  // namespace
}  // namespace eco::preload

ECO_ENTRY int eco_wrap_MPI_Init(int* argc, char*** argv) noexcept {
  const int code = PMPI_Init(argc, argv);
  if (code == MPI_SUCCESS) eco::preload::Session::instance().start();
  return code;
}

ECO_ENTRY int eco_wrap_MPI_Init_thread(int* argc, char*** argv, int required, int* provided) noexcept {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) eco::preload::Session::instance().start();
  return code;
}

// What the trampoline calls where this rank's Fortran may lead past ECO, and after an initialisation in Fortran, which
// may lead past the entries above.
ECO_ENTRY void eco_backend_switch_off() noexcept { eco::preload::Session::instance().switch_off(); }
ECO_ENTRY void eco_backend_initialized() noexcept { eco::preload::Session::instance().start(); }

// As long as a handle is, for preload/trampoline/kept_numbers.h.
ECO_ENTRY std::size_t eco_backend_request_bytes() noexcept { return sizeof(MPI_Request); }

ECO_ENTRY int eco_wrap_MPI_Finalize() noexcept {
  eco::preload::Session::instance().finish(/*collective=*/true);
  return PMPI_Finalize();
}

ECO_ENTRY __attribute__((hot)) int eco_wrap_MPI_Barrier(MPI_Comm comm) noexcept {
  return eco::preload::barrier(comm);
}

ECO_ENTRY const char* eco_backend_last_algorithm() noexcept { return eco::preload::take_last_algorithm(); }
