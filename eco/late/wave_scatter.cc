#include "eco/late/wave_scatter.h"

#include <algorithm>

#include "eco/late/channels.h"

namespace eco::late {

WaveScatter::WaveScatter(const coll::CommonProblem& problem, const algo::Tree& tree, int rank,
                         const exec::Buffers& buffers, std::span<std::byte> scratch, Pieces pieces,
                         double patience_s)
    : WaveSource(tree, rank, patience_s),
      block_(problem.block_bytes()),
      buffers_(buffers),
      scratch_(scratch),
      pieces_(pieces) {}

void WaveScatter::begin() {
  if (!is_root()) return;
  const std::span<const std::byte> own =
      buffers_.input.subspan(static_cast<std::size_t>(rank()) * block_, block_);
  std::copy(own.begin(), own.end(), buffers_.output.begin());
}

void WaveScatter::enter_wave(const algo::Tree& wave, const algo::Tree&) {
  const algo::Stream stream = algo::stream_of(wave, rank(), algo::Own::last);
  if (!is_root()) {
    stream_ = stream;
    const std::size_t bytes = stream.ranks.size() * block_;
    const std::span<std::byte> memory = stream.parts.empty() ? buffers_.output : scratch_;
    blocks_.emplace(wave.parent[static_cast<std::size_t>(rank())], Flow::kChannel, memory.first(bytes),
                    algo::Segments(bytes, 1, pieces_.segment_bytes), Note{kDownIn});
    blocks_->post(book_);
  }
  for (const algo::Stream::Part& part : stream.parts) {
    const Note note{kDownOut, static_cast<int>(below_.size())};
    const std::span<const std::byte> blocks = blocks_of(stream, part);
    below_.emplace_back(part.child, Flow::kChannel, blocks,
                        algo::Segments(blocks.size(), 1, pieces_.segment_bytes), pieces_.window, note);
    if (is_root()) below_.back().offer(book_, blocks.size());
  }
}

// A child's stream, in one piece.
std::span<const std::byte> WaveScatter::blocks_of(const algo::Stream& stream,
                                                  const algo::Stream::Part& part) {
  const std::size_t bytes = part.count * block_;
  if (!is_root()) return scratch_.subspan(part.begin * block_, bytes);
  const auto place = [&](std::size_t i) {
    return static_cast<std::size_t>(stream.ranks[part.begin + i]) * block_;
  };
  if (algo::is_run(stream, part)) return buffers_.input.subspan(place(0), bytes);
  const std::span<std::byte> apart = scratch_.subspan(n_apart_, bytes);
  n_apart_ += bytes;
  for (std::size_t i = 0; i < part.count; ++i) {
    const std::span<const std::byte> block = buffers_.input.subspan(place(i), block_);
    std::copy(block.begin(), block.end(), apart.subspan(i * block_).begin());
  }
  return apart;
}

void WaveScatter::on_note(const Note& note) {
  if (note.what == kDownOut) {
    below_[static_cast<std::size_t>(note.who)].on_done(book_);
    return;
  }
  blocks_->on_done(book_, note.index);
  advance();
}

void WaveScatter::advance() {
  const std::size_t here = blocks_->bytes_here();
  for (std::size_t i = 0; i < below_.size(); ++i) {
    const std::size_t begin = stream_.parts[i].begin * block_;
    if (here > begin) below_[i].offer(book_, here - begin);
  }
  if (!blocks_->has_all() || stream_.parts.empty()) return;
  const std::span<const std::byte> own = scratch_.subspan(stream_.own * block_, block_);
  std::copy(own.begin(), own.end(), buffers_.output.begin());
}

bool WaveScatter::has_ended() const {
  return (is_root() || blocks_->has_all()) &&
         std::all_of(below_.begin(), below_.end(), [](const Outflow& child) { return child.all_sent(); });
}

}  // namespace eco::late
