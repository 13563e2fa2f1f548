// Scatter in waves (waves.h): the blocks of those who are there go down the wave's tree, each stream in the order of
// algo/scatter.cc; whoever is late gets its own from the root.
//
//   waits      the root until all have come; an early rank for nobody but those above it
//   order      none (data movement)
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "eco/algo/patterns/stream.h"
#include "eco/coll/problem.h"
#include "eco/exec/executor.h"
#include "eco/late/waves.h"

namespace eco::late {

class WaveScatter final : public WaveSource {
 public:
  // Buffers as a schedule's; scratch of problem.bytes. All of it outlives this.
  WaveScatter(const coll::CommonProblem& problem, const algo::Tree& tree, int rank,
              const exec::Buffers& buffers, std::span<std::byte> scratch, Pieces pieces, double patience_s);

 private:
  enum What : std::uint32_t { kDownIn = WaveSource::kFirstFreeNote, kDownOut };

  void begin() override;
  void enter_wave(const algo::Tree& wave, const algo::Tree& all) override;
  void on_note(const Note& note) override;
  bool has_ended() const override;
  std::span<const std::byte> blocks_of(const algo::Stream& stream, const algo::Stream::Part& part);
  void advance();

  std::size_t block_;
  exec::Buffers buffers_;
  std::span<std::byte> scratch_;
  Pieces pieces_;
  std::size_t n_apart_ = 0;  // bytes of scratch, at the root
  algo::Stream stream_;      // of all but the root
  std::optional<Inflow> blocks_;
  std::vector<Outflow> below_;
};

}  // namespace eco::late
