// The predictor's future: events by time, and those of one time in the order in which they were created.
//
//   EventQueue queue(n_streams);
//   queue.push(0.5, message, EventKind::hop, stream);
//   const Event event = queue.pop();
//
// Most events come in streams that are in order already: what one rank sends, what leaves one resource. Only the first
// of a stream stands in the heap, the others wait behind it, so that the heap stays as small as the network, whatever
// is queued in it. An event that is earlier than the last one of its stream goes to the heap by itself.
//
// The heap has four children a vertex, which is half as deep as a binary one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace eco::sim {

enum class EventKind : std::uint32_t {
  hop,
  arrival,
  grants,     // the receiver answers a request,
  clearance,  // and its sender hears it
  confirms,   // likewise of a synchronous message that has been received
  confirmation,
  entry,
  wake
};

constexpr int kKindBits = 3;
static_assert(static_cast<unsigned>(EventKind::wake) < 1U << kKindBits);

struct Event {
  double s = 0;
  std::uint64_t created = 0;
  std::uint32_t message = 0;
  EventKind kind : kKindBits = EventKind::hop;
  std::uint32_t stream : 32 - kKindBits = 0;
};

class EventQueue {
 public:
  explicit EventQueue(std::size_t n_streams) : streams_(n_streams) {}

  bool is_empty() const { return heap_.size() == (hole_ ? 1U : 0U); }

  void push(double s, std::uint32_t message, EventKind kind, std::size_t stream) {
    Stream& mine = streams_[stream];
    Event event;
    event.s = s;
    event.created = n_created_++;
    event.message = message;
    event.kind = kind;
    event.stream = static_cast<std::uint32_t>(stream) & kAlone;
    if (mine.is_there && s >= mine.last_s) {
      mine.last_s = s;
      mine.behind.push_back(event);
      return;
    }
    if (mine.is_there) {
      event.stream = kAlone;
    } else {
      mine.is_there = true;
      mine.last_s = s;
    }
    add(event);
  }

  // When the earliest is. Not of an empty queue.
  double next_s() {
    if (hole_) fill_hole();
    return heap_.front().s;
  }

  // The earliest. Not of an empty queue.
  Event pop() {
    if (hole_) fill_hole();
    const Event first = heap_.front();
    hole_ = true;
    if (first.stream != kAlone) {
      Stream& stream = streams_[first.stream];
      if (stream.head < stream.behind.size()) {
        add(stream.behind[stream.head]);
        stream.pass();
      } else {
        stream.is_there = false;
      }
    }
    return first;
  }

 private:
  static constexpr std::size_t kChildren = 4;
  static constexpr std::uint32_t kAlone = (std::uint32_t{1} << (32 - kKindBits)) - 1;
  // What has passed is forgotten when it is this much and half of the whole.
  static constexpr std::size_t kPassed = 64;

  // A run of events in order; the first of them stands in the heap.
  struct Stream {
    std::vector<Event> behind;
    std::size_t head = 0;
    double last_s = 0;
    bool is_there = false;

    void pass() {
      if (++head < kPassed || 2 * head < behind.size()) return;
      behind.erase(behind.begin(), behind.begin() + static_cast<std::ptrdiff_t>(head));
      head = 0;
    }
  };

  static bool is_before(const Event& a, const Event& b) {
    // Without a branch: which of two is earlier is as good as random.
    return static_cast<bool>(static_cast<int>(a.s < b.s) |
                             (static_cast<int>(a.s == b.s) & static_cast<int>(a.created < b.created)));
  }

  void add(const Event& event) {
    if (hole_) {
      hole_ = false;
      sink(event);
      return;
    }
    heap_.push_back(event);
    std::size_t at = heap_.size() - 1;
    while (at > 0) {
      const std::size_t parent = (at - 1) / kChildren;
      if (!is_before(event, heap_[parent])) break;
      heap_[at] = heap_[parent];
      at = parent;
    }
    heap_[at] = event;
  }

  void fill_hole() {
    hole_ = false;
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
  }

  // Puts the event where it belongs on the way down from the top.
  void sink(const Event& event) {
    const std::size_t n = heap_.size();
    std::size_t at = 0;
    for (;;) {
      const std::size_t first = kChildren * at + 1;
      if (first >= n) break;
      std::size_t least = first;
      if (first + kChildren <= n) {
        const std::size_t left = first + static_cast<std::size_t>(is_before(heap_[first + 1], heap_[first]));
        const std::size_t right =
            first + 2 + static_cast<std::size_t>(is_before(heap_[first + 3], heap_[first + 2]));
        least = is_before(heap_[right], heap_[left]) ? right : left;
      } else {
        for (std::size_t child = first + 1; child < n; ++child) {
          if (is_before(heap_[child], heap_[least])) least = child;
        }
      }
      if (!is_before(heap_[least], event)) break;
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = event;
  }

  std::vector<Event> heap_;
  std::vector<Stream> streams_;
  std::uint64_t n_created_ = 0;
  bool hole_ = false;  // what stands at the top has been taken; handling it mostly creates what comes there
};

}  // namespace eco::sim
