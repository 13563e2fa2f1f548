#include "eco/late/wave_allgather.h"

#include <algorithm>
#include <cstring>

#include "eco/late/channels.h"

namespace eco::late {
namespace {

// Stands before each piece in the stream.
struct Label {
  std::uint32_t rank;
  std::uint32_t piece;
};

// A piece and its label make up a segment of the recipe's.
algo::Segments cut_block(const coll::CommonProblem& problem, Pieces pieces) {
  const std::size_t segment = pieces.segment_bytes;
  const std::size_t piece = segment > sizeof(Label) ? segment - sizeof(Label) : std::min<std::size_t>(segment, 1);
  return {problem.block_bytes(), 1, piece};
}

}  // namespace

std::size_t WaveAllgather::scratch_bytes(const coll::CommonProblem& problem, Pieces pieces) {
  const auto n_ranks = static_cast<std::size_t>(problem.n_ranks);
  return problem.bytes + n_ranks * cut_block(problem, pieces).count() * sizeof(Label);
}

WaveAllgather::WaveAllgather(const coll::CommonProblem& problem, const algo::Tree& tree, int rank,
                             const exec::Buffers& buffers, std::span<std::byte> scratch, Pieces pieces,
                             double patience_s)
    : WaveBlocks(problem, tree, rank, buffers, scratch, pieces, patience_s),
      pieces_of_block_(cut_block(problem, pieces)),
      down_pieces_{pieces_of_block_.bytes() + sizeof(Label), pieces.window},
      stream_(scratch.first(scratch_bytes(problem, pieces))) {}

void WaveAllgather::begin() {
  std::ranges::copy(blocks(buffers().input, 0), block_of(rank(), buffers().output).begin());
  if (!is_root()) {
    own_.emplace(root(), kUpChannel, blocks(buffers().input, 0), pieces_of_block_, window(), Note{kUpOut});
    own_->offer(book_, bytes_of(1));
    return;
  }
  for (int from = 0; from < static_cast<int>(n_ranks()); ++from) {
    blocks_.emplace_back(from, kUpChannel, block_of(from, buffers().output), pieces_of_block_, Note{kUpIn, from});
    if (from != rank()) blocks_.back().post(book_);
  }
  for (std::size_t piece = 0; piece < pieces_of_block_.count(); ++piece) pass_on(rank(), piece);
}

void WaveAllgather::enter_wave(const algo::Tree&) {
  if (down_) return;
  const algo::Tree all = tree_of_all();
  down_.emplace(stream_, down_pieces_, false);
  if (!is_root()) down_->receive(book_, all.parent[static_cast<std::size_t>(rank())], 0);
  for (const int child : all.children[static_cast<std::size_t>(rank())]) down_->feed(book_, child, 0);
  if (is_root()) down_->have_bytes(book_, n_bytes_);
}

void WaveAllgather::on_note(const Note& note) {
  if (down_ && down_->on_done(book_, note)) {
    if (!is_root()) put_in_place();
    return;
  }
  if (note.what == kUpOut) {
    own_->on_done(book_);
    return;
  }
  Inflow& block = blocks_[static_cast<std::size_t>(note.who)];
  block.on_done(book_, note.index);
  for (; block.has_next(); block.take(book_)) pass_on(note.who, block.n_taken());
}

// Of the root, which has the piece in its place.
void WaveAllgather::pass_on(int of, std::size_t piece) {
  const Label label{static_cast<std::uint32_t>(of), static_cast<std::uint32_t>(piece)};
  const sched::Region region = pieces_of_block_.region(sched::Buffer::output, piece);
  std::memcpy(stream_.data() + n_bytes_, &label, sizeof label);
  std::ranges::copy(block_of(of, buffers().output).subspan(region.offset, region.bytes),
                    stream_.subspan(n_bytes_ + sizeof label).begin());
  n_bytes_ += sizeof label + region.bytes;
  if (down_) down_->have_bytes(book_, n_bytes_);
}

void WaveAllgather::put_in_place() {
  const std::size_t here = down_->bytes_here();
  while (n_bytes_ + sizeof(Label) <= here) {
    Label label;
    std::memcpy(&label, stream_.data() + n_bytes_, sizeof label);
    const sched::Region region = pieces_of_block_.region(sched::Buffer::output, label.piece);
    const std::size_t end = n_bytes_ + sizeof label + region.bytes;
    if (end > here) return;
    std::ranges::copy(stream_.subspan(n_bytes_ + sizeof label, region.bytes),
                      block_of(static_cast<int>(label.rank), buffers().output).begin() +
                          static_cast<std::ptrdiff_t>(region.offset));
    n_bytes_ = end;
  }
}

bool WaveAllgather::has_ended() const {
  if (own_ && !own_->all_sent()) return false;
  if (is_root() && n_bytes_ < stream_.size()) return false;
  return !down_ || (down_->has_all() && down_->all_sent());
}

}  // namespace eco::late
