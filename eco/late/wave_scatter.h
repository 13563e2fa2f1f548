// Scatter in waves (waves.h): the blocks of those who are there go down the wave's tree, each stream in the order of
// algo/scatter.cc; whoever is late gets its own from the root.
//
//   waits      the root until all have come; an early rank for nobody but those above it
//   order      none (data movement)
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "eco/late/wave_blocks.h"

namespace eco::late {

class WaveScatter final : public WaveBlocks {
 public:
  using WaveBlocks::WaveBlocks;

 private:
  enum What : std::uint32_t { kDownIn = WaveSource::kFirstFreeNote, kDownOut };

  void begin() override;
  void enter_wave(const algo::Tree& wave) override;
  void on_note(const Note& note) override;
  bool has_ended() const override;
  std::span<const std::byte> stream_to(const algo::Stream& stream, const algo::Stream::Part& part);
  void advance();

  algo::Stream stream_;  // of all but the root
  std::optional<Inflow> blocks_;
  std::vector<Outflow> below_;
};

}  // namespace eco::late
