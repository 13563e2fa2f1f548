#include "eco/transport/ucx/ucx_transport.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "eco/base/errors.h"

namespace eco::transport::ucx {
namespace {

// A worker that always has something more to do leaves the others their turn.
constexpr int kTurnsAtOnce = 64;
// Who sleeps looks at its clocks at least so often.
constexpr int kLongestSleep_ms = 20;

}  // namespace

// Nothing may be thrown through UCX.
ucs_status_t Callbacks::on_message(void* argument, const void* header, std::size_t header_bytes, void* data,
                                   std::size_t n, const ucp_am_recv_param_t* param) {
  const auto* to = static_cast<const UcxTransport::RailArgument*>(argument);
  const bool is_request = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  try {
    const auto* bytes = is_request ? nullptr : static_cast<const std::byte*>(data);
    return to->owner->on_message(to->rail, {static_cast<const std::byte*>(header), header_bytes}, bytes, n,
                                 is_request ? data : nullptr);
  } catch (...) {  // no memory
    to->owner->has_failed_ = true;
    return UCS_OK;
  }
}

void Callbacks::on_sent(void* request, ucs_status_t status, void* argument) {
  auto* const send = static_cast<UcxTransport::Send*>(argument);
  send->owner->ucp_.request_free(request);
  send->owner->on_sent(*send, status);
}

void Callbacks::on_fetched(void* request, ucs_status_t status, std::size_t, void* argument) {
  auto* const fetch = static_cast<UcxTransport::Fetch*>(argument);
  fetch->owner->ucp_.request_free(request);
  fetch->owner->on_fetched(*fetch, status);
}

void Callbacks::on_error(void* argument, ucp_ep_h, ucs_status_t) {
  auto* const endpoint = static_cast<UcxTransport::Endpoint*>(argument);
  endpoint->owner->fail(*endpoint);
}

UcxTransport::UcxTransport(const Library& ucp, Job job, std::vector<std::unique_ptr<Rail>> rails,
                           UcxOptions options)
    : ucp_(ucp), job_(std::move(job)), options_(options), rails_(std::move(rails)) {
  events_ = tcp::Socket(::epoll_create1(EPOLL_CLOEXEC));
  if (!events_) throw TransportError(std::string("ucx: no epoll: ") + std::strerror(errno));
  const std::size_t n_ranks = job_.addresses.size();
  peers_.resize(n_ranks);
  for (int peer = 0; peer < job_.n_ranks(); ++peer) {
    peers_[static_cast<std::size_t>(peer)].token_out = token(job_.key, job_.rank, peer);
    peers_[static_cast<std::size_t>(peer)].token_in = token(job_.key, peer, job_.rank);
  }
  endpoints_.resize(n_ranks * rails_.size());
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    endpoints_[i].owner = this;
    endpoints_[i].number = static_cast<std::uint32_t>(i);
    endpoints_[i].peer = static_cast<int>(i / rails_.size());
    endpoints_[i].rail = static_cast<int>(i % rails_.size());
  }
  flushes_.resize(rails_.size());
  for (std::size_t rail = 0; rail < rails_.size(); ++rail)
    arguments_.push_back({this, static_cast<int>(rail)});
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                         UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = 0;
    handler.flags = UCP_AM_FLAG_WHOLE_MSG;
    handler.cb = &Callbacks::on_message;
    handler.arg = &arguments_[rail];
    if (ucp_.worker_set_am_recv_handler(rails_[rail]->worker(), &handler) != UCS_OK)
      throw TransportError("ucx: no active messages (" + ucp_.path + ")");
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, rails_[rail]->descriptor(), &event) != 0)
      throw TransportError(std::string("ucx: cannot wait for a rail: ") + std::strerror(errno));
  }
}

UcxTransport::~UcxTransport() {
  const bool owes = std::any_of(peers_.begin(), peers_.end(),
                                [](const Peer& peer) { return peer.owed_receives + peer.owed_sends > 0; });
  if (owes) abandon();
  if (!is_abandoned_) {
    say_bye();
    end();
  }
}

