#include "preload/backend/call.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "eco/base/json_file.h"
#include "preload/backend/binding.h"
#include "preload/backend/datatypes.h"
#include "preload/backend/world.h"

namespace eco::preload {
namespace {

using coll::Collective;

// More bytes pass: MPI's int counts end here, in packing and in point-to-point alike.
constexpr std::size_t kMostBytes = INT_MAX;
// So do these, except in an allreduce, which never packs. A rank whose type is not dense, or that works in place, keeps
// a second buffer of that size; which ranks do is not known to the others, so the bytes decide for all.
constexpr std::size_t kMostPackedBytes = std::size_t{256} << 20;
constexpr const char* kNative = "native";

// Of the last call that this thread was served, until it asks. A copy: its recipe may be gone by then.
struct LastServed {
  std::array<char, 64> algorithm{};
  bool is_new = false;

  void note(std::string_view name) {
    const std::size_t length = std::min(name.size(), algorithm.size() - 1);
    algorithm[name.copy(algorithm.data(), length)] = '\0';
    is_new = true;
  }
};
thread_local LastServed last_served;

std::size_t most_bytes(Collective collective) {
  return collective == Collective::allreduce ? kMostBytes : kMostPackedBytes;
}

// Lets go of what a large call packed; not after a failure, since the library may still write there.
struct PackedIsFree {
  Group& group;
  ~PackedIsFree() {
    if (!group.poisoned()) group.packed().let_go_of_much();
  }
};

template <class Run>
Attempt serve(Group& group, const coll::CommonProblem& problem, const algo::Recipe& recipe, const Run& run) {
  const char* const algorithm = recipe.algorithm.c_str();
  last_served.note(recipe.algorithm);
  bool ran = false;
  try {
    ran = run();
    if (!ran) {
      std::fprintf(
          stderr,
          "eco: rank %d: %zu bytes by %s failed half-way, so the communicator is lost; whether ranks "
          "called something else ECO_CHECK=communication tells\n",
          world().rank, problem.bytes, algorithm);
    }
  } catch (const std::exception& error) {
    // On this rank alone: the others are in the call already.
    std::fprintf(stderr, "eco: cannot serve %zu bytes by %s (%s); the communicator is lost\n", problem.bytes,
                 algorithm, error.what());
  }
  if (!ran) group.poison();
  const int code = ran ? MPI_SUCCESS : refuse(group.comm());
  return {.served = true, .code = code, .bytes = problem.bytes, .fate = Fate::served};
}

// A call that has ended when `run` has.
template <class Run>
Attempt serve_to_the_end(Session& session, Group& group, const coll::CommonProblem& problem,
                         const algo::Recipe& recipe, const Run& run) {
  const std::uint64_t began = now_ns();
  const Attempt attempt = serve(group, problem, recipe, run);
  if (attempt.code != MPI_SUCCESS) return attempt;
  const std::uint64_t took_ns = now_ns() - began;
  session.counters().served(problem.collective, problem.bytes, took_ns, group.planned_gain(problem),
                            group.last_crossing(), group.last_formed());
  group.note_served(problem.collective, problem.bytes, took_ns);
  return attempt;
}

// What all ranks come to alike, and then whether this one's arguments are right.
struct Decision {
  const algo::Recipe* recipe = nullptr;  // null: the library's, and `fate` says why
  bool refused = false;                  // the communicator is lost
  Fate fate = Fate::arguments;
  coll::CommonProblem problem{};
  std::optional<Reduction> reduction{};
};
enum class Armed { if_due, already };

// What the call is, by arguments that all ranks have alike; a fate if no recipe could serve it.
ECO_ON_EVERY_CALL std::optional<Fate> pose(const Group& group, const Call& call, const Sides& sides,
                                           Decision& decision) {
  coll::CommonProblem& problem = decision.problem;
  problem.collective = call.collective;
  problem.n_ranks = group.n_ranks();
  problem.root = coll::is_rooted(call.collective) ? call.root : 0;
  if (!has_bytes(sides.whole)) return Fate::arguments;
  problem.bytes = total_bytes(sides.whole.count, sides.whole.type);
  if (!group.may_serve()) return Fate::communicator;
  if (problem.bytes == 0) return Fate::empty;
  std::size_t n_at_once = 1;
  if (coll::follows_graph(call.collective)) {
    problem.neighbors = group.neighbors();
    n_at_once = problem.neighbors->largest_degree();
  }
  if (problem.bytes > most_bytes(call.collective) / n_at_once) return Fate::too_large;
  if (!sides.pieces.empty() && !pads_little(sides.pieces)) return Fate::uneven;
  if (coll::is_reduction(call.collective)) {
    decision.reduction = find_reduction(sides.whole.type, call.op);
    if (!decision.reduction) return Fate::reduction;
    problem.element_bytes = coll::grain_of(problem, decision.reduction->element_bytes);
    problem.commutative = decision.reduction->commutative;
    problem.exact = decision.reduction->exact || group.any_order();
  }
  return std::nullopt;
}

ECO_ON_EVERY_CALL Decision decide(Group& group, const Call& call, const Sides& sides, Armed armed) noexcept {
  Decision decision;
  const auto passes = [&](Fate fate) {
    decision.fate = fate;
    return decision;
  };
  if (const std::optional<Fate> fate = pose(group, call, sides, decision)) return passes(*fate);
  const coll::CommonProblem& problem = decision.problem;
  const auto refused = [&] { return decision.refused = group.poisoned(); };
  if (refused()) return decision;
  if (armed == Armed::if_due) {
    group.prepare(problem);
    if (refused()) return decision;
  } else if (decision.reduction && !decision.reduction->predefined) {
    return passes(Fate::reduction);  // the program may free its own operation while the call is under way
  } else if (!group.has_lane()) {
    return passes(group.armed() != nullptr ? Fate::nonblocking : group.fate_of(problem));
  } else if (!group.knows(problem)) {
    group.wish_for(problem);
  }
  const algo::Recipe* const recipe =
      armed == Armed::if_due ? group.recipe_of_this_call(problem) : group.recipe(problem);
  if (recipe == nullptr) return passes(group.fate_of(problem));
  if (armed == Armed::already && !group.runs_beside(*recipe)) return passes(Fate::nonblocking);
  // From here on this rank's own arguments: if they are wrong, what follows is between its program and the library.
  if (are_sound(sides, problem, group.rank()) && !is_refused_alias(sides, call.collective))
    decision.recipe = recipe;
  return decision;
}

// Of a call that ECO does not serve.
ECO_ON_EVERY_CALL Attempt unserved(const Call& call, const Decision& decision) {
  if (!decision.refused) {
    Attempt attempt{.bytes = decision.problem.bytes, .fate = decision.fate};
    if (decision.fate == Fate::waiting) attempt.unarmed = decision.problem;
    return attempt;
  }
  return {.served = true, .code = refuse(call.comm), .bytes = decision.problem.bytes};
}

// Would every call with the same handles and lengths come to the same, as long as the plan does? Not where it is still to be
// learned: then ranks whose types keep nothing would learn it without this one. Calls that are compared go all the way.
bool may_be_kept(const Session& session, const Group& group, const coll::CommonProblem& problem, Fate fate) {
  if (session.checks().is_open()) return false;
  const bool learns = problem.collective != Collective::barrier;
  return fate == Fate::communicator || (fate == Fate::plan && (!learns || group.knows(problem)));
}
bool may_be_kept(const Session& session, const Group& group, const Decision& decision, const Sides& sides) {
  return !decision.refused && may_be_kept(session, group, decision.problem, decision.fate) &&
         is_predefined(sides.whole.type) && (!decision.reduction || decision.reduction->predefined);
}

std::uint64_t digest_of(const algo::Recipe* recipe) {
  return recipe != nullptr ? std::stoull(base::digest(recipe->text()), nullptr, 16) : 0;
}

// Blocks of one length, and what a rank without pieces has, make no digest: where blocks lie is each rank's business.
std::uint64_t digest_of(const Pieces& pieces, MPI_Datatype type) {
  std::string lengths;
  bool alike = true;
  const long long longest = pieces.longest();
  pieces.for_each([&](int, const Pieces::Piece& piece) {
    alike = alike && piece.count == longest;
    lengths += std::to_string(total_bytes(piece.count, type)) + ' ';
  });
  return alike ? 0 : std::stoull(base::digest(lengths), nullptr, 16);
}

runtime::CallRecord record_of(const Group& group, const Call& call, const Sides* sides) {
  using runtime::CallRecord;
  CallRecord record(call.name);
  if (coll::is_rooted(call.collective)) record.root = call.root;
  Decision decision;
  if (call.collective == Collective::barrier) {
    decision.problem = {.collective = Collective::barrier, .n_ranks = group.n_ranks()};
    record.recipe = digest_of(group.recipe(decision.problem));
    return record;
  }
  if (sides == nullptr || !has_bytes(sides->whole)) {
    record.arguments = CallRecord::Arguments::refused;
    return record;
  }
  const std::optional<Fate> fate = pose(group, call, *sides, decision);
  const coll::CommonProblem& problem = decision.problem;
  if (!fate) record.recipe = digest_of(group.recipe(problem));
  record.bytes =
      sides->pieces.empty() ? problem.bytes : total_bytes(sides->pieces.total(), sides->whole.type);
  record.lengths = digest_of(sides->pieces, sides->whole.type);
  if (!are_sound(*sides, problem, group.rank())) record.arguments = CallRecord::Arguments::unfit;
  if (coll::is_reduction(call.collective)) {
    record.operation = CallRecord::to_name(op_name(call.op));
    record.element = CallRecord::to_name(type_name(sides->whole.type));
  }
  return record;
}

template <class Record>
std::optional<int> compare(Session& session, Group& group, const char* name, CallCheck::Waits waits,
                           const Record& record) noexcept {
  try {
    const std::shared_ptr<CallCheck>& check = group.check();
    if (check == nullptr) return std::nullopt;
    if (check->agrees(name, record(), waits)) {
      if (check->is_pending()) session.background().carry_beside();
      return std::nullopt;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "eco: cannot compare a call (%s); its communicator is lost\n", error.what());
  }
  group.poison();
  return refuse(group.comm());
}

}  // namespace

int refuse(MPI_Comm comm) {
  PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

std::optional<int> disagreement(Session& session, Group& group, const Call& call, const Sides* sides,
                                CallCheck::Waits waits) noexcept {
  return compare(session, group, call.name, waits, [&] { return record_of(group, call, sides); });
}

std::optional<int> disagreement(Session& session, Group* group, const char* name, int root) noexcept {
  if (group == nullptr || !session.checks().is_open()) return std::nullopt;
  return compare(session, *group, name, CallCheck::Waits::yes, [&] {
    runtime::CallRecord record(name);
    record.root = root;
    return record;
  });
}

Attempt try_to_serve(Session& session, Group& group, const Call& call, const Sides& sides) noexcept {
  Decision decision = decide(group, call, sides, Armed::if_due);
  if (decision.recipe == nullptr) {
    if (may_be_kept(session, group, decision, sides))
      group.keep_passed(call, {decision.problem.bytes, decision.fate});
    return unserved(call, decision);
  }
  const coll::CommonProblem& problem = decision.problem;
  return serve_to_the_end(session, group, problem, *decision.recipe, [&] {
    const PackedIsFree packed_is_free{group};
    Binding binding(group.packed(), problem, group.rank(), sides);
    exec::Buffers buffers;
    if (decision.reduction) buffers.combine = decision.reduction->combine();
    return binding.before(buffers) && group.run(problem, *decision.recipe, buffers) && binding.after();
  });
}

Attempt try_to_begin(Session& session, Group& group, const Call& call, const Sides& sides,
                     MPI_Request* request) noexcept {
  const std::uint64_t began = now_ns();
  const Decision decision = decide(group, call, sides, Armed::already);
  if (decision.recipe == nullptr) return unserved(call, decision);
  const coll::CommonProblem& problem = decision.problem;
  return serve(group, problem, *decision.recipe, [&] {
    BackgroundCall beside{
        .problem = problem, .schedule = nullptr, .sides = sides, .reduction = decision.reduction};
    group.schedule(beside, *decision.recipe);
    beside.counted.took_ns = now_ns() - began;
    session.background().begin(group.lane(), std::move(beside), request);
    return true;
  });
}

Attempt refused(const Group& group) { return {.served = true, .code = refuse(group.comm())}; }

Attempt try_to_serve_barrier(Session& session, Group& group, const Call& call) noexcept {
  if (!group.poisoned()) group.prepare_in_barrier();
  if (group.poisoned()) return refused(group);
  const coll::CommonProblem problem{.collective = Collective::barrier, .n_ranks = group.n_ranks()};
  const algo::Recipe* recipe = group.recipe(problem);
  if (recipe == nullptr) {
    group.note_missed(problem);
    const Fate fate = group.fate_of(problem);
    if (may_be_kept(session, group, problem, fate)) group.keep_passed(call, {.fate = fate});
    return {.fate = fate};
  }
  return serve_to_the_end(session, group, problem, *recipe, [&] { return group.run(problem, *recipe, {}); });
}

const char* take_last_algorithm() {
  return std::exchange(last_served.is_new, false) ? last_served.algorithm.data() : kNative;
}

}  // namespace eco::preload
