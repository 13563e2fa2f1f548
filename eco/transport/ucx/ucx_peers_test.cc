// Who is heard, and what comes of whoever is not: strangers, malformed frames. (As tcp/tcp_peers_test.cc.)
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "eco/transport/ucx/testing.h"
#include "eco/transport/ucx/ucx_transport.h"

namespace eco::transport::ucx {
namespace {

using Memory = std::array<std::byte, 16>;
constexpr Memory kUntouched{};
constexpr std::uint64_t kBytes = kUntouched.size();

enum class By { eager, rendezvous };

// A rank made by hand, and a worker of UCX by which the test may send it anything, as its peer or as a stranger.
class UcxTarget {
 public:
  explicit UcxTarget(UcxOptions options = {}) {
    options.farewell_s = 0;
    tcp::fill_randomly(key);
    std::string reason;
    ucp_ = library(reason);
    mine_ = std::make_unique<Rail>(*ucp_, device(), 2);
    ucp_am_handler_param_t deaf{};
    deaf.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB;
    deaf.cb = [](void*, const void*, std::size_t, void*, std::size_t, const ucp_am_recv_param_t*) {
      return UCS_OK;
    };
    EXPECT_EQ(ucp_->worker_set_am_recv_handler(mine_->worker(), &deaf), UCS_OK);
    std::vector<std::unique_ptr<Rail>> theirs;
    theirs.push_back(std::make_unique<Rail>(*ucp_, device(), 2));
    const Address address = theirs.front()->address();
    transport = std::make_unique<UcxTransport>(
        *ucp_, Job{.rank = 0, .key = key, .addresses = {{address}, {mine_->address()}}}, std::move(theirs),
        options);
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    EXPECT_EQ(ucp_->ep_create(mine_->worker(), &params, &ep_), UCS_OK);
    // Something has to be owed, or waiting does nothing.
    EXPECT_EQ(transport->post_recv(1, 0, memory, 0), Status::ok);
  }
  ~UcxTarget() {
    transport.reset();
    ucp_request_param_t force{};
    force.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    force.flags = UCP_EP_CLOSE_FLAG_FORCE;
    requests_.push_back(ucp_->ep_close_nbx(ep_, &force));
    for (int i = 0; i < 1000; ++i) ucp_->worker_progress(mine_->worker());
    for (void* request : requests_) {
      if (UCS_PTR_IS_PTR(request)) ucp_->request_free(request);
    }
  }
  UcxTarget(const UcxTarget&) = delete;
  UcxTarget& operator=(const UcxTarget&) = delete;

  void send(std::vector<std::byte> head, std::size_t body_bytes, By by, unsigned id = 0) {
    const auto& sent = sent_.emplace_back(std::move(head), std::vector(body_bytes, std::byte{9}));
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = by == By::rendezvous ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
    requests_.push_back(ucp_->am_send_nbx(ep_, id, sent.first.data(), sent.first.size(), sent.second.data(),
                                          sent.second.size(), &param));
    ASSERT_FALSE(UCS_PTR_IS_ERR(requests_.back()));
  }
  // As rank 1.
  void send_frame(const Frame& frame, std::size_t body_bytes, By by = By::eager) {
    send(head_of(frame), body_bytes, by);
  }
  std::vector<std::byte> head_of(const Frame& frame) const {
    const Head head = encode(token(key, 1, 0), 1, frame);
    return {head.begin(), head.end()};
  }

  // Both go on until so many messages have come, or it has ended badly.
  Status look(std::size_t n_messages) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    Status status = Status::ok;
    while (status == Status::ok && n_done < n_messages && std::chrono::steady_clock::now() < until) {
      std::array<Ticket, 1> room{};
      std::size_t n = 0;
      ucp_->worker_progress(mine_->worker());
      status = transport->test_some(room, n);
      n_done += n;
      std::this_thread::yield();
    }
    return status;
  }

  tcp::Key key{};
  std::unique_ptr<UcxTransport> transport;
  Memory memory = kUntouched;
  std::size_t n_done = 0;

 private:
  const Library* ucp_ = nullptr;
  std::unique_ptr<Rail> mine_;
  ucp_ep_h ep_ = nullptr;
  std::deque<std::pair<std::vector<std::byte>, std::vector<std::byte>>> sent_;  // UCX reads them later
  std::vector<void*> requests_;
};

class UcxPeers : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_ucx().empty()) GTEST_SKIP() << why_no_ucx();
  }
};

