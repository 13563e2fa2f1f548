// Gather in waves (waves.h): the blocks of those who are there come up the wave's tree, each stream in the order of
// algo/gather.cc; whoever is late sends its own to the root.
//
//   waits      an early rank for those below it in its own wave
//   order      none (data movement)
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "eco/late/wave_blocks.h"

namespace eco::late {

class WaveGather final : public WaveBlocks {
 public:
  using WaveBlocks::WaveBlocks;

 private:
  enum What : std::uint32_t { kUpIn = WaveSource::kFirstFreeNote, kUpOut };

  // A child's stream.
  struct Branch {
    Inflow blocks;
    std::vector<int> ranks;            // whose blocks they are
    std::span<const std::byte> apart;  // at the root: where they lie if they are not in their places
  };

  void begin() override;
  void enter_wave(const algo::Tree& wave) override;
  void on_note(const Note& note) override;
  bool has_ended() const override;
  void receive(const algo::Stream& stream, const algo::Stream::Part& part, std::span<std::byte> memory,
               bool is_apart);
  void put_in_place(const Branch& branch);
  void advance();

  std::deque<Branch> branches_;
  std::optional<Outflow> above_;  // of all but the root
};

}  // namespace eco::late
