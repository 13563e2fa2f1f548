#include "eco/algo/patterns/stream.h"

#include <algorithm>

namespace eco::algo {
namespace {

// In the order of a scatter.
void append_subtree(const Tree& tree, int rank, std::vector<int>& ranks) {
  for (const int child : tree.children[static_cast<std::size_t>(rank)]) append_subtree(tree, child, ranks);
  ranks.push_back(rank);
}

}  // namespace

Stream stream_of(const Tree& tree, int rank, Own own) {
  Stream stream;
  for (const int child : tree.children[static_cast<std::size_t>(rank)]) {
    const std::size_t begin = stream.ranks.size();
    append_subtree(tree, child, stream.ranks);
    stream.parts.push_back({child, begin, stream.ranks.size() - begin});
  }
  stream.own = stream.ranks.size();
  stream.ranks.push_back(rank);
  if (own == Own::last) return stream;
  const std::size_t n = stream.ranks.size();
  std::reverse(stream.ranks.begin(), stream.ranks.end());
  std::reverse(stream.parts.begin(), stream.parts.end());
  for (Stream::Part& part : stream.parts) part.begin = n - part.begin - part.count;
  stream.own = 0;
  return stream;
}

bool is_run(const Stream& stream, const Stream::Part& part) {
  for (std::size_t i = part.begin + 1; i < part.begin + part.count; ++i) {
    if (stream.ranks[i] != stream.ranks[i - 1] + 1) return false;
  }
  return true;
}

std::vector<ChildPart> child_parts(const Stream& stream, std::size_t block_bytes, std::size_t segment_bytes,
                                   sched::Buffer whole) {
  std::vector<ChildPart> parts;
  for (const Stream::Part& part : stream.parts) {
    const bool straight = whole != sched::Buffer::scratch && is_run(stream, part);
    const std::size_t first = straight ? static_cast<std::size_t>(stream.ranks[part.begin]) : part.begin;
    const sched::Region place{straight ? whole : sched::Buffer::scratch, first * block_bytes,
                              part.count * block_bytes};
    parts.push_back({part.child, place, Segments(place.bytes, 1, segment_bytes)});
  }
  return parts;
}

std::size_t most_segments(const std::vector<ChildPart>& parts) {
  std::size_t most = 0;
  for (const ChildPart& part : parts) most = std::max(most, part.segments.count());
  return most;
}

}  // namespace eco::algo
