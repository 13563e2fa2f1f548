// What one rank's buffers hold while schedules are verified, in units that divide every region, and which operations under
// way read and write them. Each function says what is wrong, or nothing: "lies outside its buffer".
//
//   RankMemory memory({input_units, output_units, scratch_units}, unit, input_is_output);
//   std::vector<Cell> sent;
//   if (const std::string wrong = memory.begin_reading(op.source, sent); !wrong.empty()) refuse(wrong);
//   ...
//   memory.end_reading(op.source);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "eco/sched/expressions.h"
#include "eco/sched/schedule.h"

namespace eco::sched {

// One unit: which element of the vector it holds, combined how.
struct Cell {
  Expressions::Tree tree = Expressions::kUnset;
  std::uint32_t unit = 0;
};

class RankMemory {
 public:
  // Units of each buffer, by Buffer. Where the input is the output, reads of the input go there.
  RankMemory(const std::array<std::size_t, 3>& units, std::size_t unit_bytes, bool input_is_output);

  // As it was made: nothing set, nothing under way.
  void clear();
  // Every unit becomes its own element, from this rank.
  void fill(Buffer buffer, Expressions::Tree leaf);
  const std::vector<Cell>& cells(Buffer buffer) const { return at(buffer).cells; }

  // Of operations under way: nobody writes what is read, nobody else uses what is written.
  std::string begin_reading(const Region& region, std::vector<Cell>& cells);
  std::string begin_writing(const Region& region);
  void end_reading(const Region& region);
  void end_writing(const Region& region, const std::vector<Cell>& cells);

  // A copy or a reduction, done at once.
  std::string run_local(const Op& op, Expressions& expressions);

 private:
  struct Memory {
    std::vector<Cell> cells;
    std::vector<std::uint16_t> reads;   // operations under way that read the unit
    std::vector<std::uint16_t> writes;  // that write it
  };
  struct Span {
    Memory* memory;
    std::size_t begin;
    std::size_t end;
    std::size_t size() const { return end - begin; }
  };

  const Memory& at(Buffer buffer) const { return memories_[static_cast<std::size_t>(buffer)]; }
  Span locate(const Region& region);
  static std::string why_not_written(const Region& region, const Span& span);
  static std::string why_not_read(const Span& span);

  std::array<Memory, 3> memories_;
  std::size_t unit_bytes_;
  bool input_is_output_;
};

}  // namespace eco::sched
