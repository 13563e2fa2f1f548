// What travels: sends and receives as they are posted, and what comes of them.
#include <algorithm>
#include <cstring>

#include "eco/transport/tcp/little_endian.h"
#include "eco/transport/ucx/ucx_transport.h"

namespace eco::transport::ucx {
namespace {

// Of what a sender waits to hear it hears at the latest after so much, of less when this rank has nothing else to do.
constexpr std::size_t kTellBytes = 65536;

}  // namespace

std::uint64_t token(const tcp::Key& key, int from, int to) {
  std::array<std::byte, 16> pair{};
  tcp::store(static_cast<std::uint64_t>(from), pair.data());
  tcp::store(static_cast<std::uint64_t>(to), pair.data() + 8);
  return tcp::keyed_hash(key, pair);
}

Head encode(std::uint64_t token, int from, const Frame& frame) {
  tcp::FrameHead encoded{};
  tcp::encode(frame, encoded);
  Head head{};
  tcp::store(token, head.data());
  tcp::store(static_cast<std::uint64_t>(from), head.data() + 8);
  std::memcpy(head.data() + 16, encoded.data(), encoded.size());
  return head;
}

Status UcxTransport::post_send(int peer, int tag, std::span<const std::byte> bytes, SendMode mode,
                               Ticket ticket) {
  if (!is_mine(peer, tag)) return Status::failed;
  Peer& them = peers_[static_cast<std::size_t>(peer)];
  if (them.is_lost || them.n_to_come) return Status::lost_peer;
  // Of the rails that there are.
  Endpoint& way = endpoint(peer, static_cast<int>(rail_of(static_cast<std::size_t>(tag))) % n_rails());
  if (!open(way)) return Status::lost_peer;
  const std::size_t cost = bytes.empty() ? 0 : bytes.size() + kHeadBytes;
  const bool is_request =
      bytes.size() > options_.eager_bytes || way.outstanding_bytes + cost > options_.credit_bytes;
  Send& each = add_send();
  each.has_ticket = true;
  each.ticket = ticket;
  each.endpoint = way.number;
  each.tag = static_cast<std::uint32_t>(tag);
  each.sequence = inbox_.stream(peer, each.tag).sent++;
  // A rendezvous ends when its bytes were fetched, hence matched.
  each.owes_match = !is_request && mode == SendMode::synchronous;
  ++n_posted_;
  ++n_in_use_;
  ++them.owed_sends;
  ++them.n_sent;
  ++way.n_sent;
  if (!is_request) way.outstanding_bytes += cost;
  send(each,
       {.kind = is_request ? FrameKind::request : FrameKind::eager,
        .wants_match = each.owes_match,
        .tag = each.tag,
        .id = each.number,
        .sequence = each.sequence,
        .bytes = bytes.size()},
       bytes, is_request);
  return Status::ok;
}

void UcxTransport::send(Send& send, const Frame& frame, std::span<const std::byte> bytes,
                        bool is_rendezvous) {
  Endpoint& to = endpoints_[send.endpoint];
  send.head = encode(peer_of(to).token_out, rank(), frame);
  send.bytes = bytes.size();
  send.owes_completion = true;
  to.under_way_bytes += send.bytes;
  flushes_[static_cast<std::size_t>(to.rail)].is_wanted = true;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = is_rendezvous ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
  param.cb.send = &Callbacks::on_sent;
  param.user_data = &send;
  void* const request =
      ucp_.am_send_nbx(to.ep, 0, send.head.data(), send.head.size(), bytes.data(), bytes.size(), &param);
  if (!UCS_PTR_IS_PTR(request)) on_sent(send, UCS_PTR_RAW_STATUS(request));
}

void UcxTransport::say(Endpoint& endpoint, const Frame& frame) {
  if (!open(endpoint)) return;
  Send& word = add_send();
  word.endpoint = endpoint.number;
  send(word, frame, {}, false);
}

UcxTransport::Send& UcxTransport::add_send() {
  if (free_sends_.empty()) {
    free_sends_.push_back(static_cast<std::uint32_t>(sends_.size()));
    sends_.emplace_back();
  }
  const std::uint32_t number = free_sends_.back();
  free_sends_.pop_back();
  Send& send = sends_[number];
  send = {};
  send.owner = this;
  send.number = number;
  send.is_used = true;
  return send;
}

void UcxTransport::on_sent(Send& send, ucs_status_t status) {
  Endpoint& to = endpoints_[send.endpoint];
  to.under_way_bytes -= send.bytes;
  send.owes_completion = false;
  if (status != UCS_OK) {
    fail(to);
    // What it owed to a peer that says nothing more stays owed: that is what its loss is told by.
    if (send.has_ticket) {
      peer_of(to).is_lost = true;
      return;
    }
  }
  settle(send);
}

void UcxTransport::settle(Send& send) {
  if (send.owes_completion || send.owes_match) return;
  if (send.has_ticket) {
    finished_.push(send.ticket);
    --n_in_use_;
    --peer_of(endpoints_[send.endpoint]).owed_sends;
  }
  send.is_used = false;
  free_sends_.push_back(send.number);
}

Status UcxTransport::post_recv(int peer, int tag, std::span<std::byte> bytes, Ticket ticket) {
  if (!is_mine(peer, tag)) return Status::failed;
  Inbox::Stream& stream = inbox_.stream(peer, static_cast<std::uint32_t>(tag));
  const std::uint64_t sequence = stream.post(bytes, ticket);
  ++n_posted_;
  ++peers_[static_cast<std::size_t>(peer)].owed_receives;

  Inbox::Arrived* const message = stream.find_arrived(sequence);
  if (message == nullptr) return Status::ok;
  if (message->frame.bytes > bytes.size()) {
    has_failed_ = true;  // truncation; reported by the next wait, as for messages that come later
    return Status::ok;
  }
  Inbox::Posted& posted = *stream.find_posted(sequence);
  posted.state = Inbox::Posted::State::filling;
  Endpoint& from = endpoints_[message->connection];
  const Frame frame = message->frame;
  if (frame.kind == FrameKind::request) {
    Fetch& fetch = add_fetch(from, frame, message->descriptor);
    stream.forget(message);
    begin_fetch(fetch);
    return Status::ok;
  }
  if (!message->memory.empty()) std::memcpy(bytes.data(), message->memory.data(), message->memory.size());
  waiting_bytes_ -= message->memory.size();
  stream.forget(message);
  if (frame.wants_match)
    say(from, {.kind = FrameKind::matched, .tag = frame.tag, .id = frame.id, .sequence = frame.sequence});
  take_up(from, frame.bytes);
  end_receive(peer, stream, posted);
  follow_up();
  return Status::ok;
}

ucs_status_t UcxTransport::on_message(int rail, std::span<const std::byte> header, const std::byte* data,
                                      std::size_t n, void* descriptor) {
  if (is_abandoned_) return UCS_OK;
  const bool has_head = header.size() == kHeadBytes;
  const std::uint64_t from = has_head ? tcp::load<std::uint64_t>(header.data() + 8) : job_.addresses.size();
  if (from >= job_.addresses.size() || from == static_cast<std::uint64_t>(rank()) ||
      tcp::load<std::uint64_t>(header.data()) != peers_[from].token_in) {
    ++n_refused_;
    return UCS_OK;
  }
  const std::optional<Frame> frame = tcp::decode(header.subspan<16, tcp::kFrameBytes>());
  const bool is_message = frame && (frame->kind == FrameKind::eager || frame->kind == FrameKind::request);
  if (!frame || (frame->kind == FrameKind::request) != (descriptor != nullptr) ||
      (is_message && frame->bytes != n)) {
    ++n_refused_;
    has_failed_ = true;  // a rank of this job that says what no rank says
    return UCS_OK;
  }
  Endpoint& way = endpoint(static_cast<int>(from), rail);
  way.was_heard = true;
  way.is_asked = false;
  way.awake_at.reset();
  way.heard_at = Clock::now();
  switch (frame->kind) {
    case FrameKind::eager:
      on_eager(way, *frame, {data, n});
      return UCS_OK;
    case FrameKind::request:
      return on_request(way, *frame, descriptor) ? UCS_INPROGRESS : UCS_OK;
    default:
      on_answer(way, *frame);
      return UCS_OK;
  }
}

void UcxTransport::on_eager(Endpoint& from, const Frame& frame, std::span<const std::byte> data) {
  count_arrival(from, frame);
  // What its sender counts as outstanding is this or more: beyond the credit it has not kept to it.
  if (frame.bytes > 0) from.unreported_bytes += frame.bytes + kHeadBytes;
  Inbox::Stream& stream = inbox_.stream(from.peer, frame.tag);
  Inbox::Posted* const posted = stream.find_posted(frame.sequence);
  if (is_repeated(stream, frame, posted) || frame.bytes > options_.eager_bytes ||
      from.unreported_bytes > options_.credit_bytes ||
      (posted != nullptr && frame.bytes > posted->memory.size())) {
    has_failed_ = true;  // truncation, as MPI would report it, or what no rank says
    return;
  }
  if (posted == nullptr) {
    Inbox::Arrived& message = stream.arrived.emplace_back();
    message.frame = frame;
    message.connection = from.number;
    message.is_complete = true;
    message.memory.assign(data.begin(), data.end());
    waiting_bytes_ += data.size();
    return;
  }
  if (!data.empty()) std::memcpy(posted->memory.data(), data.data(), data.size());
  if (frame.wants_match) {
    to_say_.push_back(
        {from.number,
         {.kind = FrameKind::matched, .tag = frame.tag, .id = frame.id, .sequence = frame.sequence}});
  }
  take_up(from, frame.bytes);
  end_receive(from.peer, stream, *posted);
}

bool UcxTransport::on_request(Endpoint& from, const Frame& frame, void* descriptor) {
  count_arrival(from, frame);
  Inbox::Stream& stream = inbox_.stream(from.peer, frame.tag);
  Inbox::Posted* const posted = stream.find_posted(frame.sequence);
  if (is_repeated(stream, frame, posted) || (posted != nullptr && frame.bytes > posted->memory.size())) {
    has_failed_ = true;
    return false;
  }
  if (posted == nullptr) {
    Inbox::Arrived& message = stream.arrived.emplace_back();
    message.frame = frame;
    message.connection = from.number;
    message.descriptor = descriptor;
    return true;
  }
  posted->state = Inbox::Posted::State::filling;
  to_fetch_.push_back(add_fetch(from, frame, descriptor).number);
  return true;
}

bool UcxTransport::is_repeated(Inbox::Stream& stream, const Frame& frame, const Inbox::Posted* posted) {
  return frame.sequence < stream.first || stream.find_arrived(frame.sequence) != nullptr ||
         (posted != nullptr && posted->state != Inbox::Posted::State::waiting);
}

void UcxTransport::on_answer(Endpoint& from, const Frame& frame) {
  Peer& peer = peer_of(from);
  switch (frame.kind) {
    case FrameKind::matched: {
      if (frame.id >= sends_.size()) break;
      Send& send = sends_[frame.id];
      if (!send.is_used || !send.owes_match || send.endpoint != from.number ||
          send.sequence != frame.sequence)
        break;
      send.owes_match = false;
      settle(send);
      return;
    }
    case FrameKind::credit:
      if (frame.bytes > from.outstanding_bytes || frame.sequence > from.n_sent) break;
      from.outstanding_bytes -= frame.bytes;
      from.n_told = std::max(from.n_told, frame.sequence);
      return;
    case FrameKind::probe:
      to_say_.push_back({from.number, {.kind = FrameKind::echo}});
      return;
    case FrameKind::echo:
      on_echo(from);
      return;
    case FrameKind::bye:
      peer.n_to_come = frame.sequence;
      answer_bye(peer, from);
      return;
    case FrameKind::had:
      peer.has_all = true;
      return;
    default:
      break;
  }
  has_failed_ = true;  // a rank of this job that says what no rank says
}

void UcxTransport::answer_bye(Peer& peer, Endpoint& from) {
  if (!peer.has_left() || peer.was_answered) return;
  peer.was_answered = true;
  gone_.push_back(from.peer);
  to_say_.push_back({from.number, {.kind = FrameKind::had}});
}

void UcxTransport::count_arrival(Endpoint& from, const Frame& frame) {
  Peer& peer = peer_of(from);
  ++from.n_arrived;
  ++peer.n_arrived;
  answer_bye(peer, from);
  if (n_rails() == 1) return;  // nobody waits to hear of it
  if (from.untold_bytes == 0) untold_.push_back(from.number);
  from.untold_bytes += (frame.kind == FrameKind::eager ? frame.bytes : 0) + kHeadBytes;
}

void UcxTransport::take_up(Endpoint& from, std::size_t bytes) {
  if (bytes > 0) from.taken_up_bytes += bytes + kHeadBytes;
  // Now and then, so that the sender never runs dry and hears of it seldom.
  if (4 * from.taken_up_bytes >= options_.credit_bytes ||
      from.untold_bytes >= std::min(kTellBytes, options_.credit_bytes / 4))
    tell(from);
}

void UcxTransport::tell(Endpoint& endpoint) {
  to_say_.push_back(
      {endpoint.number,
       {.kind = FrameKind::credit, .sequence = endpoint.n_arrived, .bytes = endpoint.taken_up_bytes}});
  endpoint.unreported_bytes -= endpoint.taken_up_bytes;
  endpoint.taken_up_bytes = 0;
  endpoint.untold_bytes = 0;
}

void UcxTransport::tell_all() {
  for (const std::uint32_t number : untold_) {
    if (endpoints_[number].untold_bytes > 0) tell(endpoints_[number]);
  }
  untold_.clear();
  follow_up();
}

UcxTransport::Fetch& UcxTransport::add_fetch(const Endpoint& from, const Frame& frame, void* descriptor) {
  if (free_fetches_.empty()) {
    free_fetches_.push_back(static_cast<std::uint32_t>(fetches_.size()));
    fetches_.emplace_back();
  }
  const std::uint32_t number = free_fetches_.back();
  free_fetches_.pop_back();
  Fetch& fetch = fetches_[number];
  fetch = {.owner = this,
           .number = number,
           .endpoint = from.number,
           .tag = frame.tag,
           .sequence = frame.sequence,
           .bytes = frame.bytes,
           .descriptor = descriptor};
  return fetch;
}

void UcxTransport::begin_fetch(Fetch& fetch) {
  Endpoint& from = endpoints_[fetch.endpoint];
  const auto rail = static_cast<std::size_t>(from.rail);
  std::byte* const memory = inbox_.stream(from.peer, fetch.tag).find_posted(fetch.sequence)->memory.data();
  from.under_way_bytes += fetch.bytes;
  flushes_[rail].is_wanted = true;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = &Callbacks::on_fetched;
  param.user_data = &fetch;
  void* const request =
      ucp_.am_recv_data_nbx(rails_[rail]->worker(), fetch.descriptor, memory, fetch.bytes, &param);
  if (!UCS_PTR_IS_PTR(request)) on_fetched(fetch, UCS_PTR_RAW_STATUS(request));
}

void UcxTransport::on_fetched(Fetch& fetch, ucs_status_t status) {
  Endpoint& from = endpoints_[fetch.endpoint];
  from.under_way_bytes -= fetch.bytes;
  from.heard_at = Clock::now();
  flushes_[static_cast<std::size_t>(from.rail)].is_wanted = true;  // its sender has to hear of it
  free_fetches_.push_back(fetch.number);
  if (is_abandoned_) return;
  if (status != UCS_OK) {
    fail(from);
    peer_of(from).is_lost = true;
    return;
  }
  Inbox::Stream& stream = inbox_.stream(from.peer, fetch.tag);
  end_receive(from.peer, stream, *stream.find_posted(fetch.sequence));
}

void UcxTransport::end_receive(int peer, Inbox::Stream& stream, Inbox::Posted& posted) {
  posted.state = Inbox::Posted::State::done;
  finished_.push(posted.ticket);
  --peers_[static_cast<std::size_t>(peer)].owed_receives;
  stream.retire();
}

}  // namespace eco::transport::ucx
