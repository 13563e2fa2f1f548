// Allgather around late ranks (waves.h): everybody's block goes straight to the root, which passes it on at once, piece by piece
// in the order in which they come.
//
//   messages   a block from every rank to the root; down one tree of all, others_last() of the first wave, a stream of pieces,
//              each with whose it is. No piece is held up by one that has not come
//   model      the root's link in and the links down carry all blocks once, at the same time; of whoever is late one block is left
//              for the others, where a static ring has all of them left behind it. Every byte is copied once more, at the root
//              and where it arrives
//   waits      everybody for the last; whoever comes before a late rank in the tree until that has all
//   order      none (data movement)
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "eco/late/wave_blocks.h"

namespace eco::late {

class WaveAllgather final : public WaveBlocks {
 public:
  // Scratch of scratch_bytes().
  WaveAllgather(const coll::CommonProblem& problem, const algo::Tree& tree, int rank,
                const exec::Buffers& buffers, std::span<std::byte> scratch, Pieces pieces, double patience_s);

  static std::size_t scratch_bytes(const coll::CommonProblem& problem, Pieces pieces);

 private:
  enum What : std::uint32_t { kUpIn = WaveSource::kFirstFreeNote, kUpOut };

  void begin() override;
  void enter_wave(const algo::Tree& wave) override;
  void on_note(const Note& note) override;
  bool has_ended() const override;
  void pass_on(int rank, std::size_t piece);
  void put_in_place();
  std::span<std::byte> place_of(int rank, std::size_t piece) const;
  std::span<std::byte> next_record() const {
    return stream_.subspan(n_records_ * record_bytes_, record_bytes_);
  }

  algo::Segments pieces_of_block_;
  std::size_t record_bytes_;     // a piece and whose it is
  std::span<std::byte> stream_;  // all records, in the order in which pieces come to the root
  std::size_t n_records_ = 0;    // of the stream: at the root written by now, at others read
  std::vector<Inflow> blocks_;   // of the root, by rank; its own is none
  std::optional<Outflow> own_;   // of all but the root
  std::optional<Flow> down_;
};

}  // namespace eco::late