void UcxTransport::reach_next() {
  const int next = (rank() + 1) % n_ranks();
  if (next == rank()) return;
  for (int rail = 0; rail < n_rails(); ++rail) {
    // Kept: UCX numbers a pair's connections, and one side's that is closed at once confuses the other's.
    if (open(endpoint(next, rail))) continue;
    throw TransportError("ucx: no way to rank " + std::to_string(next) + " on rail " + std::to_string(rail) +
                         " (" + ucp_.path + ")");
  }
}

// Bytes that UCX has taken may still be on this host, and go down with it: so peers that were spoken to say that they
// have everything, or leave too, and want no more.
void UcxTransport::say_bye() {
  const auto deadline = Clock::now() + seconds_of(options_.farewell_s);
  tell_all();
  std::vector<Peer*> waited_for;
  for (int number = 0; number < n_ranks(); ++number) {
    Peer& peer = peers_[static_cast<std::size_t>(number)];
    Endpoint* way = nullptr;
    for (int rail = n_rails(); rail-- > 0;) {
      Endpoint& each = endpoint(number, rail);
      if (!each.is_broken && (each.n_sent > 0 || each.was_heard)) way = &each;
    }
    if (way == nullptr || peer.is_lost || peer.has_left()) continue;
    say(*way, {.kind = FrameKind::bye, .sequence = peer.n_sent});
    waited_for.push_back(&peer);
  }
  const auto is_waited_for = [](const Peer* peer) {
    return !peer->has_all && !peer->is_lost && !peer->has_left();
  };
  bool is_flushed_out = false;
  while (Clock::now() < deadline &&
         (!is_flushed_out || std::any_of(waited_for.begin(), waited_for.end(), is_waited_for))) {
    progress();
    is_flushed_out = is_flushed();
    if (!is_flushed_out) continue;
    sleep();
  }
}

void UcxTransport::abandon() {
  if (is_abandoned_) return;
  is_abandoned_ = true;
  end();
}

// What is under way ends with the endpoints: no memory of the caller's is touched any more.
void UcxTransport::end() {
  is_abandoned_ = true;
  inbox_.for_arrived([this](const Inbox::Arrived& message) {
    const auto rail = static_cast<std::size_t>(endpoints_[message.connection].rail);
    if (message.descriptor != nullptr) ucp_.am_data_release(rails_[rail]->worker(), message.descriptor);
  });
  for (Endpoint& each : endpoints_) close(each);
  constexpr int kTurnsForClosing = 1000;
  for (int turn = 0; turn < kTurnsForClosing && !closing_.empty(); ++turn) progress();
  for (Flush& flush : flushes_) {
    if (flush.request != nullptr) ucp_.request_free(flush.request);
  }
  flushes_.clear();
  for (void* request : closing_) ucp_.request_free(request);
  closing_.clear();
  rails_.clear();
  inbox_.clear();
  sends_.clear();
  free_sends_.clear();
  fetches_.clear();
  free_fetches_.clear();
  finished_.clear();
  n_posted_ = 0;
  waiting_bytes_ = 0;
  for (Peer& peer : peers_) peer = {};
}

void UcxTransport::progress() {
  for (const auto& rail : rails_) {
    for (int turn = 0; turn < kTurnsAtOnce && ucp_.worker_progress(rail->worker()) != 0; ++turn) {
    }
  }
  follow_up();
}

void UcxTransport::follow_up() {
  if (is_abandoned_) {
    to_fetch_.clear();
    to_say_.clear();
    failed_endpoints_.clear();
  }
  for (std::size_t i = 0; i < to_fetch_.size(); ++i) begin_fetch(fetches_[to_fetch_[i]]);
  to_fetch_.clear();
  for (std::size_t i = 0; i < to_say_.size(); ++i) {
    const Word word = to_say_[i];
    say(endpoints_[word.endpoint], word.frame);
  }
  to_say_.clear();
  for (std::size_t i = 0; i < failed_endpoints_.size(); ++i) close(endpoints_[failed_endpoints_[i]]);
  failed_endpoints_.clear();
  std::erase_if(closing_, [this](void* request) {
    if (ucp_.request_check_status(request) == UCS_INPROGRESS) return false;
    ucp_.request_free(request);
    return true;
  });
}

