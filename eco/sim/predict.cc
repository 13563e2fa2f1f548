// Map: Simulator holds the state of all ranks; advance(rank) is the Executor's loop in virtual time, and the on_...
// functions handle the events, on_flow() and on_flows_end() those of fair sharing alone. Read send() and on_hop() first:
// they are the cost model.
#include "eco/sim/predict.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "eco/base/assert.h"
#include "eco/base/errors.h"
#include "eco/sched/window.h"
#include "eco/sim/channels.h"
#include "eco/sim/event_queue.h"
#include "eco/sim/fair_sharing.h"
#include "eco/sim/moment.h"
#include "eco/sim/wires.h"

namespace eco::sim {
namespace {

constexpr double kNever_s = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();

struct RankState {
  sched::Window window;
  Moment cpu;  // busy until then
  bool synchronous = false;
  std::vector<std::uint32_t>
      channels;  // by Window::channel(): number in Simulator::channels_, kUnknown at first
  double busy_s = 0;
  std::vector<Operation> operations;  // by Window::sequence()
};

class Simulator {
 public:
  Simulator(const net::GroupView& view, const std::vector<sched::Schedule>& schedules,
            const PredictOptions& options)
      : view_(view),
        network_(*view.network),
        options_(options),
        wires_(view, options.sharing == Sharing::in_turn),
        channels_(view, schedules.empty() ? std::vector<std::uint8_t>() : schedules[0].rails),
        events_(2 * schedules.size() + 2 * view.network->resources.size()),
        flows_(view.network->resources) {
    const std::size_t n_ranks = schedules.size();
    ECO_ASSERT(light, static_cast<int>(n_ranks) == view.n_ranks(), "one schedule per rank");
    if (!schedules.empty() && !schedules.front().groups.empty()) {
      throw InvalidArgument(
          "part of the schedules is the library's own, and nobody knows what that sends: predict a stand-in");
    }
    ranks_.reserve(n_ranks);
    for (const sched::Schedule& schedule : schedules) {
      ranks_.push_back(
          {sched::Window(schedule, options.window_capacity, options.input_is_output), {}, false, {}, 0, {}});
      RankState& rank = ranks_.back();
      rank.synchronous = schedule.window.synchronous;
    }
  }

  Prediction run() {
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) enter(rank);
    while (!events_.is_empty() || !flows_.is_empty()) {
      if (!flows_.is_empty() && flows_.ends_by(events_.is_empty() ? kNever_s : events_.next_s())) {
        if (flows_.end_s() > options_.stop_after_s) {
          result_.finished = false;
          break;
        }
        on_flows_end();
        continue;
      }
      const Event event = events_.pop();
      if (event.s > options_.stop_after_s) {
        result_.finished = false;
        break;
      }
      switch (event.kind) {
        case EventKind::hop:
          on_hop(event.message);
          break;
        case EventKind::arrival:
          on_arrival(event.message);
          break;
        case EventKind::grants:
          leave(event.message, EventKind::clearance);
          break;
        case EventKind::clearance:
          on_clearance(event.message);
          break;
        case EventKind::confirms:
          leave(event.message, EventKind::confirmation);
          break;
        case EventKind::confirmation:
          on_confirmation(event.message);
          break;
        case EventKind::entry:
          call(static_cast<int>(event.message));
          break;
        case EventKind::wake:
          break;
      }
    }
    return finish();
  }

 private:
  // What is in order by itself, for the event queue: a rank's sends, its answers, what goes on from a resource, and
  // what arrives from it.
  std::size_t sends_of(int rank) const { return static_cast<std::size_t>(rank); }
  std::size_t answers_of(int rank) const { return ranks_.size() + static_cast<std::size_t>(rank); }
  std::size_t onwards_from(std::size_t resource) const { return 2 * (ranks_.size() + resource); }
  std::size_t arrivals_from(std::size_t resource) const { return 2 * (ranks_.size() + resource) + 1; }

  // The rank calls: now, or when it arrives.
  void enter(int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const double arrival_s = r < options_.arrival_s.size() ? options_.arrival_s[r] : 0.0;
    if (arrival_s <= 0) {
      call(rank);
      return;
    }
    ranks_[r].cpu.s = arrival_s;
    events_.push(arrival_s, static_cast<std::uint32_t>(rank), EventKind::entry, sends_of(rank));
  }

