// One RailTransport of a job, for any number of groups of its ranks: each has tags of its own and its own view of the ranks.
//
//   const auto shared = std::make_shared<SharedRails>(meet(native, ...), names, meanwhile);       // once a job
//   RailShare share(shared, {.first_tag = 2048, .n_tags = 1024, .rank = 0, .ranks = {3, 5}});    // of each group
//
// Groups may run at the same time on several threads: a lock is held while the transport is looked at, never while
// anybody waits. Who waits also calls `meanwhile`, because a rank that he waits for may itself wait for this one in
// another library (DESIGN rule 6: nobody waits for one transport alone).
//
// The transport is one: where it fails, all groups have lost it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "eco/transport/queue.h"
#include "eco/transport/rail_transport.h"

namespace eco::transport {

class RailShare;

class SharedRails {
 public:
  // `names` are the rails', the same on all ranks. `meanwhile` must not wait. `leave` is called where a group has all that
  // it waited for and may_be_pending(): somebody is to call carry() from then on.
  SharedRails(
      std::unique_ptr<RailTransport> transport, std::vector<std::string> names,
      std::function<void()> meanwhile, std::function<void()> leave = [] {});

  const std::vector<std::string>& rail_names() const { return names_; }
  // As Transport::has_rail(), of ranks of the job; also once it is lost.
  bool has_rail(int rank, int rail) const {
    return has_rail_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(rail)];
  }
  // "TCP", "UCX".
  const std::string& kind() const { return kind_; }
  // Local, any thread, also from inside a library's progress: brings on its way what this rank has said and the kernel had
  // no room for. Who waits for it may never see this rank in a call again that would.
  void carry();
  // Local: not known for sure while another thread is at it.
  bool may_be_pending();
  // Local: by name, those that were given up between this rank and another.
  std::vector<std::string> failed_rails();
  // Local: says farewell; groups that still want something have lost it.
  void close();
  // Local, any thread: it has failed or was closed, on this rank.
  bool is_lost();

 private:
  friend class RailShare;
  struct Posted {
    RailShare* by = nullptr;
    Ticket ticket = 0;
  };

  // With the lock held.
  Ticket take(RailShare* by, Ticket ticket);
  Posted give_back(Ticket number);
  Status collect();
  void note_failed_rails();
  void lose();

  std::mutex mutex_;                          // guards what follows
  std::unique_ptr<RailTransport> transport_;  // null once it is lost or closed
  std::vector<Posted> posted_;                // by the transport's tickets
  std::vector<Ticket> free_;
  std::vector<std::string> failed_;
  const std::vector<std::string> names_;
  const std::vector<std::vector<bool>> has_rail_;  // by rank
  const std::string kind_;
  const std::function<void()> meanwhile_;
  const std::function<void()> leave_;
};

class RailShare final : public Transport {
 public:
  // The part of one group.
  struct Part {
    int first_tag = 0;
    int n_tags = 0;
    int rank = 0;            // of this process in the group
    std::vector<int> ranks;  // in the job, of each rank of the group
  };
  // Local.
  RailShare(std::shared_ptr<SharedRails> shared, Part part);
  // What is still posted is taken back, which ends the transport.
  ~RailShare() override;
  RailShare(const RailShare&) = delete;
  RailShare& operator=(const RailShare&) = delete;

  int rank() const override { return part_.rank; }
  int n_ranks() const override { return static_cast<int>(part_.ranks.size()); }
  std::string kind() const override { return shared_->kind(); }
  int max_tag() const override { return part_.n_tags - 1; }
  [[nodiscard]] Status post_send(int peer, int tag, std::span<const std::byte> bytes, SendMode mode,
                                 Ticket ticket) override;
  [[nodiscard]] Status post_recv(int peer, int tag, std::span<std::byte> bytes, Ticket ticket) override;
  [[nodiscard]] Status wait_some(std::span<Ticket> done, std::size_t& n_done) override;
  [[nodiscard]] Status test_some(std::span<Ticket> done, std::size_t& n_done) override;
  [[nodiscard]] Status poll_some(std::span<Ticket> done, std::size_t& n_done) override;
  int n_rails() const override { return static_cast<int>(chosen_.size()); }
  std::vector<std::string> rail_names() const override { return shared_->rail_names(); }
  bool has_rail(int rank, int rail) const override {
    return shared_->has_rail(part_.ranks[static_cast<std::size_t>(rank)], rail);
  }
  void choose_rails(std::vector<std::uint8_t> rails) override;
  void set_rails(int first_tag, std::span<const std::uint8_t> rails) override;
  void abandon() override;

 private:
  friend class SharedRails;
  // With the lock held.
  Status take_finished(std::span<Ticket> done, std::size_t& n_done);
  bool is_mine(int peer, int tag) const {
    return peer >= 0 && peer < n_ranks() && tag >= 0 && tag < part_.n_tags;
  }

  std::shared_ptr<SharedRails> shared_;
  Part part_;
  std::vector<std::uint8_t> chosen_;
  Queue<Ticket> finished_;    // guarded by the lock of `shared_`, as what follows
  std::size_t n_posted_ = 0;  // not handed back yet
};

}  // namespace eco::transport
