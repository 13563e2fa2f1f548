#include "eco/sched/window.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "eco/base/assert.h"
#include "eco/base/numbering.h"
#include "eco/sched/hazards.h"

namespace eco::sched {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kFree = std::numeric_limits<std::uint64_t>::max();

// Libraries look at every nonblocking collective under way whenever they make progress: as many of one group at once as
// keep a pipeline of segments full.
constexpr int kGroupOpsUnderWay = 8;

// Posted in program order, each in its channel: messages, and the operations of one group.
bool is_posted(OpKind kind) { return kind == OpKind::send || kind == OpKind::recv || kind == OpKind::group; }

constexpr std::size_t kFew = 16;

// An operation in the window, and what waits for it: one line of the processor's cache.
struct alignas(64) Slot {
  Op op;
  std::uint32_t channel = kNone;  // what is posted: index into State::channels
  OpId next_in_channel = kNone;   // the following unposted one of the same channel
  std::uint32_t waiting = kNone;  // who waits for this one: first link of a list in State::waits
  std::uint32_t n_waiting_for : 30 = 0;
  bool heads_channel : 1 = false;  // every earlier one of the channel was posted
  bool is_ready : 1 = false;       // stands, or stood, in the list of ready ones
};
static_assert(sizeof(Slot) == 64);

// One operation that waits for another; more than once if several of its regions do.
struct Wait {
  OpId who = kNone;
  std::uint32_t next = kNone;
};

// The unposted messages of one channel and direction, or the unposted operations of one group, in program order.
struct Channel {
  OpId first = kNone;
  OpId last = kNone;
  int under_way = 0;  // posted and not complete
};

// Ready operations of one kind, in program order. Almost all are added at the end and taken from the front.
class ReadyList {
 public:
  bool is_empty() const { return head_ == entries_.size(); }

  void add(std::uint64_t sequence, OpId id) {
    const Entry entry{sequence, id};
    if (head_ > 0 && !is_empty() && sequence < entries_[head_].sequence) {
      entries_[--head_] = entry;
      return;
    }
    if (head_ > 0 && entries_.size() == entries_.capacity()) {
      entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
    entries_.push_back(entry);
    std::size_t at = entries_.size() - 1;
    for (; at > head_ && entries_[at - 1].sequence > sequence; --at) entries_[at] = entries_[at - 1];
    entries_[at] = entry;
  }

  OpId take() {
    const OpId id = entries_[head_++].id;
    if (is_empty()) clear();
    return id;
  }

  void clear() {
    entries_.clear();
    head_ = 0;
  }

 private:
  struct Entry {
    std::uint64_t sequence;
    OpId id;
  };
  std::vector<Entry> entries_;
  std::size_t head_ = 0;
};

}  // namespace

struct Window::State {
  State(const Schedule& schedule, std::size_t most, bool in_place) : cursor(schedule), capacity(most) {
    // A prediction makes one window for each rank: not a handful of allocations for each of the first operations.
    const std::size_t few = std::min(capacity, kFew);
    slots.reserve(few);
    sequences.reserve(few);
    free.reserve(few);
    waits.reserve(few);
    channels.reserve(few);
    start(schedule, in_place);
  }

  void start(const Schedule& schedule, bool in_place) {
    cursor = Cursor(schedule);
    n_ranks = schedule.n_ranks();
    n_channels = schedule.n_channels;
    n_groups = schedule.groups.size();
    send_limit = schedule.window.messages_per_channel;
    input_is_output = in_place;
    exhausted = false;
    next_sequence = n_completed = 0;
    numbering.restart(2 * static_cast<std::uint64_t>(n_channels) * static_cast<std::uint64_t>(n_ranks) +
                      n_groups);
    channels.clear();
    for (auto& list : ready) list.clear();
    hazards.clear();
    waits.clear();
    free_wait = kNone;
    slots.clear();
    sequences.clear();
    free.clear();
    refill();
  }

  // The number of its channel, counted as they are met.
  std::uint32_t channel_of(const Op& op) {
    const std::uint64_t key = op.kind == OpKind::group ? key_of_group(op) : key_of_message(op);
    const auto [number, is_new] = numbering.of(key);
    if (is_new) channels.emplace_back();
    return number;
  }

  std::uint64_t key_of_group(const Op& op) const {
    ECO_ASSERT(light, static_cast<std::size_t>(op.channel) < n_groups,
               "a schedule uses a group that it does not list");
    return 2 * static_cast<std::uint64_t>(n_channels) * static_cast<std::uint64_t>(n_ranks) +
           static_cast<std::uint64_t>(op.channel);
  }

  std::uint64_t key_of_message(const Op& op) const {
    const std::uint64_t direction = op.kind == OpKind::send ? 0 : 1;
    const auto ranks = static_cast<std::uint64_t>(n_ranks);
    const std::uint64_t key = (static_cast<std::uint64_t>(op.channel) * 2 + direction) * ranks +
                              static_cast<std::uint64_t>(op.peer);
    ECO_ASSERT(light, key < 2 * static_cast<std::uint64_t>(n_channels) * ranks,
               "a schedule uses more channels than it declares, or a peer out of range");
    return key;
  }