bool UcxTransport::open(Endpoint& endpoint) {
  if (endpoint.ep != nullptr) return true;
  if (endpoint.is_broken || is_abandoned_) return false;
  const Address& address =
      job_.addresses[static_cast<std::size_t>(endpoint.peer)][static_cast<std::size_t>(endpoint.rail)];
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &Callbacks::on_error;
  params.err_handler.arg = &endpoint;
  const auto rail = static_cast<std::size_t>(endpoint.rail);
  if (ucp_.ep_create(rails_[rail]->worker(), &params, &endpoint.ep) == UCS_OK) return true;
  endpoint.ep = nullptr;
  fail(endpoint);
  return false;
}

// Also from inside of UCX.
void UcxTransport::fail(Endpoint& endpoint) {
  if (endpoint.is_broken || is_abandoned_) return;
  endpoint.is_broken = true;
  failed_endpoints_.push_back(endpoint.number);
  Peer& peer = peer_of(endpoint);
  gone_.push_back(endpoint.peer);
  if (peer.has_left()) return;
  peer.is_lost = true;
}

void UcxTransport::close(Endpoint& endpoint) {
  if (endpoint.ep == nullptr) return;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  void* const request = ucp_.ep_close_nbx(endpoint.ep, &param);
  if (UCS_PTR_IS_PTR(request)) closing_.push_back(request);
  endpoint.ep = nullptr;
}

bool UcxTransport::is_flushed() {
  bool is_done = true;
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    Flush& flush = flushes_[rail];
    if (flush.request == nullptr && flush.is_wanted) {
      flush.is_wanted = false;
      const ucp_request_param_t param{};
      void* const request = ucp_.worker_flush_nbx(rails_[rail]->worker(), &param);
      if (UCS_PTR_IS_PTR(request)) flush.request = request;
    }
    if (flush.request != nullptr && ucp_.request_check_status(flush.request) != UCS_INPROGRESS) {
      ucp_.request_free(flush.request);
      flush.request = nullptr;
    }
    is_done &= flush.request == nullptr && !flush.is_wanted;
  }
  return is_done;
}

bool UcxTransport::is_pending() {
  if (is_abandoned_) return false;
  if (n_in_use_ > 0 || !is_flushed()) return true;
  if (n_rails() == 1) return false;
  return std::any_of(endpoints_.begin(), endpoints_.end(), [this](const Endpoint& each) {
    if (each.is_broken || peer_of(const_cast<Endpoint&>(each)).has_left()) return false;
    return each.untold_bytes > 0 || each.n_told < each.n_sent;
  });
}

void UcxTransport::look() {
  if (is_abandoned_) return;
  tell_all();
  progress();
  watch();
}

int UcxTransport::descriptor() {
  for (const auto& rail : rails_) {
    if (ucp_.worker_arm(rail->worker()) != UCS_OK) return -1;
  }
  return events_.get();
}

void UcxTransport::sleep() {
  const int readable = descriptor();
  if (readable < 0) return;
  pollfd wanted{.fd = readable, .events = POLLIN, .revents = 0};
  static_cast<void>(::poll(&wanted, 1, kLongestSleep_ms));
}

Status UcxTransport::wait_some(std::span<Ticket> done, std::size_t& n_done) {
  n_done = 0;
  if (n_posted_ == 0) return Status::ok;
  progress();
  while (n_posted_ > 0 && finished_.empty() && !has_failed_ && !has_lost_peer()) {
    tell_all();
    watch();
    sleep();
    progress();
  }
  return hand_out(done, n_done);
}

Status UcxTransport::test_some(std::span<Ticket> done, std::size_t& n_done) {
  n_done = 0;
  if (is_abandoned_) return Status::ok;
  progress();
  if (finished_.empty() && n_posted_ > 0) {
    tell_all();
    watch();
  }
  return hand_out(done, n_done);
}

bool UcxTransport::has_lost_peer() const {
  return std::any_of(gone_.begin(), gone_.end(), [this](int rank) {
    const Peer& peer = peers_[static_cast<std::size_t>(rank)];
    if (peer.is_lost) return peer.owed_receives + peer.owed_sends > 0;
    return peer.has_left() && peer.owed_receives > 0;
  });
}

}  // namespace eco::transport::ucx
