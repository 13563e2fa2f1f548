#include "eco/runtime/steps.h"

#include <cstdio>
#include <exception>

namespace eco::runtime {

namespace {

// What rank 0 found, or why it found nothing, as one text.
std::string looked(const std::function<std::pair<Found, std::string>()>& on_rank_0) {
  std::string text(1, static_cast<char>(Found::error));
  try {
    auto [found, found_text] = on_rank_0();
    return std::string(1, static_cast<char>(found)) + found_text;
  } catch (const std::exception& error) {
    text += error.what();
  } catch (...) {
    text += "an exception of unknown type";
  }
  return text;
}

}  // namespace

void Steps::together(const std::string& step, const std::function<void()>& work) {
  if (const auto reason = agreement_.failed(work)) throw StaysNative{step + *reason, true};
}

std::pair<Found, std::string> Steps::look(const std::string& step,
                                          const std::function<std::pair<Found, std::string>()>& on_rank_0) {
  std::string text = rank_ == 0 ? looked(on_rank_0) : std::string();
  text = agreement_.share(std::move(text));
  const auto found = static_cast<Found>(text[0]);
  text.erase(0, 1);
  if (found == Found::error) throw StaysNative{step + text, true};
  return {found, std::move(text)};
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

}  // namespace eco::runtime
