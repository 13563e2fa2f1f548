#include "eco/transport/joined.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace eco::transport {

int JoinedTransport::max_tag() const {
  return std::min(first_.transport.max_tag(), rails_.transport.max_tag());
}

JoinedTransport::Way& JoinedTransport::way_of(int tag) {
  const auto at = static_cast<std::size_t>(tag);
  return tag >= 0 && at < has_rail_.size() && has_rail_[at] ? rails_ : first_;
}

Status JoinedTransport::posted(Way& way, Status status) {
  if (status == Status::ok) ++way.n_posted;
  return status;
}

Status JoinedTransport::post_send(int peer, int tag, std::span<const std::byte> bytes, SendMode mode,
                                  Ticket ticket) {
  Way& way = way_of(tag);
  return posted(way, way.transport.post_send(peer, tag, bytes, mode, ticket));
}

Status JoinedTransport::post_recv(int peer, int tag, std::span<std::byte> bytes, Ticket ticket) {
  Way& way = way_of(tag);
  return posted(way, way.transport.post_recv(peer, tag, bytes, ticket));
}

Status JoinedTransport::start_group(int group, const GroupCall& call, Ticket ticket) {
  return posted(first_, first_.transport.start_group(group, call, ticket));
}

Status JoinedTransport::look(Way& way, Look how, std::span<Ticket> done, std::size_t& n_done) {
  const Status status = (way.transport.*how)(done, n_done);
  way.n_posted -= n_done;
  return status;
}

Status JoinedTransport::look_at_both(Look how, std::span<Ticket> done, std::size_t& n_done) {
  n_done = 0;
  for (Way* way : {&first_, &rails_}) {
    if (way->n_posted == 0) continue;
    if (const Status status = look(*way, how, done, n_done); status != Status::ok || n_done > 0)
      return status;
  }
  return Status::ok;
}

// A schedule takes one way, so that mostly one of the two has anything under way and waits as well as it can.
Status JoinedTransport::wait_some(std::span<Ticket> done, std::size_t& n_done) {
  if (rails_.n_posted == 0) return look(first_, &Transport::wait_some, done, n_done);
  if (first_.n_posted == 0) return look(rails_, &Transport::wait_some, done, n_done);
  for (;;) {
    const Status status = look_at_both(&Transport::poll_some, done, n_done);
    if (status != Status::ok || n_done > 0) return status;
    std::this_thread::yield();
  }
}

Status JoinedTransport::test_some(std::span<Ticket> done, std::size_t& n_done) {
  return look_at_both(&Transport::test_some, done, n_done);
}

Status JoinedTransport::poll_some(std::span<Ticket> done, std::size_t& n_done) {
  return look_at_both(&Transport::poll_some, done, n_done);
}

void JoinedTransport::choose_rails(std::vector<std::uint8_t> rails) {
  rails_.transport.choose_rails(std::move(rails));
}

void JoinedTransport::set_rails(int first_tag, std::span<const std::uint8_t> rails) {
  const auto first = static_cast<std::size_t>(first_tag);
  if (has_rail_.size() < first + rails.size()) has_rail_.resize(first + rails.size(), false);
  for (std::size_t i = 0; i < rails.size(); ++i) has_rail_[first + i] = rails[i] != kNoRail;
  rails_.transport.set_rails(first_tag, rails);
}

void JoinedTransport::abandon() {
  for (Way* way : {&first_, &rails_}) {
    way->transport.abandon();
    way->n_posted = 0;
  }
}

}  // namespace eco::transport
