#include "eco/runtime/agreement.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <span>

#include "eco/base/assert.h"
#include "eco/base/errors.h"

namespace eco::runtime {

std::optional<std::string> Agreement::failed(const std::function<void()>& work,
                                             std::span<std::int64_t> least) {
  ECO_ASSERT(light, least.size() <= kMostNumbers, "numbers travel in fixed room");
  std::array<char, kReasonRoom> reason{};
  const auto failed_with = [&reason](const char* what) {
    std::memcpy(reason.data(), what, std::min(std::strlen(what), reason.size() - 1));
  };
  std::array<std::int64_t, 1 + kMostNumbers> numbers{};
  std::int64_t& first_failed = numbers[0];
  first_failed = n_ranks_;
  try {
    work();
  } catch (const std::exception& error) {
    failed_with(error.what());
    first_failed = rank_;
  } catch (...) {
    failed_with("an exception of unknown type");
    first_failed = rank_;
  }
  std::copy(least.begin(), least.end(), numbers.begin() + 1);
  native_.allreduce_min(std::span(numbers).first(1 + least.size()));
  std::copy_n(numbers.begin() + 1, least.size(), least.begin());
  if (first_failed == n_ranks_) return std::nullopt;
  native_.broadcast(std::as_writable_bytes(std::span(reason)), static_cast<int>(first_failed));
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

// What is short goes with its length, what is not too long into room that is there: memory is asked for once, at the end.
struct Agreement::Head {
  static constexpr std::size_t kRoom = 1024;
  static constexpr std::size_t kMoreRoom = 32768;
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
  const std::size_t n_more = size - std::min(size, Head::kRoom);
  const bool is_long = n_more > Head::kMoreRoom;
  std::array<char, Head::kMoreRoom> more;
  const std::span<char> rest = std::span(more).first(is_long ? 0 : n_more);
  if (!rest.empty()) {
    if (rank_ == root) text.copy(rest.data(), rest.size(), Head::kRoom);
    native_.broadcast(std::as_writable_bytes(rest), root);
  }
  const auto reason = failed([&] {
    try {
      text.resize(size);
    } catch (const std::exception& error) {
      throw TransportError("no room for a text of " + std::to_string(size) + " bytes: " + error.what());
    }
    const auto behind_head = std::copy_n(head.text.begin(), size - n_more, text.begin());
    std::copy(rest.begin(), rest.end(), behind_head);
    if (!is_long && work) work();
  });
  if (reason || !is_long) return reason;
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
