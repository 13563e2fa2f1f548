#include "eco/late/proving.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>

#include "eco/base/errors.h"
#include "eco/coll/meaning.h"
#include "eco/late/play.h"

namespace eco::late {
namespace {

using coll::Collective;
using coll::CommonProblem;

std::byte content(int rank, std::size_t i) {
  return static_cast<std::byte>((i * 7 + static_cast<std::size_t>(rank) * 29 + 3) & 0xff);
}
constexpr std::byte kUntouched{0xEE};
constexpr double kPatience_s = 0.001;  // over at any time, in a play

// Of bytes, modulo 256: the same in every order.
void add(void*, const void* in, void* inout, std::size_t bytes) {
  const auto* from = static_cast<const std::uint8_t*>(in);
  auto* to = static_cast<std::uint8_t*>(inout);
  for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::uint8_t>(to[i] + from[i]);
}

// What one rank brings and should have in the end, and what it has in its hands meanwhile.
struct Hands {
  std::vector<std::byte> brought;
  std::vector<std::byte> expected;
  std::vector<std::byte> input;
  std::vector<std::byte> output;
  std::vector<std::byte> scratch;
};

// One way that a collective can form, over all ways in which its ranks can come.
class Case {
 public:
  Case(Plan plan, const CommonProblem& problem, const algo::Tree& tree, Pieces pieces,
       std::vector<int> trusted, bool in_place, std::string what)
      : form_(plan, problem, tree, pieces, kPatience_s, std::move(trusted)),
        problem_(problem),
        in_place_(in_place),
        what_(std::move(what)),
        hands_(tree.parent.size()) {
    for (int rank = 0; rank < problem.n_ranks; ++rank) {
      Hands& hands = hands_[static_cast<std::size_t>(rank)];
      hands.brought = input_of(rank);
      hands.expected = expected_of(rank);
    }
  }

  // `drive` moves the ranks; its description is for a fault.
  void play(std::uint64_t seed, const std::function<void(Play&)>& drive, Proof& proof,
            const std::function<std::string()>& describe) {
    std::vector<std::unique_ptr<ScheduleSource>> sources;
    std::vector<ScheduleSource*> pointers;
    for (int rank = 0; rank < problem_.n_ranks; ++rank) {
      const exec::Buffers buffers = fill(rank);
      sources.push_back(
          form_.source(rank, buffers, hands_[static_cast<std::size_t>(rank)].scratch, Form::Trust::yes));
      pointers.push_back(sources.back().get());
    }
    Play play(pointers, seed);
    drive(play);
    ++proof.n_plays;
    std::string fault = play.fault();
    for (int rank = 0; rank < problem_.n_ranks && fault.empty(); ++rank) fault = what_is_wrong(rank);
    if (!fault.empty() && proof.faults.size() < Proof::kMostFaults)
      proof.faults.push_back(what_ + ", " + describe() + ": " + fault);
  }

 private:
  // What a rank brings: of a broadcast the root's message.
  std::vector<std::byte> input_of(int rank) const {
    const bool brings_message = problem_.collective == Collective::broadcast && rank == problem_.root;
    std::vector<std::byte> input(brings_message ? problem_.bytes : coll::input_bytes(problem_, rank));
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = content(rank, i);
    return input;
  }

  std::vector<std::byte> expected_of(int rank) const {
    std::vector<std::byte> expected(coll::output_bytes(problem_, rank), kUntouched);
    for (const coll::Part& part : coll::meaning(problem_, rank)) {
      for (std::size_t i = 0; i < part.bytes; ++i) {
        expected[part.offset + i] = {};
        for (int from = part.first; from <= part.last; ++from) {
          const std::byte one = content(from, part.input_offset + i);
          add(nullptr, &one, &expected[part.offset + i], 1);
        }
      }
    }
    return expected;
  }

  exec::Buffers fill(int rank) {
    Hands& hands = hands_[static_cast<std::size_t>(rank)];
    const bool begins_as_input =
        in_place_ || (problem_.collective == Collective::broadcast && rank == problem_.root);
    hands.input = hands.brought;
    hands.output.assign(hands.expected.size(), kUntouched);
    if (begins_as_input) hands.output = hands.input;
    hands.scratch.assign(form_.scratch_bytes(), kUntouched);
    return {.input = hands.input,
            .output = hands.output,
            .input_is_output = in_place_,
            .combine = {.function = add}};
  }

  std::string what_is_wrong(int rank) const {
    const Hands& hands = hands_[static_cast<std::size_t>(rank)];
    const auto wrong = std::mismatch(hands.expected.begin(), hands.expected.end(), hands.output.begin());
    if (wrong.first != hands.expected.end()) {
      return "rank " + std::to_string(rank) + " has a wrong byte at " +
             std::to_string(wrong.first - hands.expected.begin());
    }
    return hands.input == hands.brought ? "" : "rank " + std::to_string(rank) + " has lost what it brought";
  }

