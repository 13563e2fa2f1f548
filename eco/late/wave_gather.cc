#include "eco/late/wave_gather.h"

#include <algorithm>

#include "eco/late/channels.h"

namespace eco::late {

WaveGather::WaveGather(const coll::CommonProblem& problem, const algo::Tree& tree, int rank,
                       const exec::Buffers& buffers, std::span<std::byte> scratch, Pieces pieces,
                       double patience_s)
    : WaveSource(tree, rank, patience_s),
      block_(problem.block_bytes()),
      buffers_(buffers),
      scratch_(scratch),
      pieces_(pieces) {}

void WaveGather::begin() {
  if (!is_root()) return;
  const std::span<std::byte> place =
      buffers_.output.subspan(static_cast<std::size_t>(rank()) * block_, block_);
  std::copy_n(buffers_.input.begin(), block_, place.begin());
}

void WaveGather::enter_wave(const algo::Tree& wave, const algo::Tree&) {
  const algo::Stream stream = algo::stream_of(wave, rank(), algo::Own::first);
  for (const algo::Stream::Part& part : stream.parts) {
    const std::size_t bytes = part.count * block_;
    if (!is_root()) {
      receive(stream, part, scratch_.subspan(part.begin * block_, bytes));
    } else if (algo::is_run(stream, part)) {
      const auto first = static_cast<std::size_t>(stream.ranks[part.begin]);
      receive(stream, part, buffers_.output.subspan(first * block_, bytes));
    } else {
      receive(stream, part, scratch_.subspan(n_apart_, bytes));
      branches_.back().apart = scratch_.subspan(n_apart_, bytes);
      n_apart_ += bytes;
    }
  }
  if (is_root()) return;
  const std::size_t bytes = stream.ranks.size() * block_;
  std::span<const std::byte> leaving = buffers_.input.first(block_);
  if (!branches_.empty()) {
    std::copy_n(leaving.begin(), block_, scratch_.begin());
    leaving = scratch_.first(bytes);
  }
  above_.emplace_back(wave.parent[static_cast<std::size_t>(rank())], kUpChannel, leaving,
                      algo::Segments(bytes, 1, pieces_.segment_bytes), pieces_.window, Note{kUpOut});
  advance();
}

void WaveGather::receive(const algo::Stream& stream, const algo::Stream::Part& part,
                         std::span<std::byte> memory) {
  const auto first = stream.ranks.begin() + static_cast<std::ptrdiff_t>(part.begin);
  const Note note{kUpIn, static_cast<int>(branches_.size())};
  branches_.push_back({.blocks = {part.child, kUpChannel, memory,
                                  algo::Segments(memory.size(), 1, pieces_.segment_bytes), note},
                       .ranks = {first, first + static_cast<std::ptrdiff_t>(part.count)},
                       .apart = {}});
  branches_.back().blocks.post(book_);
}

void WaveGather::on_note(const Note& note) {
  if (note.what == kUpOut) {
    above_.front().on_done(book_);
    return;
  }
  Branch& branch = branches_[static_cast<std::size_t>(note.who)];
  branch.blocks.on_done(book_, note.index);
  if (!is_root())
    advance();
  else if (branch.blocks.has_all())
    put_in_place(branch);
}

void WaveGather::put_in_place(const Branch& branch) {
  if (branch.apart.empty()) return;
  for (std::size_t i = 0; i < branch.ranks.size(); ++i) {
    const auto place = static_cast<std::size_t>(branch.ranks[i]) * block_;
    std::copy_n(branch.apart.begin() + static_cast<std::ptrdiff_t>(i * block_), block_,
                buffers_.output.begin() + static_cast<std::ptrdiff_t>(place));
  }
}

void WaveGather::advance() {
  std::size_t bytes = block_;
  for (const Branch& branch : branches_) {
    bytes += branch.blocks.bytes_here();
    if (!branch.blocks.has_all()) break;
  }
  above_.front().offer(book_, bytes);
}

bool WaveGather::has_ended() const {
  return std::all_of(branches_.begin(), branches_.end(),
                     [](const Branch& branch) { return branch.blocks.has_all(); }) &&
         std::all_of(above_.begin(), above_.end(), [](const Outflow& parent) { return parent.all_sent(); });
}

}  // namespace eco::late
