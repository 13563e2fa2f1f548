#include "eco/sched/schedule.h"

#include <array>

namespace eco::sched {

std::string_view name(Buffer buffer) {
  constexpr std::array<std::string_view, 3> kNames = {"input", "output", "scratch"};
  return kNames[static_cast<std::size_t>(buffer)];
}

std::string_view name(OpKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"send", "recv", "reduce", "copy"};
  return kNames[static_cast<std::size_t>(kind)];
}

const Op* Cursor::next() {
  while (position_ == ops_.size()) {
    const auto& loops = schedule_->loops();
    while (loop_ < loops.size() && iteration_ == loops[loop_].count) {
      ++loop_;
      iteration_ = 0;
    }
    if (loop_ == loops.size()) return nullptr;
    ops_.clear();
    position_ = 0;
    Emitter emitter(ops_);
    loops[loop_].body(iteration_++, emitter);
  }
  return &ops_[position_++];
}

std::size_t count_operations(const Schedule& schedule) {
  Cursor cursor(schedule);
  std::size_t n = 0;
  while (cursor.next() != nullptr) ++n;
  return n;
}

}  // namespace eco::sched