  void call(int rank) {
    Moment& cpu = ranks_[static_cast<std::size_t>(rank)].cpu;
    cpu = wires_.woken(view_.host_of(rank), cpu);
    advance(rank);
  }

  // Everything that `rank` can start now, as the Executor does it: receives, then local work, then one send at a time.
  void advance(int rank) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    for (bool progress = true; progress;) {
      progress = false;
      while (const auto id = state.window.take_ready(sched::OpKind::recv)) {
        post_receive(rank, *id);
        progress = true;
      }
      for (const sched::OpKind kind : {sched::OpKind::reduce, sched::OpKind::copy}) {
        while (const auto id = state.window.take_ready(kind)) {
          const std::size_t bytes = state.window.op(*id).target.bytes;
          const double rate =
              kind == sched::OpKind::reduce ? network_.combine_bytes_per_s : network_.copy_bytes_per_s();
          const double seconds = rate > 0 ? static_cast<double>(bytes) / rate : 0.0;
          begins(state, *id);
          state.cpu = state.cpu.after_combine(seconds);
          state.busy_s += seconds;
          completes(state, *id, state.cpu);
          progress = true;
        }
      }
      while (const auto id = state.window.take_ready(sched::OpKind::send)) {
        send(rank, *id);
        progress = true;
      }
    }
  }

  void begins(RankState& state, sched::OpId id) {
    if (!options_.keep_operations) return;
    const sched::Op& op = state.window.op(id);
    const std::uint64_t sequence = state.window.sequence(id);
    if (sequence >= state.operations.size()) state.operations.resize(sequence + 1);
    const std::size_t bytes = op.kind == sched::OpKind::send ? op.source.bytes : op.target.bytes;
    state.operations[sequence] = {op.kind, op.peer, op.channel, bytes, state.cpu.s, 0};
  }

  void completes(RankState& state, sched::OpId id, const Moment& when) {
    if (options_.keep_operations) state.operations[state.window.sequence(id)].end_s = when.s;
    state.window.complete(id);
  }

