// What gather, scatter and allgather in waves share: a block for every rank, and streams of them (of the first two as
// algo/patterns/stream.h orders them).
#pragma once

#include <span>

#include "eco/algo/patterns/stream.h"
#include "eco/coll/problem.h"
#include "eco/exec/executor.h"
#include "eco/late/waves.h"

namespace eco::late {

class WaveBlocks : public WaveSource {
 public:
  // Buffers as a schedule's; scratch of problem.bytes, of an allgather more. All of it outlives this.
  WaveBlocks(const coll::CommonProblem& problem, const algo::Tree& tree, int rank,
             const exec::Buffers& buffers, std::span<std::byte> scratch, Pieces pieces, double patience_s)
      : WaveSource(tree, rank, patience_s),
        block_(problem.block_bytes()),
        buffers_(buffers),
        scratch_(scratch),
        pieces_(pieces) {}

 protected:
  const exec::Buffers& buffers() const { return buffers_; }
  std::span<std::byte> scratch() const { return scratch_; }
  int window() const { return pieces_.window; }
  template <class Byte>
  std::span<Byte> blocks(std::span<Byte> of, std::size_t first, std::size_t count = 1) const {
    return of.subspan(first * block_, count * block_);
  }
  // A rank's block in the root's buffer of all.
  template <class Byte>
  std::span<Byte> block_of(int rank, std::span<Byte> all) const {
    return blocks(all, static_cast<std::size_t>(rank));
  }
  std::size_t bytes_of(std::size_t n_blocks) const { return n_blocks * block_; }
  algo::Segments cut(std::span<const std::byte> stream) const {
    return {stream.size(), 1, pieces_.segment_bytes};
  }
  // At the root, for a stream whose blocks do not lie side by side in its buffer: scratch that no other stream gets.
  std::span<std::byte> apart(std::size_t n_blocks) {
    n_apart_ += n_blocks;
    return blocks(scratch_, n_apart_ - n_blocks, n_blocks);
  }

 private:
  std::size_t block_;
  exec::Buffers buffers_;
  std::span<std::byte> scratch_;
  Pieces pieces_;
  std::size_t n_apart_ = 0;  // blocks
};

}  // namespace eco::late
