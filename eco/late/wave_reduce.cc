#include "eco/late/wave_reduce.h"

#include <algorithm>

#include "eco/late/channels.h"

namespace eco::late {
namespace {

// Pieces of one child that may lie there until they are combined. An uncut vector is cut, so that they need little room.
constexpr std::size_t kPlaces = 8;
constexpr std::size_t kLongestPiece = std::size_t{64} << 10;

std::size_t wanted_bytes(Pieces pieces) {
  return pieces.segment_bytes == 0 ? kLongestPiece : pieces.segment_bytes;
}

Pieces whole_elements(const coll::CommonProblem& problem, Pieces pieces) {
  const std::size_t element = problem.element_bytes;
  pieces.segment_bytes = std::max(wanted_bytes(pieces) / element * element, element);
  return pieces;
}

algo::Segments cut(const coll::CommonProblem& problem, Pieces pieces) {
  return {problem.bytes, problem.element_bytes, whole_elements(problem, pieces).segment_bytes};
}

}  // namespace

std::size_t WaveReduce::scratch_bytes(const coll::CommonProblem& problem, Pieces pieces) {
  const auto n_others = static_cast<std::size_t>(problem.n_ranks - 1);
  const std::size_t longest = std::max(wanted_bytes(pieces), kLongestElement);
  return problem.bytes + n_others * kPlaces * std::min(problem.bytes, longest);
}

WaveReduce::WaveReduce(const coll::CommonProblem& problem, const algo::Tree& tree, int rank,
                       const exec::Buffers& buffers, std::span<std::byte> scratch, Pieces pieces,
                       double patience_s)
    : WaveSource(tree, rank, patience_s),
      to_all_(problem.collective == coll::Collective::allreduce),
      buffers_(buffers),
      scratch_(scratch),
      segments_(cut(problem, pieces)),
      pieces_(whole_elements(problem, pieces)) {
  if (buffers_.input_is_output) buffers_.input = buffers_.output;
  buffers_.input = buffers_.input.first(problem.bytes);
  sum_ = is_root() ? buffers_.output.first(problem.bytes) : scratch_.first(problem.bytes);
}

void WaveReduce::begin() {
  const bool is_there = is_root() && buffers_.input_is_output;
  if (!is_there) std::copy(buffers_.input.begin(), buffers_.input.end(), sum_.begin());
}

void WaveReduce::enter_wave(const algo::Tree& wave) {
  if (to_all_ && !down_) {
    const algo::Tree all = tree_of_all();
    down_.emplace(buffers_.output.first(sum_.size()), pieces_, false);
    if (!is_root()) down_->receive(book_, all.parent[static_cast<std::size_t>(rank())], 0);
    for (const int child : all.children[static_cast<std::size_t>(rank())]) down_->feed(book_, child, 0);
  }
  const std::size_t room = kPlaces * segments_.bytes();
  const std::span<std::byte> places = scratch_.subspan(sum_.size());
  for (const int child : wave.children[static_cast<std::size_t>(rank())]) {
    const std::size_t index = below_.size();
    below_.emplace_back(child, kUpChannel, places.subspan(index * room, room), segments_,
                        Note{kUpIn, static_cast<int>(index)});
    below_.back().post(book_);
  }
  if (!is_root()) {
    above_.emplace(wave.parent[static_cast<std::size_t>(rank())], kUpChannel, sum_, segments_, pieces_.window,
                   Note{kUpOut});
  }
  advance();
}

void WaveReduce::on_note(const Note& note) {
  if (down_ && down_->on_done(book_, note)) return;
  if (note.what == kUpOut) {
    above_->on_done(book_);
    return;
  }
  Inflow& child = below_[static_cast<std::size_t>(note.who)];
  child.on_done(book_, note.index);
  while (child.has_next()) {
    const std::span<const std::byte> piece = child.next();
    buffers_.combine.function(buffers_.combine.context, piece.data(),
                              sum_.data() + segments_.begin_of(child.n_taken()), piece.size());
    child.take(book_);
  }
  advance();
}

// What everybody below has added to goes on: upwards, or, where that is everybody at all, down to all.
void WaveReduce::advance() {
  std::size_t n = segments_.count();
  for (const Inflow& child : below_) n = std::min(n, child.n_taken());
  if (!is_root()) {
    above_->offer(book_, segments_.begin_of(n));
  } else if (to_all_ && all_have_come()) {
    down_->have(book_, n);
  }
}

// From below, of the waves so far.
bool WaveReduce::has_taken_all() const {
  return std::all_of(below_.begin(), below_.end(),
                     [&](const Inflow& child) { return child.n_taken() == segments_.count(); });
}

bool WaveReduce::has_ended() const {
  if (!has_taken_all() || (above_ && !above_->all_sent())) return false;
  return !down_ || (down_->has_all() && down_->all_sent());
}

}  // namespace eco::late
