#include "eco/late/wave_gather.h"

#include <algorithm>

#include "eco/late/channels.h"

namespace eco::late {

void WaveGather::begin() {
  if (is_root()) std::ranges::copy(blocks(buffers().input, 0), block_of(rank(), buffers().output).begin());
}

void WaveGather::enter_wave(const algo::Tree& wave) {
  const algo::Stream stream = algo::stream_of(wave, rank(), algo::Own::first);
  for (const algo::Stream::Part& part : stream.parts) {
    if (!is_root()) {
      receive(stream, part, blocks(scratch(), part.begin, part.count), false);
    } else if (algo::is_run(stream, part)) {
      const auto first = static_cast<std::size_t>(stream.ranks[part.begin]);
      receive(stream, part, blocks(buffers().output, first, part.count), false);
    } else {
      receive(stream, part, apart(part.count), true);
    }
  }
  if (is_root()) return;
  std::span<const std::byte> leaving = blocks(buffers().input, 0);
  if (!branches_.empty()) {
    std::ranges::copy(leaving, scratch().begin());
    leaving = blocks(scratch(), 0, stream.ranks.size());
  }
  above_.emplace(wave.parent[static_cast<std::size_t>(rank())], kUpChannel, leaving, cut(leaving), window(),
                 Note{kUpOut});
  advance();
}

void WaveGather::receive(const algo::Stream& stream, const algo::Stream::Part& part,
                         std::span<std::byte> memory, bool is_apart) {
  const auto first = stream.ranks.begin() + static_cast<std::ptrdiff_t>(part.begin);
  const Note note{kUpIn, static_cast<int>(branches_.size())};
  branches_.push_back({.blocks = {part.child, kUpChannel, memory, cut(memory), note},
                       .ranks = {first, first + static_cast<std::ptrdiff_t>(part.count)},
                       .apart = is_apart ? memory : std::span<std::byte>()});
  branches_.back().blocks.post(book_);
}

void WaveGather::on_note(const Note& note) {
  if (note.what == kUpOut) {
    above_->on_done(book_);
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
  for (std::size_t i = 0; i < branch.ranks.size(); ++i)
    std::ranges::copy(blocks(branch.apart, i), block_of(branch.ranks[i], buffers().output).begin());
}

void WaveGather::advance() {
  std::size_t bytes = bytes_of(1);
  for (const Branch& branch : branches_) {
    bytes += branch.blocks.bytes_here();
    if (!branch.blocks.has_all()) break;
  }
  above_->offer(book_, bytes);
}

bool WaveGather::has_ended() const {
  return std::all_of(branches_.begin(), branches_.end(),
                     [](const Branch& branch) { return branch.blocks.has_all(); }) &&
         (!above_ || above_->all_sent());
}

}  // namespace eco::late
