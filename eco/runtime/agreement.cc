#include "eco/runtime/agreement.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <span>

#include "eco/base/errors.h"

namespace eco::runtime {

std::optional<std::string> Agreement::failed(const std::function<void()>& work) {
  std::array<char, kReasonRoom> reason{};
  const auto failed_with = [&reason](const char* what) {
    std::memcpy(reason.data(), what, std::min(std::strlen(what), reason.size() - 1));
  };
  std::array<std::int64_t, 1> first_failed = {n_ranks_};
  try {
    work();
  } catch (const std::exception& error) {
    failed_with(error.what());
    first_failed[0] = rank_;
  } catch (...) {
    failed_with("an exception of unknown type");
    first_failed[0] = rank_;
  }
  native_.allreduce_min(first_failed);
  if (first_failed[0] == n_ranks_) return std::nullopt;
  native_.broadcast(std::as_writable_bytes(std::span(reason)), static_cast<int>(first_failed[0]));
  return std::string(reason.data());
}

std::array<bool, 2> Agreement::equal(std::uint64_t one, std::uint64_t other) {
  // The least of x and of -x: equal everywhere if the least is also the largest. In halves, so that -x exists.
  const auto low = [](std::uint64_t x) { return static_cast<std::int64_t>(x & 0xffffffffu); };
  const auto high = [](std::uint64_t x) { return static_cast<std::int64_t>(x >> 32); };
  std::array<std::int64_t, 8> least = {low(one),   -low(one),   high(one),   -high(one),
                                       low(other), -low(other), high(other), -high(other)};
  native_.allreduce_min(least);
  return {least[0] == -least[1] && least[2] == -least[3], least[4] == -least[5] && least[6] == -least[7]};
}

bool Agreement::all(bool mine) {
  std::array<std::int64_t, 1> least = {mine ? 1 : 0};
  native_.allreduce_min(least);
  return least[0] == 1;
}

std::int64_t Agreement::share_number(std::int64_t number, int root) {
  native_.broadcast(std::as_writable_bytes(std::span(&number, 1)), root);
  return number;
}

// What is short goes with its length.
struct Agreement::Head {
  static constexpr std::size_t kRoom = 1024;
  std::int64_t size = 0;
  std::array<char, kRoom> text{};
};

std::optional<std::string> Agreement::share_and(std::string& text, const std::function<void()>& work,
                                                int root) {
  Head head;
  head.size = static_cast<std::int64_t>(text.size());
  text.copy(head.text.data(), Head::kRoom);
  native_.broadcast(std::as_writable_bytes(std::span(&head, 1)), root);
  const auto size = static_cast<std::size_t>(head.size);
  const bool is_short = size <= Head::kRoom;
  const auto reason = failed([&] {
    try {
      text.resize(size);
    } catch (const std::exception& error) {
      throw TransportError("no room for a text of " + std::to_string(size) + " bytes: " + error.what());
    }
    std::copy_n(head.text.begin(), std::min(size, Head::kRoom), text.begin());
    if (is_short && work) work();
  });
  if (reason || is_short) return reason;
  native_.broadcast(std::as_writable_bytes(std::span(text)).subspan(Head::kRoom), root);
  return work ? failed(work) : std::nullopt;
}

std::string Agreement::share(std::string text, int root) {
  if (const auto reason = share_and(text, nullptr, root)) throw TransportError(*reason);
  return text;
}

double Agreement::largest(double mine) {
  native_.allreduce_max(std::span(&mine, 1));
  return mine;
}

}  // namespace eco::runtime
