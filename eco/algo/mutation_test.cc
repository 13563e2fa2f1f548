// A verifier is worth what it catches. The schedules of every algorithm are broken in small ways, one operation at a
// time: each mutant is either refused, or it is run on adversarial loopbacks and must still give the right results on
// all ranks. Such mutants are alike in meaning, for one of these reasons:
//
//   swapped, moved to the end    the operations have nothing to do with each other
//   done twice                   a copy made twice
//   another buffer               the same bytes lie there too: a rank's own block in its input and in its result
//   messages or combinations     nobody needs them: scan/leaders brings every vector to every rank, which combines those
//   lost, or of other bytes      before it; the last total of exscan/doubling
//
// eco/sched/verify_test.cc has one schedule by hand for every fault; here it is faults in schedules that are really used.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <random>

#include "eco/algo/algorithm.h"
#include "eco/algo/testing.h"
#include "eco/sched/verify.h"

namespace eco::algo {
namespace {

using coll::Collective;
using coll::CommonProblem;
using sched::Buffer;
using sched::Op;
using sched::OpKind;
using sched::Region;
using sched::Schedule;

constexpr int kRanks = 5;

// One rank's program as a list that can be changed.
struct Program {
  std::vector<Op> ops;
  std::size_t scratch_bytes = 0;
  int n_channels = 1;
  sched::SendWindow window;
  std::vector<coll::RankGroup> groups;
};
using Programs = std::vector<Program>;

Programs programs_of(const std::vector<Schedule>& schedules) {
  Programs programs;
  for (const Schedule& schedule : schedules) {
    Program program{{}, schedule.scratch_bytes, schedule.n_channels, schedule.window, schedule.groups};
    sched::Cursor cursor(schedule);
    while (const Op* op = cursor.next()) program.ops.push_back(*op);
    programs.push_back(std::move(program));
  }
  return programs;
}

std::vector<Schedule> schedules_of(const Programs& programs) {
  std::vector<Schedule> schedules;
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    const Program& program = programs[rank];
    Schedule schedule(static_cast<int>(rank), static_cast<int>(programs.size()));
    schedule.scratch_bytes = program.scratch_bytes;
    schedule.n_channels = program.n_channels;
    schedule.window = program.window;
    schedule.groups = program.groups;
    schedule.once([ops = program.ops](std::size_t, sched::Emitter& e) {
      for (const Op& op : ops) e.emit(op);
    });
    schedules.push_back(std::move(schedule));
  }
  return schedules;
}

struct Spot {
  Programs& programs;
  std::size_t rank;
  std::size_t at;
  std::size_t element;
  std::mt19937_64& random;

