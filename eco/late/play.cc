#include "eco/late/play.h"

#include <algorithm>
#include <cstring>

namespace eco::late {
namespace {

constexpr std::byte kScribble{0xA5};

}  // namespace

Play::Play(std::vector<ScheduleSource*> sources, std::uint64_t seed)
    : sources_(std::move(sources)), entered_(sources_.size()), done_(sources_.size()), random_(seed) {}

void Play::enter(int rank) {
  entered_[static_cast<std::size_t>(rank)] = true;
  sources_[static_cast<std::size_t>(rank)]->enter();
  take_orders(rank);
}

void Play::take_orders(int rank) {
  for (const Order& order : sources_[static_cast<std::size_t>(rank)]->take_orders()) {
    if (done_[static_cast<std::size_t>(rank)]) complain(rank, "gives orders after its end");
    switch (order.kind) {
      case Order::Kind::wake:
        wakes_.push_back({rank, order.ticket});
        break;
      case Order::Kind::send: {
        ++n_messages_;
        Letter letter{.from = rank,
                      .to = order.peer,
                      .channel = order.channel,
                      .ticket = order.ticket,
                      .bytes = order.source,
                      .owes_completion = true};
        if (!order.synchronous && random_() % 2 == 0) {
          letter.captured.assign(order.source.begin(), order.source.end());
          letter.owes_completion = false;
          completions_.push_back({rank, order.ticket});
        }
        if (auto met = mail_.put(std::move(letter))) meet(std::move(*met));
        break;
      }
      case Order::Kind::recv:
        std::fill(order.target.begin(), order.target.end(), kScribble);
        if (auto met = mail_.want({rank, order.peer, order.channel, order.ticket, order.target}))
          meet(std::move(*met));
        break;
    }
  }
  note_done(rank);
}

void Play::meet(Meeting meeting) {
  const std::span<const std::byte> bytes = meeting.letter.contents();
  if (bytes.size() > meeting.slot.target.size()) {
    complain(meeting.slot.rank,
             "has no room for what rank " + std::to_string(meeting.letter.from) + " sends");
  } else if (!bytes.empty()) {
    std::memcpy(meeting.slot.target.data(), bytes.data(), bytes.size());
  }
  completions_.push_back({meeting.slot.rank, meeting.slot.ticket});
  if (meeting.letter.owes_completion) completions_.push_back({meeting.letter.from, meeting.letter.ticket});
}

Play::Event Play::take(std::vector<Event>& events, std::size_t index) {
  const Event event = events[index];
  events.erase(events.begin() + static_cast<std::ptrdiff_t>(index));
  return event;
}

void Play::deliver(Event event) {
  if (done_[static_cast<std::size_t>(event.rank)]) complain(event.rank, "ended with messages under way");
  sources_[static_cast<std::size_t>(event.rank)]->on_done(event.ticket);
  take_orders(event.rank);
}

void Play::wake(Event event) {
  if (done_[static_cast<std::size_t>(event.rank)]) return;  // it has left the call
  sources_[static_cast<std::size_t>(event.rank)]->on_done(event.ticket);
  take_orders(event.rank);
}

void Play::note_done(int rank) {
  if (sources_[static_cast<std::size_t>(rank)]->is_done()) done_[static_cast<std::size_t>(rank)] = true;
}

void Play::settle() {
  while (!completions_.empty()) deliver(take(completions_, 0));
}

void Play::settle_patiently() {
  for (settle(); !wakes_.empty(); settle()) wake(take(wakes_, 0));
}

void Play::to_the_end() {
  // How likely it is that somebody enters, or is impatient, before what is under way has arrived: differs from play to play.
  const std::uint64_t entering = 1 + random_() % 30;
  const std::uint64_t waking = random_() % 30;
  std::vector<int> outside;
  for (std::size_t rank = 0; rank < sources_.size(); ++rank) {
    if (!entered_[rank]) outside.push_back(static_cast<int>(rank));
  }
  std::shuffle(outside.begin(), outside.end(), random_);
  while (!outside.empty() || !completions_.empty() || !wakes_.empty()) {
    const bool nothing_under_way = completions_.empty();
    if (!outside.empty() &&
        (random_() % 100 < entering || (nothing_under_way && (wakes_.empty() || random_() % 2 == 0)))) {
      enter(outside.back());
      outside.pop_back();
    } else if (!wakes_.empty() && (nothing_under_way || random_() % 100 < waking)) {
      wake(take(wakes_, random_() % wakes_.size()));
    } else if (!nothing_under_way) {
      deliver(take(completions_, random_() % completions_.size()));
    }
  }
}

void Play::complain(int rank, const std::string& what) {
  if (fault_.empty()) fault_ = "rank " + std::to_string(rank) + " " + what;
}

std::string Play::fault() const {
  if (!fault_.empty()) return fault_;
  for (std::size_t rank = 0; rank < sources_.size(); ++rank) {
    if (!done_[rank]) return "rank " + std::to_string(rank) + " is not done when nothing more happens";
  }
  if (mail_.n_letters() > 0) return std::to_string(mail_.n_letters()) + " messages were never received";
  if (mail_.n_slots() > 0) return std::to_string(mail_.n_slots()) + " receives were never matched";
  return "";
}

}  // namespace eco::late