TEST_F(UcxPeers, ARankOfTheJobIsHeard) {
  UcxTarget target;
  target.send_frame({.kind = FrameKind::eager, .bytes = kBytes}, kBytes);
  EXPECT_EQ(target.look(1), Status::ok);
  EXPECT_EQ(target.memory[15], std::byte{9});
  Memory more{};
  ASSERT_EQ(target.transport->post_recv(1, 0, more, 1), Status::ok);
  target.send_frame({.kind = FrameKind::request, .sequence = 1, .bytes = kBytes}, kBytes, By::rendezvous);
  EXPECT_EQ(target.look(2), Status::ok);
  EXPECT_EQ(more[15], std::byte{9});
  EXPECT_EQ(target.n_done, 2u);
  EXPECT_EQ(target.transport->n_refused(), 0u);
}

TEST_F(UcxPeers, StrangersAreNotHeardAndDisturbNobody) {
  UcxTarget target;
  std::size_t n_strange = 0;
  const auto say = [&](std::span<const std::byte> head) {
    for (const By by : {By::eager, By::rendezvous}) {
      target.send({head.begin(), head.end()}, kBytes, by);
      ++n_strange;
    }
  };
  for (const FrameKind kind : {FrameKind::eager, FrameKind::request, FrameKind::bye, FrameKind::credit}) {
    const Frame frame{.kind = kind, .bytes = kBytes};
    tcp::Key wrong = target.key;
    wrong.front() ^= std::byte{1};
    say(encode(token(wrong, 1, 0), 1, frame));
    say(encode(token(target.key, 0, 1), 1, frame));  // what the target says itself
    for (const int nobody : {0, 2, -1}) say(encode(token(target.key, nobody, 0), nobody, frame));
    std::vector<std::byte> head = target.head_of(frame);
    for (const std::size_t length : {0UL, 1UL, 8UL, 15UL, 16UL, kHeadBytes - 1})
      say(std::span(head).first(length));
    head.push_back({});
    say(head);
  }
  say(std::vector<std::byte>(kHeadBytes, std::byte{'x'}));
  // Messages that nobody takes are UCX's to drop.
  target.send(target.head_of({.kind = FrameKind::eager, .bytes = kBytes}), kBytes, By::eager, 7);
  // Those of a pair come in order: now the others have been there.
  const Frame real{.kind = FrameKind::eager, .bytes = kBytes - 1};
  target.send_frame(real, kBytes - 1);
  EXPECT_EQ(target.look(1), Status::ok) << "the job goes on";
  EXPECT_EQ(target.n_done, 1u);
  EXPECT_EQ(target.memory[14], std::byte{9});
  EXPECT_EQ(target.memory[15], std::byte{}) << "the only one that was taken";
  EXPECT_EQ(target.transport->n_refused(), n_strange);
  EXPECT_EQ(target.transport->waiting_bytes(), 0u);
}

// Where sockets of this process listen.
std::vector<tcp::Endpoint> doors() {
  std::vector<tcp::Endpoint> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename().string());
    int listens = 0;
    socklen_t length = sizeof listens;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || listens == 0) continue;
    sockaddr_in here{};
    length = sizeof here;
    if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&here), &length) != 0) continue;
    if (here.sin_family == AF_INET) found.push_back({"", ntohs(here.sin_port)});
  }
  return found;
}

// What UCX's own protocol is not, its own door turns away.
TEST_F(UcxPeers, NoiseAtUcxsDoorDisturbsNobody) {
  const std::string address = tcp::nics({device()}).front().address;
  UcxTarget target;
  std::vector<tcp::Socket> strangers;
  for (tcp::Endpoint door : doors()) {
    door.address = address;
    for (const std::size_t n : {0UL, 1UL, 7UL, 8UL, 100UL, 10000UL}) {
      for (const std::byte byte : {std::byte{0}, std::byte{'x'}, std::byte{0xff}}) {
        strangers.push_back(tcp::connect_from(address, door));
        ASSERT_TRUE(strangers.back()) << door.port;
        const std::vector<std::byte> noise(n, byte);
        static_cast<void>(::send(strangers.back().get(), noise.data(), n, MSG_NOSIGNAL));
        if (n % 2 == 1) strangers.back().close();
      }
    }
  }
  EXPECT_FALSE(strangers.empty());
  target.send_frame({.kind = FrameKind::eager, .bytes = kBytes}, kBytes);
  EXPECT_EQ(target.look(1), Status::ok);
  EXPECT_EQ(target.n_done, 1u);
  EXPECT_EQ(target.transport->n_refused(), 0u);
}

