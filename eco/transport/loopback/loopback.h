// Ranks as threads of one process: the transport of tests and debuggers, with every legal nastiness on
// request.
//
//   Hub hub(8, {.seed = 7});
//   run_ranks(hub, [&](LoopbackTransport& transport, LoopbackNative& native) { ... });     // one thread a
//   rank
//
// Collectives of groups (Transport::open_groups) are done by coll::meaning(), one member's result after the other. Collective
// calls of LoopbackNative meet at the same Hub. Thread-safe across ranks; each rank's objects are
// used by one thread at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "eco/transport/native.h"
#include "eco/transport/transport.h"

namespace eco::transport {

struct LoopbackOptions {
  bool synchronous = false;  // every send completes only when matched
  // Not 0: completions come back late, in random order and one or a few at a time (across channels that is
  // reordering), eager sends are captured at posting or only at matching, and a posted receive's memory is
  // scribbled over at once.
  std::uint64_t seed = 0;
};

class Hub {
 public:
  explicit Hub(int n_ranks, LoopbackOptions options = {});

  int n_ranks() const { return n_ranks_; }
  // From now on whoever waits for a message, of whichever rank, gets Status::lost_peer.
  void lose(int rank);

 private:
  friend class LoopbackTransport;
  friend class LoopbackNative;

  struct Send {
    int from;
    Ticket ticket;
    const std::byte* memory;
    std::vector<std::byte> captured;  // instead of memory
    std::size_t bytes;
    bool owes_completion;
  };
  struct Receive {
    int to;
    Ticket ticket;
    std::byte* memory;
    std::size_t bytes;
  };
  struct Stream {
    std::deque<Send> sends;
    std::deque<Receive> receives;
  };
  struct Mailbox {
    std::vector<Ticket> finished;
    std::size_t n_posted = 0;  // not yet handed back
    bool failed = false;
    std::mt19937_64 random;
  };

  // One operation of a group, as its members come to it.
  struct Meeting {
    struct Member {
      bool is_here = false;
      bool is_done = false;
      Ticket ticket = 0;
      const std::byte* source = nullptr;
      std::vector<std::byte> captured;  // instead of source
      std::span<std::byte> target;
      coll::Combine combine;
    };
    coll::CommonProblem problem;
    std::vector<Member> members;
    std::size_t n_here = 0;
  };
  struct Meetings {
    std::vector<std::size_t> next;  // operation of each member
    std::map<std::size_t, Meeting> under_way;
  };

  bool has_lost() const;
  void match(Stream& stream);
  // Receives from anybody with what ranks have sent, in any order of the senders.
  void match_any(int to, int tag);
  void settle(const std::vector<int>& ranks, Meeting& meeting);

  const int n_ranks_;
  const LoopbackOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::tuple<int, int, int>, Stream> streams_;              // from, to, tag
  std::map<std::pair<int, int>, std::deque<Receive>> from_anybody_;  // to, tag
  std::map<coll::RankGroup, Meetings> meetings_;
  std::vector<Mailbox> mailboxes_;
  std::vector<bool> lost_;

  // Meeting point of the native collectives.
  int arrived_ = 0;
  std::uint64_t generation_ = 0;
  // To a native collective, by rank; and which one the rank is in, so that tests see ranks part that would else read each
  // other's memory.
  struct Contribution {
    const void* memory = nullptr;
    std::string_view kind;
    std::size_t bytes = 0;
    int root = 0;
    bool is_of_the_same_call(const Contribution& other) const {
      return kind == other.kind && bytes == other.bytes && root == other.root;
    }
  };
  std::vector<Contribution> contributions_;
};

class LoopbackTransport final : public Transport {
 public:
  LoopbackTransport(Hub& hub, int rank) : hub_(hub), rank_(rank) {}

  int rank() const override { return rank_; }
  int n_ranks() const override { return hub_.n_ranks(); }
  int max_tag() const override { return 32767; }
  Status post_send(int peer, int tag, std::span<const std::byte> bytes, SendMode mode,
                   Ticket ticket) override;
  Status post_recv(int peer, int tag, std::span<std::byte> bytes, Ticket ticket) override;
  Status wait_some(std::span<Ticket> done, std::size_t& n_done) override;
  Status test_some(std::span<Ticket> done, std::size_t& n_done) override;
  bool open_groups(const std::vector<coll::RankGroup>& groups) override;
  void close_groups_but(const std::vector<coll::RankGroup>& groups) override;
  int find_group(const coll::RankGroup& group) const override;
  Status start_group(int group, const GroupCall& call, Ticket ticket) override;

 private:
  // Under the hub's lock.
  Status hand_back(std::span<Ticket> done, std::size_t& n_done);

  Hub& hub_;
  int rank_;
  std::vector<coll::RankGroup> groups_;  // open ones; closed ones have no ranks
};

class LoopbackNative final : public Native {
 public:
  LoopbackNative(Hub& hub, int rank) : hub_(hub), rank_(rank) {}

  // By coll::meaning(): every rank reads what its result is made of from the others' memory.
  void run(const coll::CommonProblem& problem, std::span<const std::byte> input,
           std::span<std::byte> output) override;
  void barrier() override;
  void broadcast(std::span<std::byte> bytes, int root) override;
  void allreduce_min(std::span<std::int64_t> values) override;
  void allreduce_sum(std::span<std::int64_t> values) override;
  void allreduce_max(std::span<double> values) override;
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  std::string library() const override { return "loopback"; }

 private:
  // All ranks meet, `read` runs on each while all contributions are there, then all leave.
  void meet(const Hub::Contribution& mine,
            const std::function<void(const std::vector<Hub::Contribution>&)>& read);
  void meet_barrier(const Hub::Contribution& mine);

  Hub& hub_;
  int rank_;
};

// Runs `body` for every rank of the hub, each in a thread of its own, and waits for all. The first exception
// is rethrown.
void run_ranks(Hub& hub, const std::function<void(LoopbackTransport&, LoopbackNative&)>& body);

}  // namespace eco::transport
