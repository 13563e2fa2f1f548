// One collective call of the program: served by ECO or passed to the library, one frame for all operations.
//
//   return run({.collective = Collective::scan, .comm = comm, .op = op},
//              [&] { return PMPI_Scan(in, out, count, type, op, comm); },
//              [&](const Member& me) { return Sides{...}; });
//
// Read run(), then try_to_serve() and decide() in call.cc; begin() and try_to_begin() are the nonblocking calls'. Whether
// ranks arm, serve or pass together is decided from what all of them share: communicator, collective, root, operation, and
// the bytes, which every rank works out from the arguments that are significant on it. Wrong arguments pass, so that the
// library reports them as always. What a call like it came to before (passed_calls.h) is each rank's own memory of that decision.
#pragma once

#include <mpi.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "eco/base/hot.h"
#include "eco/coll/problem.h"
#include "preload/backend/session.h"
#include "preload/backend/sides.h"

namespace eco::preload {

// The code of a call on a communicator on which one failed half-way, after its error handler was told: ranks no longer
// agree on what was sent, so nothing more goes over it.
int refuse(MPI_Comm comm);

struct Attempt {
  bool served = false;  // else it is the library's
  int code = MPI_SUCCESS;
  std::size_t bytes = 0;  // 0 where the arguments don't say
  Fate fate = Fate::arguments;
  // A call that its communicator would have to be armed for.
  std::optional<coll::CommonProblem> unarmed{};
};
// Collective like the call. No exception leaves it.
ECO_ON_EVERY_CALL Attempt try_to_serve(Session& session, Group& group, const Call& call,
                                       const Sides& sides) noexcept;

// The same for a call that must not wait, and so never arms; `request` is set if it is served.
Attempt try_to_begin(Session& session, Group& group, const Call& call, const Sides& sides,
                     MPI_Request* request) noexcept;

// The barrier's: nothing to read or write, and it arms for nonblocking calls alone.
ECO_ON_EVERY_CALL Attempt try_to_serve_barrier(Session& session, Group& group, const Call& call) noexcept;

// Of any call on a communicator that is poisoned.
Attempt refused(const Group& group);

// Under ECO_CHECK=communication, before anything else: the code of a call whose ranks differ, which their error handlers
// have been told; nothing where they agree. Collective like the call, and waits like it. Without `sides` its root is
// none. No exception leaves it.
std::optional<int> disagreement(Session& session, Group& group, const Call& call, const Sides* sides,
                                CallCheck::Waits waits) noexcept;
// The same for a call that the program waits in and of which no more is common to all ranks: compared are its name, which
// must live for ever, and its root. Nothing without the option, or without a group.
std::optional<int> disagreement(Session& session, Group* group, const char* name,
                                int root = runtime::CallRecord::kNoRoot) noexcept;

// "scan/chain", what served the last of this thread's calls that was served since it asked; "native" if none was.
const char* take_last_algorithm();

inline std::uint64_t now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// `group`: the communicator's, if it has one.
template <class Native>
int pass(Session& session, Group* group, coll::Collective collective, const Attempt& attempt,
         const Native& native) {
  const std::uint64_t began = now_ns();
  const int code = native();
  const std::uint64_t took_ns = now_ns() - began;
  session.counters().passed(collective, attempt.bytes, took_ns, attempt.fate);
  if (group != nullptr) group->note_passed(collective, attempt.bytes, attempt.fate, took_ns);
  return code;
}

// What a call came to that was like this one, where nothing has changed since.
inline std::optional<PassedCall> passed_before(const Group* group, const Call& call) {
  return group != nullptr && call.lengths ? group->passed_before(call) : std::nullopt;
}

// Has the communicator such a root, and one side?
inline bool is_for(const Group* group, const Call& call) {
  return group != nullptr && !group->is_inter() && call.root >= 0 && call.root < group->n_ranks();
}
inline Fate fate_unlooked_at(const Group* group) {
  return group != nullptr && group->is_inter() ? Fate::communicator : Fate::arguments;
}

// What is common to the forms. `describe` is asked only on an intra-communicator with a root that exists: then every
// argument that it may look at is significant. `attempt` serves, or does not.
template <class Native, class Describe, class Try>
int serve_or_pass(Session& session, const Session::Found& found, const Call& call, CallCheck::Waits waits,
                  const Native& native, const Describe& describe, const Try& attempt) {
  if (found.refused) return found.code;
  Group* const group = found.group;
  const bool has_sides = is_for(group, call);
  Sides sides;
  if (has_sides) sides = describe(Member{.rank = group->rank(), .n_ranks = group->n_ranks()});
  if (group != nullptr && session.checks().is_open()) {
    const Sides* const known = has_sides ? &sides : nullptr;
    if (const std::optional<int> code = disagreement(session, *group, call, known, waits)) return *code;
  }
  const Attempt made = has_sides ? attempt(*group, sides) : Attempt{.fate = fate_unlooked_at(group)};
  return made.served ? made.code : pass(session, group, call.collective, made, native);
}

template <class Native, class Describe>
int run(const Call& call, const Native& native, const Describe& describe) {
  Session& session = Session::instance();
  if (!session.running()) return native();
  const Session::Found found = session.group(call.comm);
  if (const std::optional<PassedCall> before = passed_before(found.group, call))
    return pass(session, found.group, call.collective, {.bytes = before->bytes, .fate = before->fate},
                native);
  return serve_or_pass(
      session, found, call, CallCheck::Waits::yes, native, describe,
      [&](Group& group, const Sides& sides) { return try_to_serve(session, group, call, sides); });
}

// A nonblocking call is served on a communicator that blocking ones have armed, or barriers for it.
template <class Native, class Describe>
int begin(const Call& call, MPI_Request* request, const Native& native, const Describe& describe) {
  Session& session = Session::instance();
  if (!session.running()) return native();
  const Session::Found found =
      session.serves_beside() ? session.group(call.comm) : session.group_if_wanted(call.comm);
  std::optional<coll::CommonProblem> unarmed;
  const int code = serve_or_pass(session, found, call, CallCheck::Waits::no, native, describe,
                                 [&](Group& group, const Sides& sides) {
                                   if (request == nullptr) return Attempt{};
                                   Attempt attempt = try_to_begin(session, group, call, sides, request);
                                   unarmed.swap(attempt.unarmed);
                                   return attempt;
                                 });
  // One that the library refuses, on this rank alone maybe, has not been called.
  if (unarmed && code == MPI_SUCCESS && session.serves_beside()) found.group->note_beside(*unarmed);
  return code;
}

// A call that is never served, and of which ranks know too little in common for more than to be counted and, where the
// program waits in it, compared by name and root.
struct Watched {
  int operation;  // Profile::number_of()
  Fate fate;
  MPI_Comm comm;
  int root = runtime::CallRecord::kNoRoot;
};

// For a profile or a comparison; without either it is the library's at once. `bytes_of_me` is asked after the library has
// found the arguments right.
template <class Native, class Bytes>
int watch(const Watched& call, const char* name, CallCheck::Waits waits, const Native& native,
          const Bytes& bytes_of_me) {
  Session& session = Session::instance();
  if (!session.running() || !(session.profiles() || session.checks().is_open())) return native();
  const Session::Found found = session.group(call.comm);
  if (found.refused) return found.code;
  Group* const group = found.group;
  if (waits == CallCheck::Waits::yes) {
    if (const std::optional<int> code = disagreement(session, group, name, call.root)) return *code;
  }
  const std::uint64_t began = now_ns();
  const int code = native();
  const std::uint64_t took_ns = now_ns() - began;
  if (group == nullptr || code != MPI_SUCCESS) return code;
  // Between two groups of ranks, arguments mean something else.
  const std::size_t bytes =
      group->is_inter() ? 0 : bytes_of_me(Member{.rank = group->rank(), .n_ranks = group->n_ranks()});
  group->note(call.operation, bytes, call.fate, took_ns);
  return code;
}

// The forms of a call: the program waits for it, or holds a request. What a call means is the same in all of them.
//
//   template <class Form> int broadcast(const Form& form, void* buffer, ...) { return form({...}, [&](...) {...}); }
template <class Native>
struct Blocking {
  const char* name;
  Native native;
  template <class Describe>
  int operator()(Call call, const Describe& describe) const {
    call.name = name;
    return run(call, native, describe);
  }
  template <class Bytes>
  int operator()(const Watched& call, const Bytes& bytes_of_me) const {
    return watch(call, name, CallCheck::Waits::yes, native, bytes_of_me);
  }
};
template <class Native>
Blocking(const char*, Native) -> Blocking<Native>;

template <class Native>
struct Nonblocking {
  const char* name;
  MPI_Request* request;
  Native native;
  template <class Describe>
  int operator()(Call call, const Describe& describe) const {
    call.name = name;
    return begin(call, request, native, describe);
  }
  template <class Bytes>
  int operator()(const Watched& call, const Bytes& bytes_of_me) const {
    return watch(call, name, CallCheck::Waits::no, native, bytes_of_me);
  }
};
template <class Native>
Nonblocking(const char*, MPI_Request*, Native) -> Nonblocking<Native>;

#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
#define ECO_HAS_LARGE_COUNTS 1
#endif

#define ECO_ENTRY extern "C" __attribute__((visibility("default")))

// The entries of one call, with its parameters and arguments in parentheses; ECO_BOTH_FORMS makes the nonblocking one too.
//
//   ECO_BOTH_FORMS(Bcast, bcast, broadcast, _c, (void* buffer, ...), (buffer, ...))
#define ECO_LIST(...) __VA_ARGS__
#define ECO_BLOCKING_FORM(Name, function, suffix, parameters, arguments)                     \
  ECO_ENTRY __attribute__((hot)) int eco_wrap_MPI_##Name##suffix parameters noexcept {       \
    return eco::preload::function(                                                           \
        eco::preload::Blocking{"MPI_" #Name, [&] { return PMPI_##Name##suffix arguments; }}, \
        ECO_LIST arguments);                                                                 \
  }
// Parameters that many have in common.
#define ECO_TWO_SIDES(Count) \
  const void *in, Count in_count, MPI_Datatype in_type, void *out, Count out_count, MPI_Datatype out_type
#define ECO_BOTH_FORMS(Name, name, function, suffix, parameters, arguments) \
  ECO_BLOCKING_FORM(Name, function, suffix, parameters, arguments)          \
  ECO_NONBLOCKING_FORM(name, function, suffix, parameters, arguments)
#define ECO_NONBLOCKING_FORM(name, function, suffix, parameters, arguments)                           \
  ECO_ENTRY int eco_wrap_MPI_I##name##suffix(ECO_LIST parameters, MPI_Request* request) noexcept {    \
    return eco::preload::function(                                                                    \
        eco::preload::Nonblocking{"MPI_I" #name, request,                                             \
                                  [&] { return PMPI_I##name##suffix(ECO_LIST arguments, request); }}, \
        ECO_LIST arguments);                                                                          \
  }

}  // namespace eco::preload
