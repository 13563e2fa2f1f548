#include "eco/sched/rank_memory.h"

#include <algorithm>
#include <utility>

namespace eco::sched {

RankMemory::RankMemory(const std::array<std::size_t, 3>& units, std::size_t unit_bytes, bool input_is_output)
    : unit_bytes_(unit_bytes), input_is_output_(input_is_output) {
  for (std::size_t b = 0; b < memories_.size(); ++b) {
    memories_[b].cells.resize(units[b]);
    memories_[b].reads.resize(units[b]);
    memories_[b].writes.resize(units[b]);
  }
}

void RankMemory::clear() {
  for (Memory& memory : memories_) {
    std::fill(memory.cells.begin(), memory.cells.end(), Cell{});
    std::fill(memory.reads.begin(), memory.reads.end(), std::uint16_t{0});
    std::fill(memory.writes.begin(), memory.writes.end(), std::uint16_t{0});
  }
}

void RankMemory::fill(Buffer buffer, Expressions::Tree leaf) {
  std::vector<Cell>& cells = memories_[static_cast<std::size_t>(buffer)].cells;
  for (std::size_t u = 0; u < cells.size(); ++u) cells[u] = {leaf, static_cast<std::uint32_t>(u)};
}

RankMemory::Span RankMemory::locate(const Region& region) {
  const bool moved = region.buffer == Buffer::input && input_is_output_;
  Memory& memory = memories_[static_cast<std::size_t>(moved ? Buffer::output : region.buffer)];
  return {&memory, region.offset / unit_bytes_, (region.offset + region.bytes) / unit_bytes_};
}

std::string RankMemory::why_not_read(const Span& span) {
  if (span.end > span.memory->cells.size()) return "lies outside its buffer";
  for (std::size_t u = span.begin; u < span.end; ++u) {
    if (span.memory->writes[u] > 0) return "reads what a posted receive writes";
    if (span.memory->cells[u].tree == Expressions::kUnset) return "reads what was never set";
  }
  return {};
}

std::string RankMemory::why_not_written(const Region& region, const Span& span) {
  if (region.buffer == Buffer::input && region.bytes > 0) return "writes to the input";
  if (span.end > span.memory->cells.size()) return "lies outside its buffer";
  for (std::size_t u = span.begin; u < span.end; ++u) {
    if (span.memory->writes[u] > 0 || span.memory->reads[u] > 0)
      return "writes what a message under way uses";
  }
  return {};
}

std::string RankMemory::begin_reading(const Region& region, std::vector<Cell>& cells) {
  const Span span = locate(region);
  if (std::string wrong = why_not_read(span); !wrong.empty()) return wrong;
  for (std::size_t u = span.begin; u < span.end; ++u) ++span.memory->reads[u];
  const auto first = span.memory->cells.begin();
  cells.assign(first + static_cast<std::ptrdiff_t>(span.begin),
               first + static_cast<std::ptrdiff_t>(span.end));
  return {};
}

std::string RankMemory::begin_writing(const Region& region) {
  const Span span = locate(region);
  if (std::string wrong = why_not_written(region, span); !wrong.empty()) return wrong;
  for (std::size_t u = span.begin; u < span.end; ++u) ++span.memory->writes[u];
  return {};
}

void RankMemory::end_reading(const Region& region) {
  const Span span = locate(region);
  for (std::size_t u = span.begin; u < span.end; ++u) --span.memory->reads[u];
}

void RankMemory::end_writing(const Region& region, const std::vector<Cell>& cells) {
  const Span span = locate(region);
  for (std::size_t u = span.begin; u < span.end; ++u) {
    --span.memory->writes[u];
    span.memory->cells[u] = cells[u - span.begin];
  }
}

std::string RankMemory::run_local(const Op& op, Expressions& expressions) {
  const Span from = locate(op.source);
  const Span to = locate(op.target);
  if (op.target.buffer == Buffer::input) return "writes to the input";
  if (from.end > from.memory->cells.size() || to.end > to.memory->cells.size())
    return "lies outside its buffer";
  if (from.size() != to.size()) return "has a source and a target whose sizes differ";
  if (std::string wrong = why_not_read(from); !wrong.empty()) return wrong;
  const bool stays = op.kind == OpKind::copy && from.memory == to.memory && from.begin == to.begin;
  if (!stays) {
    if (std::string wrong = why_not_written(op.target, to); !wrong.empty()) return wrong;
  }
  // Neighbouring units mostly combine the same: it is looked up once.
  std::pair<Expressions::Tree, Expressions::Tree> last{Expressions::kUnset, Expressions::kUnset};
  Expressions::Tree combined = Expressions::kUnset;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Cell& left = from.memory->cells[from.begin + i];
    Cell& right = to.memory->cells[to.begin + i];
    if (op.kind == OpKind::copy) {
      right = left;
      continue;
    }
    if (right.tree == Expressions::kUnset) return "combines into what was never set";
    if (left.unit != right.unit) return "combines different elements";
    if (last != std::pair(left.tree, right.tree)) {
      const auto tree = expressions.combine(left.tree, right.tree);
      if (!tree) return "takes a contribution twice";
      last = {left.tree, right.tree};
      combined = *tree;
    }
    right.tree = combined;
  }
  return {};
}

}  // namespace eco::sched
