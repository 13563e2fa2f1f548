#include "eco/late/proving.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <set>

#include "eco/base/errors.h"
#include "eco/late/play.h"

namespace eco::late {
namespace {

std::byte content(std::size_t i) { return static_cast<std::byte>((i * 7 + 3) & 0xff); }
constexpr std::byte kUntouched{0xEE};

// One way that a broadcast can be made, over all ways in which its ranks can come.
class Case {
 public:
  Case(Plan plan, const algo::Tree& tree, std::size_t bytes, Pieces pieces, std::string what)
      : broadcasts_(plan, tree, pieces), root_(tree.root), bytes_(bytes), what_(std::move(what)) {
    messages_.resize(tree.parent.size());
  }

  // `drive` moves the ranks; its description is for a fault.
  void play(std::uint64_t seed, const std::function<void(Play&)>& drive, Proof& proof,
            const std::function<std::string()>& describe) {
    std::vector<std::unique_ptr<ScheduleSource>> sources;
    std::vector<ScheduleSource*> pointers;
    for (std::size_t rank = 0; rank < messages_.size(); ++rank) {
      messages_[rank].assign(bytes_, kUntouched);
      if (static_cast<int>(rank) == root_) {
        for (std::size_t i = 0; i < bytes_; ++i) messages_[rank][i] = content(i);
      }
      sources.push_back(broadcasts_.source(static_cast<int>(rank), messages_[rank]));
      pointers.push_back(sources.back().get());
    }
    Play play(pointers, seed);
    drive(play);
    ++proof.n_plays;
    std::string fault = play.fault();
    for (std::size_t rank = 0; rank < messages_.size() && fault.empty(); ++rank) {
      for (std::size_t i = 0; i < bytes_; ++i) {
        if (messages_[rank][i] == content(i)) continue;
        fault = "rank " + std::to_string(rank) + " has a wrong byte at " + std::to_string(i);
        break;
      }
    }
    if (!fault.empty() && proof.faults.size() < Proof::kMostFaults)
      proof.faults.push_back(what_ + ", " + describe() + ": " + fault);
  }

 private:
  Broadcasts broadcasts_;
  int root_;
  std::size_t bytes_;
  std::string what_;
  std::vector<std::vector<std::byte>> messages_;
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

}  // namespace

Proof prove(const ProofTask& task) {
  if (task.n_ranks < 1) throw InvalidArgument("a broadcast of " + std::to_string(task.n_ranks) + " ranks");
  constexpr std::size_t kBytes = 23;
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
      for (const Pieces& pieces : kPieces) {
        ++proof.n_cases;
        std::string what = std::string(name(task.plan)) + " over " + std::string(algo::name(shape)) + " of " +
                           std::to_string(task.n_ranks) + " from " + std::to_string(root) + ", segments of " +
                           std::to_string(pieces.segment_bytes) + ", window " + std::to_string(pieces.window);
        Case of(task.plan, tree, kBytes, pieces, std::move(what));
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
  return proof;
}

}  // namespace eco::late