  std::vector<Op>& ops() const { return programs[rank].ops; }
  Op& op() const { return ops()[at]; }
  bool is_message() const { return op().kind == OpKind::send || op().kind == OpKind::recv; }
  Region& region() const { return op().kind == OpKind::recv ? op().target : op().source; }
  // The next operation of this rank like this one, on the same or another channel, if there is one.
  Op* next(OpKind kind, int peer, bool same_channel) const {
    for (std::size_t i = at + 1; i < ops().size(); ++i) {
      Op& other = ops()[i];
      if (other.kind == kind && other.peer == peer && (other.channel == op().channel) == same_channel)
        return &other;
    }
    return nullptr;
  }
};

// One way to break an operation. False where it does not apply.
struct Mutation {
  const char* name;
  std::function<bool(const Spot&)> apply;
};

template <class T>
bool exchange(T& a, T& b) {
  std::swap(a, b);
  return true;
}

bool shift(Region& region, std::size_t element, bool up) {
  if (region.bytes == 0 || (!up && region.offset < element)) return false;
  region.offset = up ? region.offset + element : region.offset - element;
  return true;
}

const std::vector<Mutation>& mutations() {
  static const std::vector<Mutation> all = {
      {"operation lost",
       [](const Spot& p) {
         return p.ops().erase(p.ops().begin() + static_cast<std::ptrdiff_t>(p.at)), true;
       }},
      {"message lost on both sides",
       [](const Spot& p) {
         if (p.op().kind != OpKind::send) return false;
         std::size_t number = 0;  // in its channel
         for (std::size_t i = 0; i < p.at; ++i) {
           const Op& other = p.ops()[i];
           if (other.kind == OpKind::send && other.peer == p.op().peer && other.channel == p.op().channel)
             ++number;
         }
         auto& theirs = p.programs[static_cast<std::size_t>(p.op().peer)].ops;
         for (std::size_t i = 0; i < theirs.size(); ++i) {
           const Op& other = theirs[i];
           if (other.kind != OpKind::recv || other.peer != static_cast<int>(p.rank) ||
               other.channel != p.op().channel)
             continue;
           if (number-- > 0) continue;
           theirs.erase(theirs.begin() + static_cast<std::ptrdiff_t>(i));
           p.ops().erase(p.ops().begin() + static_cast<std::ptrdiff_t>(p.at));
           return true;
         }
         return false;
       }},
      {"done twice",
       [](const Spot& p) {
         const Op op = p.op();
         return p.ops().insert(p.ops().begin() + static_cast<std::ptrdiff_t>(p.at), op), true;
       }},
      {"swapped with the next",
       [](const Spot& p) { return p.at + 1 < p.ops().size() && exchange(p.op(), p.ops()[p.at + 1]); }},
      {"moved to the end",
       [](const Spot& p) {
         if (p.at + 2 >= p.ops().size()) return false;
         std::rotate(p.ops().begin() + static_cast<std::ptrdiff_t>(p.at),
                     p.ops().begin() + static_cast<std::ptrdiff_t>(p.at) + 1, p.ops().end());
         return true;
       }},
      {"to another rank",
       [](const Spot& p) {
         if (!p.is_message()) return false;
         const int before = p.op().peer;
         const std::size_t n_ranks = p.programs.size();
         p.op().peer = static_cast<int>(
             (static_cast<std::uint64_t>(before) + 1 + p.random() % (n_ranks - 1)) % n_ranks);
         return p.op().peer != before;
       }},
      {"another region read",
       [](const Spot& p) {
         return p.op().kind != OpKind::recv && shift(p.op().source, p.element, p.random() % 2 == 0);
       }},
      {"another region written",
       [](const Spot& p) {
         return p.op().kind != OpKind::send && shift(p.op().target, p.element, p.random() % 2 == 0);
       }},
      {"a region too short",
       [](const Spot& p) {
         if (p.region().bytes < p.element || !p.is_message()) return false;
         p.region().bytes -= p.element;
         return true;
       }},
      {"another buffer read",
       [](const Spot& p) {
         if (p.op().kind == OpKind::recv) return false;
         const Buffer before = p.op().source.buffer;
         p.op().source.buffer = std::array{Buffer::input, Buffer::output, Buffer::scratch}[p.random() % 3];
         return p.op().source.buffer != before;
       }},
      {"another buffer written",
       [](const Spot& p) {
         if (p.op().kind == OpKind::send) return false;
         const Buffer before = p.op().target.buffer;
         p.op().target.buffer = before == Buffer::output ? Buffer::scratch : Buffer::output;
         return true;
       }},
      {"operands swapped",
       [](const Spot& p) { return p.op().kind == OpKind::reduce && exchange(p.op().source, p.op().target); }},
      {"copied, not combined",
       [](const Spot& p) {
         if (p.op().kind != OpKind::reduce) return false;
         p.op().kind = OpKind::copy;
         return true;
       }},
      {"combined, not copied",
       [](const Spot& p) {
         if (p.op().kind != OpKind::copy) return false;
         p.op().kind = OpKind::reduce;
         return true;
       }},
      {"messages of a channel exchanged",
       [](const Spot& p) {
         if (!p.is_message()) return false;
         Op* other = p.next(p.op().kind, p.op().peer, true);
         return other != nullptr && exchange(*other, p.op());
       }},
      {"channels exchanged",
       [](const Spot& p) {
         if (!p.is_message()) return false;
         Op* other = p.next(p.op().kind, p.op().peer, false);
         return other != nullptr && exchange(other->channel, p.op().channel);
       }},
      {"another root",
       [](const Spot& p) {
         if (p.op().kind != OpKind::group || !coll::is_rooted(p.op().collective)) return false;
         const auto& group = p.programs[p.rank].groups[static_cast<std::size_t>(p.op().channel)].ranks;
         p.op().peer = (p.op().peer + 1) % static_cast<int>(group.size());
         return true;
       }},
      {"on another channel",
       [](const Spot& p) {
         if (!p.is_message() || p.programs[p.rank].n_channels < 2) return false;
         p.op().channel = (p.op().channel + 1) % p.programs[p.rank].n_channels;
         return true;
       }},
  };
  return all;
}

struct Count {
  int made = 0;
  int refused = 0;
  int alike = 0;
};

// Small enough to break everywhere, long enough for three segments or more and a shorter last one.
CommonProblem problem_of(const Algorithm& algorithm, bool commutative, int n_ranks = kRanks) {
  CommonProblem problem{.collective = algorithm.collective, .n_ranks = n_ranks, .element_bytes = 8};
  problem.neighbors = proof_graphs(algorithm.collective, n_ranks).back();
  if (coll::is_rooted(algorithm.collective)) problem.root = 1;
  problem.commutative = commutative;
  if (algorithm.collective == Collective::barrier) {
    problem.element_bytes = 1;
    return problem;
  }
  problem.bytes = (coll::is_blocked(algorithm.collective) ? 3 * static_cast<std::size_t>(n_ranks) : 7) *
                  problem.element_bytes;
  return problem;
}

// "" if it gives what the collective has to give, on every loopback, and on all ranks by the same expression.
std::string wrong_when_run(const CommonProblem& problem, const std::vector<Schedule>& schedules) {
  const auto operation = testing::operation_for(problem);
  const auto check = testing::is_expected(problem, operation);
  const std::vector<transport::LoopbackOptions> loopbacks = {
      {}, {.synchronous = true}, {.seed = 5}, {.seed = 6}};
  for (const transport::LoopbackOptions& options : loopbacks) {
    const std::string wrong = testing::run_schedules(problem, schedules, operation, check, options);
    if (!wrong.empty()) return wrong;
  }
  if (problem.collective != Collective::allreduce) return "";
  std::vector<std::vector<std::byte>> results(static_cast<std::size_t>(problem.n_ranks));
  testing::run_schedules(problem, schedules, testing::sum_that_rounds(),
                         [&](int rank, const std::vector<std::byte>& output) -> std::string {
                           results[static_cast<std::size_t>(rank)] = output;
                           return "";
                         });
  for (const auto& result : results) {
    if (result != results[0]) return "ranks computed by different expressions";
  }
  return "";
}

// At most so many of a mutation for each algorithm, chosen by seed.
constexpr std::size_t kMostOfAMutation = 12;

class Mutants {
 public:
  void of(const Algorithm& algorithm, bool commutative) {
    // Some serve an even number of ranks only, some hosts with several NICs.
    for (const auto& [network, n_ranks] :
         {std::pair("2+2+1", 5), std::pair("5", 5), std::pair("2+2", 4), std::pair("5 rail_mbit=400", 5)}) {
      const auto view = testing::scattered_view(network, n_ranks);
      const CommonProblem problem = problem_of(algorithm, commutative, n_ranks);
      if (algorithm.why_not(problem, view)) continue;
      const std::vector<Params> candidates = algorithm.candidates(problem, view);
      of_cut({algorithm.name, candidates.back()}, problem, view);
      // With native parts and without.
      if (!(stand_in({algorithm.name, candidates.back()}).params == candidates.back()))
        of_cut({algorithm.name, candidates.front()}, problem, view);
      return;
    }
    FAIL() << algorithm.name << " serves none of the views";
  }

