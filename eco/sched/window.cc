#include "eco/sched/window.h"

#include <algorithm>
#include <array>
#include <limits>

#include "eco/base/assert.h"
#include "eco/sched/hazards.h"

namespace eco::sched {
namespace {

constexpr OpId kNone = std::numeric_limits<OpId>::max();
constexpr std::uint64_t kFree = std::numeric_limits<std::uint64_t>::max();

bool is_message(OpKind kind) { return kind == OpKind::send || kind == OpKind::recv; }

// An operation in the window, and what waits for it.
struct Slot {
  Op op;
  std::uint64_t sequence = kFree;
  int n_waiting_for = 0;
  bool heads_channel = false;    // messages: every earlier one of the channel was posted
  OpId next_in_channel = kNone;  // the following unposted message of the same channel
  std::vector<OpId> dependents;
};

// The unposted messages of one channel and direction, in program order.
struct Channel {
  OpId first = kNone;
  OpId last = kNone;
  int under_way = 0;  // posted and not complete
};

}  // namespace

struct Window::State {
  State(const Schedule& schedule, std::size_t capacity, bool in_place) : cursor(schedule), slots(capacity) {
    free.reserve(capacity);
    start(schedule, in_place);
  }

  void start(const Schedule& schedule, bool in_place) {
    cursor = Cursor(schedule);
    n_ranks = schedule.n_ranks();
    send_limit = schedule.window.messages_per_channel;
    input_is_output = in_place;
    exhausted = false;
    next_sequence = n_completed = 0;
    channels.assign(2 * static_cast<std::size_t>(schedule.n_channels) * static_cast<std::size_t>(n_ranks),
                    {});
    for (auto& list : ready) list.clear();
    hazards.clear();
    free.clear();
    for (std::size_t i = slots.size(); i-- > 0;) {
      slots[i].sequence = kFree;
      free.push_back(static_cast<OpId>(i));
    }
    refill();
  }

  Channel& channel_of(const Op& op) {
    const std::size_t direction = op.kind == OpKind::send ? 0 : 1;
    const std::size_t index =
        (static_cast<std::size_t>(op.channel) * 2 + direction) * static_cast<std::size_t>(n_ranks) +
        static_cast<std::size_t>(op.peer);
    ECO_ASSERT(light, index < channels.size(),
               "a schedule uses more channels than it declares, or a peer out of range");
    return channels[index];
  }

  bool may_send(const Op& op) { return send_limit == 0 || channel_of(op).under_way < send_limit; }

  void refill() {
    while (!exhausted && !free.empty()) {
      const Op* op = cursor.next();
      if (op == nullptr) {
        exhausted = true;
        break;
      }
      enter(*op);
    }
  }

  void enter(const Op& op) {
    const OpId id = free.back();
    free.pop_back();
    Slot& slot = slots[id];
    slot.op = op;
    slot.sequence = next_sequence++;
    slot.n_waiting_for = 0;
    slot.dependents.clear();
    touch(id, op.source, false);
    touch(id, op.target, true);
    if (is_message(op.kind)) {
      Channel& channel = channel_of(op);
      slot.next_in_channel = kNone;
      slot.heads_channel = channel.last == kNone;
      if (channel.last == kNone) {
        channel.first = id;
      } else {
        slots[channel.last].next_in_channel = id;
      }
      channel.last = id;
    }
    make_ready_if_free(id);
  }

  void touch(OpId id, Region region, bool write) {
    if (input_is_output && region.buffer == Buffer::input) region.buffer = Buffer::output;
    const Hazards::Access access{
        id, write, region.buffer, slots[id].sequence, region.offset, region.offset + region.bytes};
    hazards.add(
        access, [this](OpId other, std::uint64_t sequence) { return slots[other].sequence == sequence; },
        [this, id](OpId other) {
          slots[other].dependents.push_back(id);
          ++slots[id].n_waiting_for;
        });
  }

  void make_ready_if_free(OpId id) {
    const Slot& slot = slots[id];
    if (slot.n_waiting_for > 0 || (is_message(slot.op.kind) && !slot.heads_channel)) return;
    auto& list = ready[static_cast<std::size_t>(slot.op.kind)];
    const auto later = std::find_if(list.rbegin(), list.rend(),
                                    [&](OpId other) { return slots[other].sequence < slot.sequence; });
    list.insert(later.base(), id);
  }

  void complete(OpId id) {
    Slot& slot = slots[id];
    ECO_ASSERT(normal, slot.sequence != kFree, "an operation completed twice");
    if (is_message(slot.op.kind)) --channel_of(slot.op).under_way;
    slot.sequence = kFree;
    ++n_completed;
    for (const OpId dependent : slot.dependents) {
      if (--slots[dependent].n_waiting_for == 0) make_ready_if_free(dependent);
    }
    free.push_back(id);
    refill();
  }

  Cursor cursor;
  int n_ranks = 0;
  int send_limit = 0;  // messages under way on one channel; 0: no limit
  bool input_is_output = false;
  bool exhausted = false;
  std::uint64_t next_sequence = 0;
  std::uint64_t n_completed = 0;
  std::vector<Slot> slots;
  std::vector<OpId> free;
  std::vector<Channel> channels;
  std::array<std::vector<OpId>, 4> ready;  // by OpKind, in program order
  Hazards hazards;
};

Window::Window(const Schedule& schedule, std::size_t capacity, bool input_is_output)
    : state_(std::make_unique<State>(schedule, capacity, input_is_output)) {}
void Window::restart(const Schedule& schedule, bool input_is_output) {
  state_->start(schedule, input_is_output);
}
Window::~Window() = default;
Window::Window(Window&&) noexcept = default;
Window& Window::operator=(Window&&) noexcept = default;

bool Window::done() const { return state_->exhausted && n_unfinished() == 0; }

std::optional<OpId> Window::take_ready(OpKind kind) {
  auto& list = state_->ready[static_cast<std::size_t>(kind)];
  const auto may_start = [&](OpId id) {
    return kind != OpKind::send || state_->may_send(state_->slots[id].op);
  };
  const auto first = std::find_if(list.begin(), list.end(), may_start);
  if (first == list.end()) return std::nullopt;
  const OpId id = *first;
  list.erase(first);
  return id;
}

void Window::posted(OpId id) {
  State& state = *state_;
  Slot& slot = state.slots[id];
  Channel& channel = state.channel_of(slot.op);
  ECO_ASSERT(light, channel.first == id, "messages of one channel are posted in program order");
  ++channel.under_way;
  channel.first = slot.next_in_channel;
  if (channel.first == kNone) {
    channel.last = kNone;
    return;
  }
  state.slots[channel.first].heads_channel = true;
  state.make_ready_if_free(channel.first);
}

void Window::complete(OpId id) { state_->complete(id); }

const Op& Window::op(OpId id) const { return state_->slots[id].op; }
std::uint64_t Window::sequence(OpId id) const { return state_->slots[id].sequence; }
std::size_t Window::n_unfinished() const { return state_->slots.size() - state_->free.size(); }
std::uint64_t Window::n_completed() const { return state_->n_completed; }

}  // namespace eco::sched
