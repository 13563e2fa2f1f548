// Runs a source: the same engine as a schedule's, without a window, since the source itself says what may start.
#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

#include "eco/base/assert.h"
#include "eco/exec/executor.h"

namespace eco::exec {
namespace {

using transport::Status;
using Clock = std::chrono::steady_clock;

// A source under way: what its tickets are, for the flight recorder, and whom to wake when.
class SourceRun {
 public:
  SourceRun(transport::Transport& transport, FlightRecorder& recorder, ScheduleSource& source, int tag_base,
            std::vector<Ticket>& finished)
      : transport_(transport),
        recorder_(recorder),
        source_(source),
        tag_base_(tag_base),
        finished_(finished) {}

  Status to_the_end() {
    source_.enter();
    for (;;) {
      if (const Status status = post(); status != Status::ok) return status;
      if (source_.is_done()) return Status::ok;
      std::size_t n_done = 0;
      if (const Status status = wait(n_done); status != Status::ok) return status;
      for (std::size_t i = 0; i < n_done; ++i) {
        const Message& message = messages_[finished_[i]];
        recorder_.message_done(message.peer, message.is_send);
        source_.on_done(finished_[i]);
      }
    }
  }

 private:
  struct Message {
    int peer = -1;
    bool is_send = false;
  };
  struct Wake {
    Clock::time_point due;
    Ticket ticket;
  };

  Status post() {
    for (const Order& order : source_.take_orders()) {
      if (order.kind == Order::Kind::wake) {
        const auto after =
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(order.after_s));
        wakes_.push_back({Clock::now() + after, order.ticket});
        continue;
      }
      const bool is_send = order.kind == Order::Kind::send;
      if (order.ticket >= messages_.size()) messages_.resize(order.ticket + 1);
      messages_[order.ticket] = {order.peer, is_send};
      const auto mode = order.synchronous ? transport::SendMode::synchronous : transport::SendMode::eager;
      const int tag = tag_base_ + order.channel;
      const Status status = is_send ? transport_.post_send(order.peer, tag, order.source, mode, order.ticket)
                                    : transport_.post_recv(order.peer, tag, order.target, order.ticket);
      if (status != Status::ok) return status;
      recorder_.message_posted(order.peer, is_send);
    }
    return Status::ok;
  }

  // Until a message is complete or a wake due, which is then told to the source.
  Status wait(std::size_t& n_done) {
    while (!wakes_.empty()) {
      const Status status = transport_.poll_some(finished_, n_done);
      if (status != Status::ok || n_done > 0) return status;
      const auto first = std::min_element(wakes_.begin(), wakes_.end(),
                                          [](const Wake& a, const Wake& b) { return a.due < b.due; });
      if (Clock::now() >= first->due) {
        const Ticket ticket = first->ticket;
        wakes_.erase(first);
        source_.on_done(ticket);
        return Status::ok;
      }
      std::this_thread::yield();
    }
    const Status status = transport_.wait_some(finished_, n_done);
    ECO_ASSERT(light, status != Status::ok || n_done > 0, "a source stands still with nothing under way");
    return status;
  }

  transport::Transport& transport_;
  FlightRecorder& recorder_;
  ScheduleSource& source_;
  int tag_base_;
  std::vector<Ticket>& finished_;
  std::vector<Message> messages_;  // by ticket
  std::vector<Wake> wakes_;
};

}  // namespace

Status Executor::run(ScheduleSource& source, int tag_base, std::uint64_t recipe_digest) {
  recorder_.begin_call(recipe_digest, transport_.n_ranks());
  Status status = Status::failed;
  try {
    status = SourceRun(transport_, recorder_, source, tag_base, finished_).to_the_end();
  } catch (const std::bad_alloc&) {
    // A source makes its messages on the way; a schedule's memory was there before its first one. What is posted by now
    // points to the caller's memory, so this ends as a transport's failure does.
  }
  recorder_.end_call();
  if (status != Status::ok) transport_.abandon();
  return status;
}

}  // namespace eco::exec