  std::map<std::string, Count> counts;
  std::map<std::string, int> reasons;  // first words of the verifier's

 private:
  void of_cut(Recipe recipe, const CommonProblem& problem, const net::GroupView& view) {
    Recipe cut = recipe;
    cut.params.segment_bytes = problem.bytes > 0 ? 2 * problem.element_bytes : 0;
    if (!why_not(cut, problem, view)) recipe = cut;
    of(recipe, problem, view);
  }

  void of(const Recipe& recipe, const CommonProblem& problem, const net::GroupView& view) {
    const std::vector<Schedule> schedules = build_all(recipe, problem, view);
    ASSERT_FALSE(sched::verify(problem, schedules)) << recipe.text();
    ASSERT_EQ(wrong_when_run(problem, schedules), "") << recipe.text();
    const Programs right = programs_of(schedules);
    for (const Mutation& mutation : mutations()) {
      std::vector<std::pair<std::size_t, std::size_t>> places;
      for (std::size_t rank = 0; rank < right.size(); ++rank) {
        for (std::size_t at = 0; at < right[rank].ops.size(); ++at) places.emplace_back(rank, at);
      }
      std::shuffle(places.begin(), places.end(), random_);
      std::size_t made = 0;
      for (const auto& [rank, at] : places) {
        Programs broken = right;
        if (!mutation.apply({broken, rank, at, problem.element_bytes, random_})) continue;
        judge(mutation, recipe, problem, schedules_of(broken), rank, at);
        if (++made == kMostOfAMutation) break;
      }
    }
  }