  // How many of a channel may be under way; 0: no limit.
  int limit_of(OpKind kind) const {
    if (kind == OpKind::group) return kGroupOpsUnderWay;
    return kind == OpKind::send ? send_limit : 0;
  }

  void refill() {
    while (!exhausted && (!free.empty() || slots.size() < capacity)) {
      const Op* op = cursor.next();
      if (op == nullptr) {
        exhausted = true;
        break;
      }
      enter(*op);
    }
  }

  OpId free_slot() {
    if (free.empty()) {
      slots.emplace_back();
      sequences.emplace_back();
      return static_cast<OpId>(slots.size() - 1);
    }
    const OpId id = free.back();
    free.pop_back();
    return id;
  }

  void enter(const Op& op) {
    const OpId id = free_slot();
    Slot& slot = slots[id];
    slot.op = op;
    slot.waiting = kNone;
    slot.n_waiting_for = 0;
    slot.is_ready = false;
    sequences[id] = next_sequence++;
    touch(id, op.source, false);
    touch(id, op.target, true);
    if (is_posted(op.kind)) {
      slot.channel = channel_of(op);
      Channel& channel = channels[slot.channel];
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
    const Hazards::Access access{.begin = region.offset,
                                 .end = region.offset + region.bytes,
                                 .sequence = sequences[id],
                                 .buffer = region.buffer,
                                 .write = write,
                                 .slot = id};
    hazards.add(
        access, [this](OpId other, std::uint64_t sequence) { return sequences[other] == sequence; },
        [this, id](OpId other) { wait(id, other); });
  }

  void wait(OpId who, OpId for_whom) {
    std::uint32_t link = free_wait;
    if (link != kNone) {
      free_wait = waits[link].next;
    } else {
      link = static_cast<std::uint32_t>(waits.size());
      waits.emplace_back();
    }
    waits[link] = {who, slots[for_whom].waiting};
    slots[for_whom].waiting = link;
    ++slots[who].n_waiting_for;
  }

  // Also asked again where a channel's send window opens.
  void make_ready_if_free(OpId id) {
    Slot& slot = slots[id];
    if (slot.n_waiting_for > 0 || slot.is_ready) return;
    if (is_posted(slot.op.kind)) {
      if (!slot.heads_channel) return;
      const int limit = limit_of(slot.op.kind);
      if (limit > 0 && channels[slot.channel].under_way >= limit) return;
    }
    slot.is_ready = true;
    ready[static_cast<std::size_t>(slot.op.kind)].add(sequences[id], id);
  }

  void complete(OpId id) {
    ECO_ASSERT(normal, sequences[id] != kFree, "an operation completed twice");
    sequences[id] = kFree;
    ++n_completed;
    for (std::uint32_t link = slots[id].waiting; link != kNone;) {
      const Wait done = waits[link];
      waits[link].next = free_wait;
      free_wait = link;
      link = done.next;
      if (--slots[done.who].n_waiting_for == 0) make_ready_if_free(done.who);
    }
    if (is_posted(slots[id].op.kind)) {
      Channel& channel = channels[slots[id].channel];
      --channel.under_way;
      if (channel.first != kNone) make_ready_if_free(channel.first);
    }
    free.push_back(id);
    refill();
  }

  Cursor cursor;
  std::size_t capacity;
  int n_ranks = 0;
  int n_channels = 0;
  std::size_t n_groups = 0;
  int send_limit = 0;  // messages under way on one channel; 0: no limit
  bool input_is_output = false;
  bool exhausted = false;
  std::uint64_t next_sequence = 0;
  std::uint64_t n_completed = 0;
  // As many as were ever unfinished at once, `capacity` at most: a short schedule touches little memory.
  std::vector<Slot> slots;
  std::vector<std::uint64_t> sequences;  // by slot; apart from it, since hazards ask for nothing else
  std::vector<OpId> free;
  base::Numbering numbering;
  std::vector<Channel> channels;
  std::array<ReadyList, kOpKinds> ready;  // by OpKind
  Hazards hazards;
  std::vector<Wait> waits;
  std::uint32_t free_wait = kNone;
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
  ReadyList& list = state_->ready[static_cast<std::size_t>(kind)];
  if (list.is_empty()) return std::nullopt;
  return list.take();
}

void Window::posted(OpId id) {
  State& state = *state_;
  Slot& slot = state.slots[id];
  Channel& channel = state.channels[slot.channel];
  ECO_ASSERT(light, channel.first == id, "what is of one channel or group is posted in program order");
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
std::uint64_t Window::sequence(OpId id) const { return state_->sequences[id]; }
std::uint32_t Window::channel(OpId id) const { return state_->slots[id].channel; }
std::size_t Window::n_unfinished() const { return state_->slots.size() - state_->free.size(); }
std::uint64_t Window::n_completed() const { return state_->n_completed; }

}  // namespace eco::sched