  Form form_;
  CommonProblem problem_;
  bool in_place_;
  std::string what_;
  std::vector<Hands> hands_;
};

void play_all_orders(Case& of, int n_ranks, std::uint64_t seed, Proof& proof) {
  std::vector<int> order(static_cast<std::size_t>(n_ranks));
  std::iota(order.begin(), order.end(), 0);
  std::size_t n_gaps = 1;
  for (int i = 1; i < n_ranks; ++i) n_gaps *= 3;
  do {
    for (std::size_t gaps = 0; gaps < n_gaps; ++gaps) {
      const auto drive = [&](Play& play) {
        std::size_t rest = gaps;
        for (const int rank : order) {
          play.enter(rank);
          if (rest % 3 == 1) play.settle();
          if (rest % 3 == 2) play.settle_patiently();
          rest /= 3;
        }
        play.to_the_end();
      };
      of.play(seed + gaps, drive, proof, [&] {
        std::string text = "arrivals";
        for (const int rank : order) text += " " + std::to_string(rank);
        return text + ", gaps " + std::to_string(gaps);
      });
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

// Nobody, everybody, all leaves, those and who has only leaves below it, every second leaf: of what can send to them unasked.
std::vector<std::vector<int>> who_may_be_trusted(const ProofTask& task, const algo::Tree& tree) {
  std::set<std::vector<int>> sets{{}};
  if (task.plan == Plan::mended && task.collective == Collective::broadcast) {
    std::vector<int> all;
    for (int rank = 0; rank < task.n_ranks; ++rank) {
      if (rank != tree.root) all.push_back(rank);
    }
    const auto children = [&](int rank) { return tree.children[static_cast<std::size_t>(rank)]; };
    const auto is_leaf = [&](int rank) { return children(rank).empty(); };
    const auto are_leaves = [&](int rank) {
      const std::vector<int> below = children(rank);
      return std::all_of(below.begin(), below.end(), is_leaf);
    };
    const auto add = [&](const auto& is_one) {
      std::vector<int> some;
      std::copy_if(all.begin(), all.end(), std::back_inserter(some), is_one);
      sets.insert(std::move(some));
    };
    add([](int) { return true; });
    add(is_leaf);
    add(are_leaves);
    add([&](int rank) { return is_leaf(rank) && rank % 2 == 1; });
  }
  return {sets.begin(), sets.end()};
}

}  // namespace

Proof prove(const ProofTask& task) {
  const std::string collective(coll::name(task.collective));
  if (task.n_ranks < 1)
    throw InvalidArgument("a " + collective + " of " + std::to_string(task.n_ranks) + " ranks");
  if (!forms(task.plan, task.collective))
    throw InvalidArgument("no " + collective + " forms by " + std::string(name(task.plan)));
  // Of a message, of a vector, which has more pieces than places for them, or of a block.
  const bool reduces = coll::is_reduction(task.collective);
  const std::size_t n_bytes = reduces ? 75 : 23;
  struct Shaped {
    algo::Shape shape;
    int degree;
  };
  constexpr std::array<Shaped, 5> kShapes = {{{algo::Shape::chain, 1},
                                              {algo::Shape::binomial, 2},
                                              {algo::Shape::flat, 2},
                                              {algo::Shape::kary, 2},
                                              {algo::Shape::kary, 3}}};
  constexpr std::array<Pieces, 3> kPieces = {{{0, 0}, {10, 0}, {8, 1}}};
  Proof proof;
  for (const auto& [shape, degree] : kShapes) {
    for (const int root : std::set<int>{0, task.n_ranks / 2}) {
      const algo::Tree tree =
          algo::shape_tree(shape, algo::rank_ring(task.n_ranks, root), task.n_ranks, degree);
      CommonProblem problem{
          .collective = task.collective, .n_ranks = task.n_ranks, .root = root, .exact = true};
      if (reduces) problem.element_bytes = 3;
      problem.bytes = n_bytes * coll::n_blocks(problem);
      for (const std::vector<int>& trusted : who_may_be_trusted(task, tree)) {
        for (const Pieces& pieces : kPieces) {
          ++proof.n_cases;
          // Allreduces alone have sources that work in place.
          const bool in_place = task.collective == Collective::allreduce && proof.n_cases % 2 == 0;
          std::string what =
              collective + ", " + std::string(name(task.plan)) + " over " + std::string(algo::name(shape)) +
              " of " + std::to_string(task.n_ranks) + " from " + std::to_string(root) + ", segments of " +
              std::to_string(pieces.segment_bytes) + ", window " + std::to_string(pieces.window) + ", " +
              std::to_string(trusted.size()) + " trusted" + (in_place ? ", in place" : "");
          Case of(task.plan, problem, tree, pieces, trusted, in_place, std::move(what));
          if (task.all_orders) play_all_orders(of, task.n_ranks, task.seed, proof);
          for (std::size_t i = 0; i < task.n_random; ++i) {
            const std::uint64_t seed = task.seed * 1000003 + i;
            of.play(
                seed, [](Play& play) { play.to_the_end(); }, proof,
                [&] { return "seed " + std::to_string(seed); });
          }
        }
      }
    }
  }
  return proof;
}

}  // namespace eco::late
