// One rank of the virtual network (testing.h, which includes this): its transport, the library's collectives as measuring
// uses them, and its life.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "eco/base/errors.h"
#include "eco/measure/testing.h"

namespace eco::measure::testing {

class VirtualNetwork::Transport final : public transport::Transport {
 public:
  Transport(VirtualNetwork& world, int rank) : world_(world), rank_(rank) {}
  int rank() const override { return rank_; }
  int n_ranks() const override { return static_cast<int>(world_.ranks_.size()); }
  int max_tag() const override { return 32767; }

  transport::Status post_send(int peer, int tag, std::span<const std::byte> bytes, transport::SendMode,
                              transport::Ticket ticket) override {
    world_.maybe_die(rank_);
    world_.spend(rank_, world_.network_.send_overhead_s);
    auto message = std::make_shared<Message>(Message{rank_, peer, tag, {bytes.begin(), bytes.end()}});
    Channel& channel = world_.channels_[{rank_, peer, tag}];
    channel.sent.push_back(message);
    ++me().posted;
    if (bytes.size() > world_.options_.eager_limit) {
      message->is_held = message->is_rendezvous = true;
      message->ticket = ticket;
      world_.release(channel);
      return transport::Status::ok;
    }
    world_.launch(message);
    me().done.push_back(ticket);  // eager: the bytes are held by the message
    return transport::Status::ok;
  }

  transport::Status post_recv(int peer, int tag, std::span<std::byte> bytes,
                              transport::Ticket ticket) override {
    world_.maybe_die(rank_);
    Channel& channel = world_.channels_[{peer, rank_, tag}];
    channel.receives.push_back({bytes, ticket});
    ++me().posted;
    world_.release(channel);
    world_.match(rank_, channel);
    return transport::Status::ok;
  }

  transport::Status wait_some(std::span<transport::Ticket> done, std::size_t& n_done) override {
    world_.maybe_die(rank_);
    n_done = 0;
    if (me().posted == 0) return transport::Status::ok;
    world_.begin_waiting(me());
    while (me().done.empty()) {
      world_.sleep(rank_);
      if (me().lost) return transport::Status::lost_peer;
    }
    me().waiting = false;
    return test_some(done, n_done);
  }

  transport::Status test_some(std::span<transport::Ticket> done, std::size_t& n_done) override {
    for (n_done = 0; n_done < done.size() && !me().done.empty(); ++n_done) {
      done[n_done] = me().done.front();
      me().done.pop_front();
      --me().posted;
    }
    return transport::Status::ok;
  }

  void abandon() override { world_.take_back_receives(rank_); }

 private:
  Rank& me() { return world_.ranks_[static_cast<std::size_t>(rank_)]; }
  VirtualNetwork& world_;
  int rank_;
};

// All contributions meet at no cost; each rank reads what it needs from them.
class VirtualNetwork::Native final : public transport::Native {
 public:
  Native(VirtualNetwork& world, int rank) : world_(world), rank_(rank) {}

  void run(const coll::CommonProblem&, std::span<const std::byte>, std::span<std::byte>) override {
    throw TransportError("measuring a network times none of the library's collectives");
  }
  void barrier() override { meet({}); }
  void broadcast(std::span<std::byte> bytes, int root) override {
    const auto& from_root = meet(bytes)[static_cast<std::size_t>(root)];
    std::copy(from_root.begin(), from_root.end(), bytes.begin());
  }
  void allreduce_min(std::span<std::int64_t> values) override {
    fold<std::int64_t>(values,
                       [&](std::size_t i, std::int64_t value) { values[i] = std::min(values[i], value); });
  }
  void allreduce_sum(std::span<std::int64_t> values) override {
    std::vector<std::int64_t> sums(values.size());
    fold<std::int64_t>(values, [&](std::size_t i, std::int64_t value) { sums[i] += value; });
    std::copy(sums.begin(), sums.end(), values.begin());
  }
  void allreduce_max(std::span<double> values) override {
    fold<double>(values, [&](std::size_t i, double value) { values[i] = std::max(values[i], value); });
  }
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    auto place = all.begin();
    for (const auto& part : meet(mine)) place = std::copy(part.begin(), part.end(), place);
  }
  std::string library() const override { return "virtual"; }

 private:
  const std::vector<std::vector<std::byte>>& meet(std::span<const std::byte> mine) {
    world_.brought_.resize(world_.ranks_.size());
    world_.brought_[static_cast<std::size_t>(rank_)].assign(mine.begin(), mine.end());
    const std::uint64_t meeting = world_.meetings_;
    if (++world_.n_brought_ < world_.ranks_.size()) {
      while (world_.meetings_ == meeting) world_.sleep(rank_);
    } else {
      world_.n_brought_ = 0;
      ++world_.meetings_;
      world_.result_ = std::move(world_.brought_);
      world_.brought_.clear();
      for (Rank& rank : world_.ranks_) rank.ready = !rank.finished;
    }
    return world_.result_;
  }

  template <class T, class Add>
  void fold(std::span<const T> mine, const Add& add) {
    for (const auto& part : meet(std::as_bytes(mine))) {
      for (std::size_t i = 0; i < mine.size(); ++i) {
        T value;
        std::memcpy(&value, part.data() + i * sizeof(T), sizeof(T));
        add(i, value);
      }
    }
  }

  VirtualNetwork& world_;
  int rank_;
};

inline void VirtualNetwork::live(int me, const Body& body) {
  Rank& rank = ranks_[static_cast<std::size_t>(me)];
  {
    std::unique_lock lock(mutex_);
    rank.turn.wait(lock, [&] { return running_ == me; });
  }
  // Whatever ends it, others have their turn.
  const auto leave = [&] {
    std::unique_lock lock(mutex_);
    rank.finished = true;
    rank.ready = false;
    pass_on();
  };
  try {
    Transport transport(*this, me);
    Native native(*this, me);
    body(transport, native, [this] { return now_; });
  } catch (const Died&) {
  } catch (...) {
    leave();
    throw;
  }
  leave();
}

}  // namespace eco::measure::testing
