#include "eco/late/wave_scatter.h"

#include <algorithm>

#include "eco/late/channels.h"

namespace eco::late {

void WaveScatter::begin() {
  if (is_root()) std::ranges::copy(block_of(rank(), buffers().input), buffers().output.begin());
}

void WaveScatter::enter_wave(const algo::Tree& wave) {
  const algo::Stream stream = algo::stream_of(wave, rank(), algo::Own::last);
  if (!is_root()) {
    stream_ = stream;
    const bool is_leaf = stream.parts.empty();
    const auto memory = blocks(is_leaf ? buffers().output : scratch(), 0, stream.ranks.size());
    blocks_.emplace(wave.parent[static_cast<std::size_t>(rank())], Flow::kChannel, memory, cut(memory),
                    Note{kDownIn});
    blocks_->post(book_);
  }
  for (const algo::Stream::Part& part : stream.parts) {
    const Note note{kDownOut, static_cast<int>(below_.size())};
    const std::span<const std::byte> leaving = stream_to(stream, part);
    below_.emplace_back(part.child, Flow::kChannel, leaving, cut(leaving), window(), note);
    if (is_root()) below_.back().offer(book_, leaving.size());
  }
}

// A child's stream, in one piece.
std::span<const std::byte> WaveScatter::stream_to(const algo::Stream& stream,
                                                  const algo::Stream::Part& part) {
  if (!is_root()) return blocks(scratch(), part.begin, part.count);
  if (algo::is_run(stream, part)) {
    const auto first = static_cast<std::size_t>(stream.ranks[part.begin]);
    return blocks(buffers().input, first, part.count);
  }
  const std::span<std::byte> sorted = apart(part.count);
  for (std::size_t i = 0; i < part.count; ++i) {
    const int of = stream.ranks[part.begin + i];
    std::ranges::copy(block_of(of, buffers().input), blocks(sorted, i).begin());
  }
  return sorted;
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
    const std::size_t begin = bytes_of(stream_.parts[i].begin);
    if (here > begin) below_[i].offer(book_, here - begin);
  }
  if (blocks_->has_all() && !stream_.parts.empty())
    std::ranges::copy(blocks(scratch(), stream_.own), buffers().output.begin());
}

bool WaveScatter::has_ended() const { return (is_root() || blocks_->has_all()) && all_sent(below_); }

}  // namespace eco::late
