#include "eco/transport/shared_rails.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <numeric>
#include <utility>

namespace eco::transport {
namespace {

constexpr std::size_t kTicketsAtOnce = 64;
// A wait looks so often before it sleeps, and then sleeps ever longer: it wakes for what comes over the rails at once, and for
// what `meanwhile` would find after at most kLongest_ns.
constexpr int kLooksAwake = 4;
constexpr long kShortest_ns = 50'000;
constexpr long kLongest_ns = 1'000'000;

std::vector<std::vector<bool>> who_has(const Transport& transport, std::size_t n_rails) {
  std::vector<std::vector<bool>> has_rail;
  for (int rank = 0; rank < transport.n_ranks(); ++rank) {
    std::vector<bool>& of_rank = has_rail.emplace_back();
    for (std::size_t rail = 0; rail < n_rails; ++rail)
      of_rank.push_back(transport.has_rail(rank, static_cast<int>(rail)));
  }
  return has_rail;
}

void sleep_until_readable(int descriptor, long ns) {
  pollfd wanted{.fd = descriptor, .events = POLLIN, .revents = 0};
  const timespec longest{.tv_sec = 0, .tv_nsec = ns};
  static_cast<void>(::ppoll(&wanted, 1, &longest, nullptr));
}

}  // namespace

SharedRails::SharedRails(std::unique_ptr<RailTransport> transport, std::vector<std::string> names,
                         std::function<void()> meanwhile, std::function<void()> leave)
    : transport_(std::move(transport)),
      names_(std::move(names)),
      has_rail_(who_has(*transport_, names_.size())),
      kind_(transport_->kind()),
      meanwhile_(std::move(meanwhile)),
      leave_(std::move(leave)) {}

void SharedRails::carry() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && transport_ && transport_->is_pending()) transport_->look();
}

bool SharedRails::may_be_pending() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return !lock || (transport_ && transport_->is_pending());
}

void SharedRails::close() {
  const std::lock_guard lock(mutex_);
  transport_.reset();
}

std::vector<std::string> SharedRails::failed_rails() {
  const std::lock_guard lock(mutex_);
  note_failed_rails();
  return failed_;
}

void SharedRails::note_failed_rails() {
  if (!transport_) return;
  failed_.clear();
  for (std::size_t rail = 0; rail < names_.size(); ++rail) {
    const auto& lost = transport_->lost_rails();
    const auto is_it = [rail](const auto& each) { return static_cast<std::size_t>(each.rail) == rail; };
    if (std::any_of(lost.begin(), lost.end(), is_it)) failed_.push_back(names_[rail]);
  }
}

bool SharedRails::is_lost() {
  const std::lock_guard lock(mutex_);
  return transport_ == nullptr;
}

