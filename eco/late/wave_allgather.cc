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

// Shorter pieces would be labels more than anything else.
constexpr std::size_t kShortest = 64;

// Pieces of one length, but for what the last one lacks; with its label a piece makes up a segment of the recipe's.
algo::Segments cut_block(const coll::CommonProblem& problem, Pieces pieces) {
  const std::size_t block = problem.block_bytes();
  const std::size_t segment = pieces.segment_bytes;
  const std::size_t longest = segment < kShortest + sizeof(Label) ? segment : segment - sizeof(Label);
  const std::size_t n_pieces = algo::Segments(block, 1, longest).count();
  return {block, 1, (block + n_pieces - 1) / n_pieces};
}

// Receives posted ahead at the root, for each of so many.
std::size_t most_ahead(std::size_t n_others) {
  return std::max<std::size_t>(2, kMostUnderWay / std::max<std::size_t>(1, n_others));
}

}  // namespace

std::size_t WaveAllgather::scratch_bytes(const coll::CommonProblem& problem, Pieces pieces) {
  const algo::Segments cut = cut_block(problem, pieces);
  return static_cast<std::size_t>(problem.n_ranks) * cut.count() * (sizeof(Label) + cut.bytes());
}

WaveAllgather::WaveAllgather(const coll::CommonProblem& problem, const algo::Tree& tree, int rank,
                             const exec::Buffers& buffers, std::span<std::byte> scratch, Pieces pieces,
                             double patience_s)
    : WaveBlocks(problem, tree, rank, buffers, scratch, pieces, patience_s),
      pieces_of_block_(cut_block(problem, pieces)),
      record_bytes_(sizeof(Label) + pieces_of_block_.bytes()),
      stream_(scratch.first(scratch_bytes(problem, pieces))) {}

void WaveAllgather::begin() {
  std::ranges::copy(blocks(buffers().input, 0), block_of(rank(), buffers().output).begin());
  if (!is_root()) {
    own_.emplace(root(), kUpChannel, blocks(buffers().input, 0), pieces_of_block_, window(), Note{kUpOut});
    own_->offer(book_, bytes_of(1));
    return;
  }
  for (int from = 0; from < static_cast<int>(n_ranks()); ++from) {
    blocks_.emplace_back(from, kUpChannel, block_of(from, buffers().output), pieces_of_block_,
                         Note{kUpIn, from}, 0, most_ahead(n_ranks() - 1));
    if (from != rank()) blocks_.back().post(book_);
  }
  for (std::size_t piece = 0; piece < pieces_of_block_.count(); ++piece) pass_on(rank(), piece);
}

void WaveAllgather::enter_wave(const algo::Tree&) {
  if (down_) return;
  const algo::Tree all = tree_of_all();
  down_.emplace(stream_, Pieces{record_bytes_, window()}, false);
  if (!is_root()) down_->receive(book_, all.parent[static_cast<std::size_t>(rank())], 0);
  for (const int child : all.children[static_cast<std::size_t>(rank())]) down_->feed(book_, child, 0);
  if (is_root()) down_->have(book_, n_records_);
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

std::span<std::byte> WaveAllgather::place_of(int rank, std::size_t piece) const {
  const sched::Region region = pieces_of_block_.region(sched::Buffer::output, piece);
  return block_of(rank, buffers().output).subspan(region.offset, region.bytes);
}

// Of the root, which has the piece in its place.
void WaveAllgather::pass_on(int of, std::size_t piece) {
  const std::span<std::byte> record = next_record();
  const Label label{static_cast<std::uint32_t>(of), static_cast<std::uint32_t>(piece)};
  std::memcpy(record.data(), &label, sizeof label);
  std::ranges::copy(place_of(of, piece), record.subspan(sizeof label).begin());
  ++n_records_;
  if (down_) down_->have(book_, n_records_);
}

void WaveAllgather::put_in_place() {
  for (; n_records_ < down_->n_here(); ++n_records_) {
    const std::span<std::byte> record = next_record();
    Label label;
    std::memcpy(&label, record.data(), sizeof label);
    const std::span<std::byte> place = place_of(static_cast<int>(label.rank), label.piece);
    std::ranges::copy(record.subspan(sizeof label, place.size()), place.begin());
  }
}

bool WaveAllgather::has_ended() const {
  if (own_ && !own_->all_sent()) return false;
  if (is_root() && n_records_ * record_bytes_ < stream_.size()) return false;
  return !down_ || (down_->has_all() && down_->all_sent());
}

}  // namespace eco::late