// Says what no rank says, knowing the job's key.
struct Mistake {
  const char* why;
  Frame frame;
  std::size_t body_bytes = 0;
  By by = By::eager;
};

TEST_F(UcxPeers, MalformedFramesEndTheJobTheyCameFrom) {
  constexpr UcxOptions kSmall{.eager_bytes = 1000, .credit_bytes = 4000};
  const std::vector<Mistake> mistakes = {
      {"never eager", {.kind = FrameKind::eager, .bytes = 1001}, 1001},
      {"longer than its receive", {.kind = FrameKind::eager, .bytes = 17}, 17},
      {"brings less than it says", {.kind = FrameKind::eager, .bytes = 16}, 15},
      {"brings more than it says", {.kind = FrameKind::eager, .bytes = 15}, 16},
      {"is not fetched", {.kind = FrameKind::eager, .bytes = 16}, 16, By::rendezvous},
      {"is not to be fetched", {.kind = FrameKind::request, .bytes = 16}, 16},
      {"is less than it says, fetched", {.kind = FrameKind::request, .bytes = 16}, 15, By::rendezvous},
      {"is more than it says, fetched", {.kind = FrameKind::request, .bytes = 15}, 16, By::rendezvous},
      {"longer than its receive, fetched", {.kind = FrameKind::request, .bytes = 17}, 17, By::rendezvous},
      {"not asked for", {.kind = FrameKind::data, .bytes = 16}, 16},
      {"of no send", {.kind = FrameKind::matched, .id = 3}},
      {"more than was sent", {.kind = FrameKind::credit, .bytes = 1}},
      {"of messages that were not sent", {.kind = FrameKind::credit, .sequence = 1}},
      {"what TCP says", {.kind = FrameKind::lost}},
      {"no tag", {.kind = FrameKind::eager, .tag = tcp::kMaxTag + 1, .bytes = 16}, 16},
  };
  for (const Mistake& each : mistakes) {
    SCOPED_TRACE(each.why);
    UcxTarget target(kSmall);
    target.send_frame(each.frame, each.body_bytes, each.by);
    EXPECT_EQ(target.look(1), Status::failed);
    EXPECT_EQ(target.n_done, 0u);
    EXPECT_EQ(target.memory, kUntouched);
  }
  UcxTarget noise;
  std::vector<std::byte> head = noise.head_of({});
  std::fill(head.begin() + 16, head.end(), std::byte{'x'});
  noise.send(head, 0, By::eager);
  EXPECT_EQ(noise.look(1), Status::failed);
  UcxTarget greedy(kSmall);
  for (std::uint64_t i = 0; i < 5; ++i)
    greedy.send_frame({.kind = FrameKind::eager, .tag = 1, .sequence = i, .bytes = 900}, 900);
  EXPECT_EQ(greedy.look(1), Status::failed) << "more than its credit";
  EXPECT_LE(greedy.transport->waiting_bytes(), 4000u);
}

TEST_F(UcxPeers, AMessageThatComesAgainEndsTheJob) {
  for (const By first : {By::eager, By::rendezvous}) {
    for (const By second : {By::eager, By::rendezvous}) {
      for (const bool is_posted : {true, false}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(first) << static_cast<int>(second) << is_posted);
        UcxTarget target;
        const auto say = [&](By by) {
          const FrameKind kind = by == By::eager ? FrameKind::eager : FrameKind::request;
          const Frame frame{.kind = kind, .tag = is_posted ? 0U : 1U, .bytes = kBytes};
          target.send_frame(frame, kBytes, by);
        };
        say(first);
        if (is_posted) {
          EXPECT_EQ(target.look(1), Status::ok);
          EXPECT_EQ(target.memory[15], std::byte{9});
          target.memory = kUntouched;
          ASSERT_EQ(target.transport->post_recv(1, 0, target.memory, 1), Status::ok);
        }
        say(second);
        EXPECT_EQ(target.look(2), Status::failed);
        EXPECT_EQ(target.memory, kUntouched);
      }
    }
  }
}

}  // namespace
}  // namespace eco::transport::ucx
