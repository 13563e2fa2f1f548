// Which message meets which receive, for whoever drives sources without a transport.
//
//   if (auto met = mail.put({.from = 0, .to = 3, .channel = 1, ...})) ...   // a message is there
//   if (auto met = mail.want({.rank = 3, .from = kAnyPeer, ...})) ...       // a receive is posted
//
// As transport.h has it: messages of one sender, receiver and channel match in the order of posting, and a receive from
// anybody takes the first that came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "eco/late/flow.h"

namespace eco::late {

struct Letter {
  int from = 0;
  int to = 0;
  int channel = 0;
  Ticket ticket = 0;  // the sender's
  std::span<const std::byte> bytes{};
  std::vector<std::byte> captured{};  // instead of bytes, where the sender has them back already
  bool owes_completion = false;
  std::uint32_t number = 0;  // whatever its driver knows it by

  std::span<const std::byte> contents() const { return captured.empty() ? bytes : captured; }
};

struct Slot {
  int rank = 0;
  int from = 0;  // or kAnyPeer
  int channel = 0;
  Ticket ticket = 0;
  std::span<std::byte> target{};
};

struct Meeting {
  Letter letter;
  Slot slot;
};

class Mail {
 public:
  std::optional<Meeting> put(Letter letter) {
    for (const int from : {letter.from, kAnyPeer}) {
      if (auto slot = first(slots_, {from, letter.to, letter.channel}))
        return Meeting{std::move(letter), *slot};
    }
    letters_[{letter.from, letter.to, letter.channel}].push_back(std::move(letter));
    return std::nullopt;
  }

  std::optional<Meeting> want(const Slot& slot) {
    if (slot.from != kAnyPeer) {
      if (auto letter = first(letters_, {slot.from, slot.rank, slot.channel}))
        return Meeting{std::move(*letter), slot};
    } else {
      for (auto& [key, waiting] : letters_) {
        if (std::get<1>(key) != slot.rank || std::get<2>(key) != slot.channel) continue;
        if (auto letter = first(letters_, key)) return Meeting{std::move(*letter), slot};
      }
    }
    slots_[{slot.from, slot.rank, slot.channel}].push_back(slot);
    return std::nullopt;
  }

  std::size_t n_letters() const { return count(letters_); }
  std::size_t n_slots() const { return count(slots_); }

 private:
  using Key = std::tuple<int, int, int>;  // from, to, channel

  template <class Item>
  static std::optional<Item> first(std::map<Key, std::deque<Item>>& items, const Key& key) {
    const auto found = items.find(key);
    if (found == items.end() || found->second.empty()) return std::nullopt;
    Item item = std::move(found->second.front());
    found->second.pop_front();
    return item;
  }

  template <class Item>
  static std::size_t count(const std::map<Key, std::deque<Item>>& items) {
    std::size_t n = 0;
    for (const auto& [key, waiting] : items) n += waiting.size();
    return n;
  }

  std::map<Key, std::deque<Letter>> letters_;
  std::map<Key, std::deque<Slot>> slots_;
};

}  // namespace eco::late