  void post_receive(int rank, sched::OpId id) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    begins(state, id);
    const sched::Op& op = state.window.op(id);
    Channel& channel = channels_[channel_of(state, id, op.peer, rank, op.channel)];
    state.window.posted(id);
    if (!channel.is_empty() && !channel.waiting_are_receives) {
      const std::uint32_t message = channel.pop();
      const Moment when = later(state.cpu, messages_[message].first);
      if (messages_[message].stage == Stage::request) {
        grant(message, id, when);
      } else {
        match(message, id, when);
      }
    } else {
      channel.push(id, true);
    }
  }

  void send(int rank, sched::OpId id) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    begins(state, id);
    const sched::Op& op = state.window.op(id);
    state.cpu = state.cpu.after_overhead(network_.send_overhead_s);
    state.busy_s += network_.send_overhead_s;
    const std::uint32_t index = new_message();
    Message& message = messages_[index];
    message.channel = channel_of(state, id, rank, op.peer, op.channel);
    message.send = id;
    message.hop = 0;
    message.bytes = op.source.bytes;
    message.wire_bytes = network_.wire_bytes(view_.host_of(rank), view_.host_of(op.peer), message.bytes);
    const bool is_eager = options_.eager_bytes == 0 || message.bytes <= options_.eager_bytes;
    message.stage = is_eager ? Stage::eager : Stage::request;
    message.first = message.last = state.cpu;
    ++result_.n_messages;
    state.window.posted(id);
    if (!state.synchronous && is_eager) completes(state, id, state.cpu);
    hand_over(index, rank);
  }

  // To the network, at message.first.
  void hand_over(std::uint32_t index, int sender) {
    Message& message = messages_[index];
    if (options_.sharing == Sharing::fair) {
      message.first = message.first.after_latency(channels_.route(channels_[message.channel]).latency_s);
    }
    events_.push(message.first.s, index, EventKind::hop, sends_of(sender));
  }

  // Under fair sharing: its bytes begin to arrive.
  void on_flow(std::uint32_t index) {
    Message& message = messages_[index];
    const Channel& channel = channels_[message.channel];
    const net::Route& route = channels_.route(channel);
    if (message.stage == Stage::request || message.bytes == 0 || route.resources.empty()) {
      on_arrival(index);
      return;
    }
    const double bytes = message.wire_bytes;
    for (const int resource : route.resources) {
      const auto r = static_cast<std::size_t>(resource);
      wires_.busy_s()[r] += bytes / network_.resources[r].bytes_per_s;
    }
    flows_.add(channel.route, route, index, bytes, message.first.s);
  }

  void on_flows_end() {
    const double end_s = flows_.end_s();
    ended_.clear();
    flows_.take_ended(ended_);
    for (const std::uint32_t index : ended_) {
      Message& message = messages_[index];
      const Channel& channel = channels_[message.channel];
      if (options_.keep_intervals) {
        for (const int resource : channels_.route(channel).resources) {
          result_.intervals.push_back(
              {resource, channel.sender, channel.receiver, message.bytes, message.first.s, end_s});
        }
      }
      message.first = message.first.after_transfer(end_s - message.first.s);
      on_arrival(index);
    }
  }

  void on_hop(std::uint32_t index) {
    if (options_.sharing == Sharing::fair) {
      on_flow(index);
      return;
    }
    Message& message = messages_[index];
    const Channel& channel = channels_[message.channel];
    const net::Route& route = channels_.route(channel);
    const bool is_request = message.stage == Stage::request;
    const Passage passage =
        wires_.pass(message, route, is_request ? bytes_of_none(channel) : message.wire_bytes);
    if (!passage.crosses) {
      events_.push(message.first.s, index, EventKind::arrival, answers_of(channel.sender));
      return;
    }
    if (options_.keep_intervals && !is_request) {
      result_.intervals.push_back({static_cast<int>(passage.resource), channel.sender, channel.receiver,
                                   message.bytes, passage.start_s, passage.end_s});
    }
    const EventKind next = passage.arrives ? EventKind::arrival : EventKind::hop;
    events_.push(message.first.s, index, next,
                 passage.arrives ? arrivals_from(passage.resource) : onwards_from(passage.resource));
  }

  void on_arrival(std::uint32_t index) {
    Message& message = messages_[index];
    Channel& channel = channels_[message.channel];
    const int receiver = channel.receiver;
    RankState& state = ranks_[static_cast<std::size_t>(receiver)];
    const bool has_receive = !channel.is_empty() && channel.waiting_are_receives;
    if (message.stage == Stage::request) {
      if (has_receive) {
        grant(index, channel.pop(), later(state.cpu, message.first));
      } else {
        channel.push(index, false);
      }
      return;
    }
    state.cpu = wires_.received(state.cpu, view_.host_of(receiver), channels_.route(channel), message);
    if (message.stage == Stage::granted) {
      match(index, message.receive, state.cpu);
      advance(receiver);
    } else if (has_receive) {
      match(index, channel.pop(), state.cpu);
      advance(receiver);
    } else {
      message.first = state.cpu;  // the bytes are there from now on
      channel.push(index, false);
    }
  }

  // The receiver answers at `when`, which may be ahead of what is known of others: until then they take what is shared.
  void answer(std::uint32_t index, const Moment& when, EventKind what) {
    Message& message = messages_[index];
    message.first = when;
    events_.push(when.s, index, what, answers_of(channels_[message.channel].receiver));
    ++result_.n_answers;
  }

  // On the wire: of a request or an answer, which say something to the library and carry nothing.
  double bytes_of_none(const Channel& channel) const {
    return network_.wire_bytes(view_.host_of(channel.sender), view_.host_of(channel.receiver), 0);
  }

  // The answer leaves, and its sender will hear it.
  void leave(std::uint32_t index, EventKind heard) {
    Message& message = messages_[index];
    const Channel& channel = channels_[message.channel];
    message.first = wires_.answered(channels_.way_back(channel), bytes_of_none(channel), message.first);
    events_.push(message.first.s, index, heard, answers_of(channel.sender));
  }

  // When the sender is there for an answer.
  Moment heard(const RankState& state, const Message& message) {
    const Channel& channel = channels_[message.channel];
    return wires_.awake(state.cpu, view_.host_of(channel.sender), channels_.way_back(channel), message.first);
  }

  // The receive `id` is there for the request at `when`.
  void grant(std::uint32_t index, sched::OpId id, const Moment& when) {
    Message& message = messages_[index];
    message.stage = Stage::granted;
    message.receive = id;
    answer(index, when, EventKind::grants);
  }

  // The sender hands over its bytes.
  void on_clearance(std::uint32_t index) {
    Message& message = messages_[index];
    const int sender = channels_[message.channel].sender;
    RankState& state = ranks_[static_cast<std::size_t>(sender)];
    state.cpu = heard(state, message);
    message.first = message.last = state.cpu;
    message.hop = 0;
    hand_over(index, sender);
    if (state.synchronous) return;
    completes(state, message.send, state.cpu);
    advance(sender);
  }

  // The receive `id` has its bytes at `when`.
  void match(std::uint32_t index, sched::OpId id, const Moment& when) {
    const Channel& channel = channels_[messages_[index].channel];
    completes(ranks_[static_cast<std::size_t>(channel.receiver)], id, when);
    if (ranks_[static_cast<std::size_t>(channel.sender)].synchronous) {
      answer(index, when, EventKind::confirms);
    } else {
      free_messages_.push_back(index);
    }
  }

  void on_confirmation(std::uint32_t index) {
    const Message& message = messages_[index];
    const int sender = channels_[message.channel].sender;
    RankState& state = ranks_[static_cast<std::size_t>(sender)];
    state.cpu = heard(state, message);
    completes(state, message.send, state.cpu);
    free_messages_.push_back(index);
    advance(sender);
  }

  std::uint32_t new_message() {
    if (free_messages_.empty()) {
      messages_.emplace_back();
      return static_cast<std::uint32_t>(messages_.size() - 1);
    }
    const std::uint32_t index = free_messages_.back();
    free_messages_.pop_back();
    return index;
  }

  // Of the message `id` in a rank's window: the channel that it shares with its peer.
  std::uint32_t channel_of(RankState& state, sched::OpId id, int sender, int receiver, int channel) {
    const std::size_t in_window = state.window.channel(id);
    if (in_window >= state.channels.size()) state.channels.resize(in_window + 1, kUnknown);
    std::uint32_t& known = state.channels[in_window];
    if (known == kUnknown) known = channels_.number(sender, receiver, channel);
    return known;
  }

  Prediction finish() {
    Moment last;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      RankState& state = ranks_[rank];
      result_.n_operations += state.window.n_completed();
      result_.rank_end_s.push_back(state.cpu.s);
      result_.rank_busy_s.push_back(state.busy_s);
      if (options_.keep_operations) result_.rank_operations.push_back(std::move(state.operations));
      last = later(last, state.cpu);
      if (result_.finished && !state.window.done()) {
        throw InvalidArgument("the schedules can't end: rank " + std::to_string(rank) + " still has " +
                              std::to_string(state.window.n_unfinished()) +
                              " operations under way when nothing more happens; verify them first");
      }
    }
    result_.seconds = result_.finished ? last.s : options_.stop_after_s;
    result_.terms = {last.s - last.latency_s - last.overhead_s - last.combine_s, last.latency_s,
                     last.overhead_s, last.combine_s};
    result_.resource_busy_s = std::move(wires_.busy_s());
    const auto busiest = std::max_element(result_.resource_busy_s.begin(), result_.resource_busy_s.end());
    if (busiest != result_.resource_busy_s.end() && *busiest > 0) {
      result_.binding = static_cast<int>(busiest - result_.resource_busy_s.begin());
    }
    return std::move(result_);
  }

  const net::GroupView& view_;
  const net::Network& network_;
  const PredictOptions& options_;
  std::vector<RankState> ranks_;
  Wires wires_;
  Channels channels_;
  std::vector<Message> messages_;
  std::vector<std::uint32_t> free_messages_;
  EventQueue events_;
  FairSharing flows_;  // empty unless sharing is fair
  std::vector<std::uint32_t> ended_;
  Prediction result_;
};

}  // namespace

Prediction predict(const net::GroupView& view, const std::vector<sched::Schedule>& schedules,
                   const PredictOptions& options) {
  return Simulator(view, schedules, options).run();
}

}  // namespace eco::sim
