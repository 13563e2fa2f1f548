#include "eco/exec/executor.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "eco/base/assert.h"

namespace eco::exec {

using sched::Buffer;
using sched::Op;
using sched::OpId;
using sched::OpKind;
using sched::Region;
using transport::Status;

// One call under way: the schedule bound to this rank's memory. Compiled twice, so that who wants no trace pays nothing.
template <bool kTraced>
struct Executor::Run {
  Executor& executor;
  const sched::Schedule& schedule = *executor.begun_.schedule;
  const Buffers& buffers = executor.begun_.buffers;
  const int tag_base = executor.begun_.tag_base;

  std::byte* address(const Region& region) const {
    switch (region.buffer) {
      case Buffer::input:
        if (buffers.input_is_output) return buffers.output.data() + region.offset;
        // Builders never write to the input: only reads come through here.
        return const_cast<std::byte*>(buffers.input.data()) + region.offset;
      case Buffer::output:
        return buffers.output.data() + region.offset;
      case Buffer::scratch:
        return executor.scratch_.get() + region.offset;
    }
    return nullptr;
  }

  int tag(const Op& op) const { return tag_base + op.channel; }

  void begins(const Op& op, OpId id) {
    if constexpr (kTraced) executor.trace_->begin(op, executor.window_.sequence(id));
  }
  void completes(OpId id) {
    if constexpr (kTraced) executor.trace_->end(executor.window_.sequence(id));
    executor.window_.complete(id);
  }

  Status post_receives() {
    while (const auto id = executor.window_.take_ready(OpKind::recv)) {
      const Op& op = executor.window_.op(*id);
      begins(op, *id);
      const Status status =
          executor.transport_.post_recv(op.peer, tag(op), {address(op.target), op.target.bytes}, *id);
      if (status != Status::ok) return status;
      executor.recorder_.message_posted(op.peer, false);
      executor.window_.posted(*id);
    }
    return Status::ok;
  }

  // Copies and reductions; what they make ready is handled by the caller's next round.
  bool run_local() {
    bool any = false;
    for (const OpKind kind : {OpKind::reduce, OpKind::copy}) {
      while (const auto id = executor.window_.take_ready(kind)) {
        const Op& op = executor.window_.op(*id);
        begins(op, *id);
        if (kind == OpKind::reduce) {
          buffers.combine.function(buffers.combine.context, address(op.source), address(op.target),
                                   op.target.bytes);
        } else if (address(op.source) != address(op.target) && op.target.bytes > 0) {
          std::memcpy(address(op.target), address(op.source), op.target.bytes);
        }
        completes(*id);
        any = true;
      }
    }
    return any;
  }

  Status post_sends() {
    const auto mode =
        schedule.window.synchronous ? transport::SendMode::synchronous : transport::SendMode::eager;
    while (const auto id = executor.window_.take_ready(OpKind::send)) {
      const Op& op = executor.window_.op(*id);
      begins(op, *id);
      const Status status =
          executor.transport_.post_send(op.peer, tag(op), {address(op.source), op.source.bytes}, mode, *id);
      if (status != Status::ok) return status;
      executor.recorder_.message_posted(op.peer, true);
      executor.window_.posted(*id);
    }
    return Status::ok;
  }

  Status start_groups() {
    while (const auto id = executor.window_.take_ready(OpKind::group)) {
      const Op& op = executor.window_.op(*id);
      const coll::RankGroup& ranks = schedule.groups[static_cast<std::size_t>(op.channel)];
      int& group = executor.groups_[static_cast<std::size_t>(op.channel)];
      if (group < 0) group = executor.transport_.find_group(ranks);
      if (group < 0) return Status::failed;
      begins(op, *id);
      const transport::GroupCall call{
          .problem = sched::problem_of_group(op, ranks.ranks.size()),
          .source = {op.source.bytes > 0 ? address(op.source) : nullptr, op.source.bytes},
          .target = {op.target.bytes > 0 ? address(op.target) : nullptr, op.target.bytes},
          .combine = buffers.combine};
      if (const Status status = executor.transport_.start_group(group, call, *id); status != Status::ok)
        return status;
      executor.recorder_.group_started();
      executor.window_.posted(*id);
    }
    return Status::ok;
  }

