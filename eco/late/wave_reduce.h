// Reduce and allreduce in waves (waves.h): those who are there combine first, whoever is late adds its own at the root.
//
//   messages   the wave's tree upwards, segment by segment; of an allreduce a tree of all downwards, in which nobody waits
//              behind a late rank, each segment as soon as everybody's is in it
//   waits      reduce: an early rank for those below it in its own wave; allreduce: everybody for the last
//   order      by arrival: only where elements combine to the same bytes in every order (CommonProblem::exact)
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "eco/coll/problem.h"
#include "eco/exec/executor.h"
#include "eco/late/waves.h"

namespace eco::late {

class WaveReduce final : public WaveSource {
 public:
  // Buffers as a schedule's; scratch of scratch_bytes(). All of it outlives this.
  WaveReduce(const coll::CommonProblem& problem, const algo::Tree& tree, int rank,
             const exec::Buffers& buffers, std::span<std::byte> scratch, Pieces pieces, double patience_s);

  static bool fits(const coll::CommonProblem& problem) {
    return problem.exact && problem.commutative && problem.element_bytes <= kLongestElement;
  }
  // No less for a shorter vector or other elements.
  static std::size_t scratch_bytes(const coll::CommonProblem& problem, Pieces pieces);
  static constexpr std::size_t kLongestElement = 1024;

 private:
  enum What : std::uint32_t { kUpIn = WaveSource::kFirstFreeNote, kUpOut };

  void begin() override;
  void enter_wave(const algo::Tree& wave) override;
  void on_note(const Note& note) override;
  bool has_ended() const override;
  bool may_form_another() const override { return has_taken_all(); }
  bool has_taken_all() const;
  void advance();

  bool to_all_;
  exec::Buffers buffers_;
  std::span<std::byte> scratch_;
  algo::Segments segments_;
  Pieces pieces_;
  std::span<std::byte> sum_;  // of what is here by now, this rank's own among it
  std::vector<Inflow> below_;
  std::optional<Outflow> above_;  // of all but the root
  std::optional<Flow> down_;      // an allreduce's result
};

}  // namespace eco::late
