#include "eco/runtime/steps.h"

#include <cstdio>
#include <exception>
#include <utility>

#include "eco/base/errors.h"

namespace eco::runtime {
namespace {

// What it throws is said to be of the step.
template <class Work>
auto said_of(const std::string& step, const Work& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    throw Error(step + error.what());
  }
}

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

void Steps::report() {
  if (met_) std::rethrow_exception(std::exchange(met_, nullptr));
}

void Steps::together(const std::string& step, const std::function<void()>& work,
                     std::span<std::int64_t> least) {
  const auto reason = agreement_.failed(
      [&] {
        report();
        said_of(step, work);
      },
      least);
  if (reason) throw StaysNative{*reason, true};
}

void Steps::alone(const std::string& step, const std::function<void()>& work) {
  try {
    said_of(step, work);
  } catch (...) {
    if (!met_) met_ = std::current_exception();
  }
}

std::pair<Found, std::string> Steps::look(const std::string& step,
                                          const std::function<std::pair<Found, std::string>()>& on_rank_0,
                                          const Take& take) {
  std::string text;
  if (rank_ == 0) {
    text = looked([&] {
      report();
      return said_of(step, on_rank_0);
    });
  }
  Found found{};
  const auto reason = agreement_.share_and(text, [&] {
    found = static_cast<Found>(text[0]);
    text.erase(0, 1);
    if (found == Found::error) throw Error(text);  // before what others have met with
    report();
    said_of(step, [&] { take(found, text); });
  });
  if (reason) throw StaysNative{*reason, true};
  return {found, std::move(text)};
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

}  // namespace eco::runtime