  void judge(const Mutation& mutation, const Recipe& recipe, const CommonProblem& problem,
             const std::vector<Schedule>& mutant, std::size_t rank, std::size_t at) {
    Count& count = counts[mutation.name];
    ++count.made;
    if (const auto fault = sched::verify(problem, mutant)) {
      ++count.refused;
      for (const char* reason : kReasons) {
        if (fault->what.find(reason) != std::string::npos) ++reasons[reason];
      }
      return;
    }
    ++count.alike;
    EXPECT_EQ(wrong_when_run(problem, mutant), "") << mutation.name << ", rank " << rank << " operation "
                                                   << at << ", accepted by the verifier: " << recipe.text();
  }

 public:
  // (A message that nobody receives stands still as soon as sends are synchronous, which is tried first.)
  static constexpr std::array kReasons = {"stands still",
                                          "takes a contribution twice",
                                          "lacks a contribution",
                                          "not combined in rank",
                                          "another expression",
                                          "holds another element",
                                          "never set",
                                          "combines different",
                                          "receives",
                                          "outside its buffer",
                                          "writes to the input",
                                          "is not rank",
                                          "another member means",
                                          "awaits rank"};

 private:
  std::mt19937_64 random_{20};
};

TEST(Mutants, AreRefusedUnlessTheyAreAlike) {
  Mutants mutants;
  for (const Algorithm& algorithm : registry()) {
    mutants.of(algorithm, true);
    if (!coll::is_reduction(algorithm.collective) || algorithm.collective == Collective::barrier) continue;
    const auto view = testing::scattered_view("2+2+1", kRanks);
    if (!algorithm.why_not(problem_of(algorithm, false), view)) mutants.of(algorithm, false);
  }
  Count all;
  for (const Mutation& mutation : mutations()) {
    const Count& count = mutants.counts[mutation.name];
    std::printf("  %-34s %5d made %5d refused %5d alike in meaning\n", mutation.name, count.made,
                count.refused, count.alike);
    EXPECT_GT(count.refused, 0) << mutation.name;
    all.made += count.made;
    all.refused += count.refused;
    all.alike += count.alike;
  }
  std::printf("  %-34s %5d made %5d refused %5d alike in meaning\n", "all", all.made, all.refused, all.alike);
  RecordProperty("mutants", all.made);
  RecordProperty("refused", all.refused);
  RecordProperty("alike", all.alike);
  // Every kind of fault that the verifier knows was met by some mutant.
  for (const char* reason : Mutants::kReasons) EXPECT_GT(mutants.reasons[reason], 0) << reason;
}

}  // namespace
}  // namespace eco::algo
