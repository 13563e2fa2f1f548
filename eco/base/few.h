// A short list in place: no memory of its own, so that a table of many is walked without leaving it.
//
//   Few<int, 8> hops = {3};
//   hops.push_back(7);
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "eco/base/assert.h"

namespace eco::base {

template <class T, std::size_t kMost>
class Few {
 public:
  static_assert(kMost < 256);
  Few() = default;
  Few(std::initializer_list<T> items) {
    for (const T& item : items) push_back(item);
  }

  void push_back(const T& item) {
    ECO_ASSERT(light, n_ < kMost, "a list in place has room for what is put there");
    items_[n_++] = item;
  }
  std::size_t size() const { return n_; }
  bool empty() const { return n_ == 0; }
  const T& operator[](std::size_t i) const { return items_[i]; }
  const T& front() const { return items_[0]; }
  const T& back() const { return items_[n_ - 1U]; }
  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + n_; }

  friend bool operator==(const Few& a, const Few& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<T, kMost> items_{};
  std::uint8_t n_ = 0;
};

}  // namespace eco::base