  Status wait() {
    std::size_t n_done = 0;
    std::int64_t began_ns = 0;
    if constexpr (kTraced) began_ns = executor.trace_->begin_wait();
    const Status status = executor.transport_.wait_some(executor.finished_, n_done);
    if constexpr (kTraced) executor.trace_->end_wait(began_ns);
    if (status != Status::ok) return status;
    ECO_ASSERT(light, n_done > 0, "a schedule stands still with nothing under way");
    complete(n_done);
    return Status::ok;
  }

  void complete(std::size_t n_done) {
    for (std::size_t i = 0; i < n_done; ++i) {
      const OpId id = executor.finished_[i];
      const Op& op = executor.window_.op(id);
      if (op.kind == OpKind::group) {
        executor.recorder_.group_done();
      } else {
        executor.recorder_.message_done(op.peer, op.kind == OpKind::send);
      }
      completes(id);
    }
  }

  Status start_what_is_ready() {
    do {
      if (const Status status = post_receives(); status != Status::ok) return status;
    } while (run_local());
    if (const Status status = post_sends(); status != Status::ok) return status;
    return start_groups();
  }

  // Without waiting.
  Status as_far_as_it_comes() {
    while (!executor.window_.done()) {
      if (const Status status = start_what_is_ready(); status != Status::ok) return status;
      if (executor.window_.done()) break;
      std::size_t n_done = 0;
      const Status status = executor.transport_.test_some(executor.finished_, n_done);
      if (status != Status::ok || n_done == 0) return status;
      complete(n_done);
    }
    return Status::ok;
  }

  Status to_the_end() {
    while (!executor.window_.done()) {
      if (const Status status = start_what_is_ready(); status != Status::ok) return status;
      if (executor.window_.done()) break;
      if (const Status status = wait(); status != Status::ok) return status;
    }
    return Status::ok;
  }
};

namespace {

const sched::Schedule& empty_schedule() {
  static const sched::Schedule schedule(0, 1);
  return schedule;
}

}  // namespace

Executor::Executor(transport::Transport& transport)
    : transport_(transport), window_(empty_schedule(), kWindowCapacity, false), finished_(kWindowCapacity) {}

bool Executor::reserve(std::size_t scratch_bytes) {
  if (scratch_bytes_ >= scratch_bytes) return true;
  // Not filled: pages that no call needs are never touched.
  std::unique_ptr<std::byte[]> more(new (std::nothrow) std::byte[scratch_bytes]);
  if (!more) return false;  // what earlier schedules need is still there
  scratch_ = std::move(more);
  scratch_bytes_ = scratch_bytes;
  return true;
}

bool Executor::begin(const sched::Schedule& schedule, const Buffers& buffers, int tag_base,
                     std::uint64_t recipe_digest) {
  ECO_ASSERT(light, tag_base >= 0 && tag_base + schedule.n_channels - 1 <= transport_.max_tag(),
             "tags out of range");
  if (!reserve(schedule.scratch_bytes)) return false;
  recorder_.begin_call(recipe_digest, transport_.n_ranks());
  window_.restart(schedule, buffers.input_is_output);
  groups_.assign(schedule.groups.size(), -1);
  if (transport_.n_rails() > 1) {
    // Also where the schedule names none: its tags may have been those of one that did.
    rails_.assign(static_cast<std::size_t>(schedule.n_channels),
                  schedule.rails.empty() ? transport::kNoRail : 0);
    std::copy(schedule.rails.begin(), schedule.rails.end(), rails_.begin());
    transport_.set_rails(tag_base, rails_);
  }
  if (trace_ != nullptr) trace_->begin_call();
  begun_ = {&schedule, buffers, tag_base};
  return true;
}

Status Executor::progress(bool& ended) {
  const Status status =
      trace_ == nullptr ? Run<false>{*this}.as_far_as_it_comes() : Run<true>{*this}.as_far_as_it_comes();
  ended = window_.done();
  if (ended || status != Status::ok) recorder_.end_call();
  if (status != Status::ok) transport_.abandon();
  return status;
}

Status Executor::run(const sched::Schedule& schedule, const Buffers& buffers, int tag_base,
                     std::uint64_t recipe_digest) {
  if (!begin(schedule, buffers, tag_base, recipe_digest)) return Status::failed;
  const Status status = trace_ == nullptr ? Run<false>{*this}.to_the_end() : Run<true>{*this}.to_the_end();
  recorder_.end_call();
  if (status != Status::ok) transport_.abandon();
  return status;
}

}  // namespace eco::exec
