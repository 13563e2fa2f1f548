// Numbers keys 0, 1, 2, ... in the order in which they are first seen: a hash table that owns nothing but the numbers,
// so that what belongs to a key lies in a plain vector beside it.
//
//   const auto [number, is_new] = numbering.of(key);
//   if (is_new) things.emplace_back();
//   use(things[number]);
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "eco/base/assert.h"
#include "eco/base/place.h"

namespace eco::base {

class Numbering {
 public:
  struct Found {
    std::uint32_t number;
    bool is_new;
  };

  Found of(std::uint64_t key) {
    if (!direct_.empty()) return direct_of(key);
    if (2 * n_ >= places_.size()) grow();
    Place& place = places_[find(key)];
    if (place.number != kNothing) return {place.number, false};
    place = {key, n_++};
    return {place.number, true};
  }

  std::size_t size() const { return n_; }

  // Forgets all keys and keeps the memory.
  void clear() {
    if (n_ > 0) places_.assign(places_.size(), {});
    direct_.assign(direct_.size(), kNothing);
    n_ = 0;
  }

  // Forgets all keys; those to come are below `n_keys`. Of few, a number stands where its key says, without hash or key.
  void restart(std::uint64_t n_keys) {
    clear();
    direct_.assign(n_keys <= kDirect ? n_keys : 0, kNothing);
  }

 private:
  static constexpr std::uint32_t kNothing = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint64_t kDirect = 1024;
  static constexpr std::size_t kFewest = 16;  // a power of two, as every later size

  struct Place {
    std::uint64_t key = 0;
    std::uint32_t number = kNothing;
  };

  Found direct_of(std::uint64_t key) {
    ECO_ASSERT(light, key < direct_.size(), "a key beyond what restart() was told of");
    std::uint32_t& number = direct_[key];
    if (number != kNothing) return {number, false};
    number = n_++;
    return {number, true};
  }

  // Where the key stands, or would: the next free place from its own.
  std::size_t find(std::uint64_t key) const {
    std::size_t at = place_of(key, bits_);
    while (places_[at].number != kNothing && places_[at].key != key) at = (at + 1) & (places_.size() - 1);
    return at;
  }

  void grow() {
    std::vector<Place> old =
        std::exchange(places_, std::vector<Place>(places_.empty() ? kFewest : 2 * places_.size()));
    bits_ = 0;
    for (std::size_t size = places_.size(); size > 1; size /= 2) ++bits_;
    for (const Place& place : old) {
      if (place.number != kNothing) places_[find(place.key)] = place;
    }
  }

  std::vector<Place> places_;  // at most half of them taken
  std::vector<std::uint32_t> direct_;
  std::uint32_t n_ = 0;
  int bits_ = 0;
};

}  // namespace eco::base
