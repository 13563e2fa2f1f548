// Which message meets which receive, for whoever drives sources without a transport.
//
//   if (auto met = mail.put({.from = 0, .to = 3, .channel = 1, ...})) ...   // a message is there
//   if (auto met = mail.want({.rank = 3, .from = kAnyPeer, ...})) ...       // a receive is posted
//
// As transport.h has it: messages of one sender, receiver and channel match in the order of posting, and a receive from
// anybody takes the first that came.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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
    const auto fits = [&](const Slot& slot) {
      return slot.channel == letter.channel && (slot.from == letter.from || slot.from == kAnyPeer);
    };
    if (auto slot = first(slots_, letter.to, fits)) return Meeting{std::move(letter), *slot};
    of(letters_, letter.to).push_back(std::move(letter));
    return std::nullopt;
  }

  std::optional<Meeting> want(const Slot& slot) {
    const auto fits = [&](const Letter& letter) {
      return letter.channel == slot.channel && (slot.from == letter.from || slot.from == kAnyPeer);
    };
    if (auto letter = first(letters_, slot.rank, fits)) return Meeting{std::move(*letter), slot};
    of(slots_, slot.rank).push_back(slot);
    return std::nullopt;
  }

  std::size_t n_letters() const { return count(letters_); }
  std::size_t n_slots() const { return count(slots_); }

 private:
  // By receiver, in the order of posting: few wait at a time.
  template <class Item>
  using Waiting = std::vector<std::vector<Item>>;

  template <class Item>
  static std::vector<Item>& of(Waiting<Item>& all, int receiver) {
    const auto place = static_cast<std::size_t>(receiver);
    if (place >= all.size()) all.resize(place + 1);
    return all[place];
  }

  template <class Item, class Fits>
  static std::optional<Item> first(Waiting<Item>& all, int receiver, const Fits& fits) {
    std::vector<Item>& items = of(all, receiver);
    const auto found = std::find_if(items.begin(), items.end(), fits);
    if (found == items.end()) return std::nullopt;
    Item item = std::move(*found);
    items.erase(found);
    return item;
  }

  template <class Item>
  static std::size_t count(const Waiting<Item>& all) {
    std::size_t n = 0;
    for (const auto& items : all) n += items.size();
    return n;
  }

  Waiting<Letter> letters_;
  Waiting<Slot> slots_;
};

}  // namespace eco::late
