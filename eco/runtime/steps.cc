#include "eco/runtime/steps.h"

#include <cstdio>

namespace eco::runtime {

void Steps::together(const std::string& step, const std::function<void()>& work) {
  if (const auto reason = agreement_.failed(work)) throw StaysNative{step + *reason, true};
}

std::pair<Found, std::string> Steps::look(const std::string& step,
                                          const std::function<std::pair<Found, std::string>()>& on_rank_0) {
  std::string text;
  together(step, [&] {
    if (rank_ != 0) return;
    const auto [found, found_text] = on_rank_0();
    text = std::string(1, static_cast<char>(found)) + found_text;
  });
  text = agreement_.share(std::move(text));
  const auto found = static_cast<Found>(text[0]);
  return {found, std::move(text.erase(0, 1))};
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

}  // namespace eco::runtime
