// Gather in waves (waves.h): the blocks of those who are there come up the wave's tree, each stream in the order of
// algo/gather.cc; whoever is late sends its own to the root.
//
//   waits      an early rank for those below it in its own wave
//   order      none (data movement)
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "eco/algo/patterns/stream.h"
#include "eco/coll/problem.h"
#include "eco/exec/executor.h"
#include "eco/late/waves.h"

namespace eco::late {

class WaveGather final : public WaveSource {
 public:
  // Buffers as a schedule's; scratch of problem.bytes. All of it outlives this.
  WaveGather(const coll::CommonProblem& problem, const algo::Tree& tree, int rank,
             const exec::Buffers& buffers, std::span<std::byte> scratch, Pieces pieces, double patience_s);

 private:
  enum What : std::uint32_t { kUpIn = WaveSource::kFirstFreeNote, kUpOut };

  // A child's stream.
  struct Branch {
    Inflow blocks;
    std::vector<int> ranks;            // whose blocks they are
    std::span<const std::byte> apart;  // at the root: where they lie if they are not in their places
  };

  void begin() override;
  void enter_wave(const algo::Tree& wave, const algo::Tree& all) override;
  void on_note(const Note& note) override;
  bool has_ended() const override;
  void receive(const algo::Stream& stream, const algo::Stream::Part& part, std::span<std::byte> memory);
  void put_in_place(const Branch& branch);
  void advance();

  std::size_t block_;
  exec::Buffers buffers_;
  std::span<std::byte> scratch_;
  Pieces pieces_;
  std::size_t n_apart_ = 0;  // bytes of scratch, at the root
  std::deque<Branch> branches_;
  std::vector<Outflow> above_;  // one, of all but the root
};

}  // namespace eco::late