Ticket SharedRails::take(RailShare* by, Ticket ticket) {
  auto number = static_cast<Ticket>(posted_.size());
  if (free_.empty()) {
    posted_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  posted_[number] = {by, ticket};
  return number;
}

SharedRails::Posted SharedRails::give_back(Ticket number) {
  free_.push_back(number);
  return std::exchange(posted_[number], {});
}

// What has ended goes to the groups that posted it.
Status SharedRails::collect() {
  if (!transport_) return Status::failed;
  std::array<Ticket, kTicketsAtOnce> done{};
  std::size_t n_done = 0;
  do {
    if (const Status status = transport_->test_some(done, n_done); status != Status::ok) return status;
    for (std::size_t i = 0; i < n_done; ++i) {
      const Posted ended = give_back(done[i]);
      ended.by->finished_.push(ended.ticket);
    }
  } while (n_done == done.size());
  return Status::ok;
}

void SharedRails::lose() {
  note_failed_rails();
  if (transport_) transport_->abandon();
  transport_.reset();
  posted_.clear();
  free_.clear();
}

RailShare::RailShare(std::shared_ptr<SharedRails> shared, Part part)
    : shared_(std::move(shared)), part_(std::move(part)), chosen_(shared_->rail_names().size()) {
  std::iota(chosen_.begin(), chosen_.end(), std::uint8_t{0});
}

RailShare::~RailShare() { abandon(); }

Status RailShare::post_send(int peer, int tag, std::span<const std::byte> bytes, SendMode mode,
                            Ticket ticket) {
  const std::lock_guard lock(shared_->mutex_);
  if (!shared_->transport_ || !is_mine(peer, tag)) return Status::failed;
  const Ticket number = shared_->take(this, ticket);
  const Status status = shared_->transport_->post_send(part_.ranks[static_cast<std::size_t>(peer)],
                                                       part_.first_tag + tag, bytes, mode, number);
  if (status == Status::ok) {
    ++n_posted_;
  } else {
    shared_->give_back(number);
  }
  return status;
}

Status RailShare::post_recv(int peer, int tag, std::span<std::byte> bytes, Ticket ticket) {
  const std::lock_guard lock(shared_->mutex_);
  if (!shared_->transport_ || !is_mine(peer, tag)) return Status::failed;
  const Ticket number = shared_->take(this, ticket);
  const Status status = shared_->transport_->post_recv(part_.ranks[static_cast<std::size_t>(peer)],
                                                       part_.first_tag + tag, bytes, number);
  if (status == Status::ok) {
    ++n_posted_;
  } else {
    shared_->give_back(number);
  }
  return status;
}

Status RailShare::test_some(std::span<Ticket> done, std::size_t& n_done) {
  Status status = Status::ok;
  bool leaves_something = false;
  {
    const std::lock_guard lock(shared_->mutex_);
    status = take_finished(done, n_done);
    leaves_something =
        n_done > 0 && n_posted_ == 0 && shared_->transport_ && shared_->transport_->is_pending();
  }
  if (leaves_something) shared_->leave_();
  return status;
}

Status RailShare::poll_some(std::span<Ticket> done, std::size_t& n_done) {
  const Status status = test_some(done, n_done);
  if (status == Status::ok && n_done == 0) shared_->meanwhile_();
  return status;
}

Status RailShare::take_finished(std::span<Ticket> done, std::size_t& n_done) {
  n_done = 0;
  if (n_posted_ == 0) return Status::ok;
  const Status status = finished_.empty() ? shared_->collect() : Status::ok;
  n_done = std::min(done.size(), finished_.size());
  for (std::size_t i = 0; i < n_done; ++i) {
    done[i] = finished_.front();
    finished_.pop();
  }
  n_posted_ -= n_done;
  return n_done > 0 ? Status::ok : status;
}

Status RailShare::wait_some(std::span<Ticket> done, std::size_t& n_done) {
  long sleep_ns = kShortest_ns;
  for (int look = 0;; ++look) {
    if (const Status status = test_some(done, n_done); status != Status::ok || n_done > 0) return status;
    {
      const std::lock_guard lock(shared_->mutex_);
      if (n_posted_ == 0) return Status::ok;
    }
    shared_->meanwhile_();
    if (look < kLooksAwake) continue;
    int descriptor = -1;
    {
      const std::lock_guard lock(shared_->mutex_);
      if (shared_->transport_) descriptor = shared_->transport_->descriptor();
    }
    if (descriptor < 0) continue;
    sleep_until_readable(descriptor, sleep_ns);
    sleep_ns = std::min(2 * sleep_ns, kLongest_ns);
  }
}

void RailShare::choose_rails(std::vector<std::uint8_t> rails) {
  chosen_ = std::move(rails);
  if (!chosen_.empty()) return;
  const std::lock_guard lock(shared_->mutex_);
  shared_->lose();
}

void RailShare::set_rails(int first_tag, std::span<const std::uint8_t> rails) {
  std::vector<std::uint8_t> in_job(rails.begin(), rails.end());
  for (std::uint8_t& rail : in_job) {
    if (rail != kNoRail && !chosen_.empty()) rail = chosen_[rail % chosen_.size()];
  }
  const std::lock_guard lock(shared_->mutex_);
  if (shared_->transport_) shared_->transport_->set_rails(part_.first_tag + first_tag, in_job);
}

void RailShare::abandon() {
  const std::lock_guard lock(shared_->mutex_);
  if (n_posted_ > finished_.size()) shared_->lose();
  finished_.clear();
  n_posted_ = 0;
}

}  // namespace eco::transport
