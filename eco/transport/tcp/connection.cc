#include "eco/transport/tcp/connection.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace eco::transport::tcp {
namespace {

// Heads and small messages come many to a read; what is missing of a larger body goes straight to its place.
constexpr std::size_t kStageBytes = 16384;
// After so much others have their turn: the descriptor says again that there is more.
constexpr std::size_t kTurnBytes = std::size_t{1} << 20;
constexpr std::size_t kFramesAtOnce = 16;

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

Connection Connection::opened(Socket socket, std::uint32_t number, const Key& key, const Hello& hello) {
  Connection connection(std::move(socket), number, key, Phase::connecting);
  connection.is_opener_ = true;
  connection.hello_ = hello;
  connection.hello_bytes_ = encode(hello);
  return connection;
}

Connection Connection::accepted(Socket socket, std::uint32_t number, const Key& key) {
  return {std::move(socket), number, key, Phase::wait_hello};
}

void Connection::rest() {
  socket_.close();
  phase_ = Phase::resting;
  words_.clear();
  stage_begin_ = stage_end_ = 0;
  n_read_ = n_written_ = n_acknowledged_ = 0;
  cannot_write_ = false;
}

void Connection::knock(Socket socket, const Hello& hello) {
  socket_ = std::move(socket);
  hello_ = hello;
  hello_bytes_ = encode(hello);
  phase_ = Phase::connecting;
}

void Connection::put(const Frame& frame, std::span<const std::byte> body, std::uint32_t send) {
  Outgoing item;
  encode(frame, item.head);
  item.body = body;
  item.send = send;
  outgoing_.push(item);
}

bool Connection::wants_to_write() const {
  if (cannot_write_) return false;
  return phase_ == Phase::connecting || !words_.empty() || (phase_ == Phase::open && !outgoing_.empty());
}

std::uint64_t Connection::carried_bytes() const {
  const std::uint64_t held = unacknowledged_bytes(socket_);
  return n_read_ + (n_written_ > held ? n_written_ - held : 0);
}

bool Connection::is_acknowledged() {
  if (n_acknowledged_ < n_written_ && unacknowledged_bytes(socket_) == 0) n_acknowledged_ = n_written_;
  return n_acknowledged_ == n_written_;
}

void Connection::say(std::span<const std::byte> words) {
  words_.insert(words_.end(), words.begin(), words.end());
}

bool Connection::send_words(bool& blocked) {
  while (!words_.empty()) {
    const ssize_t n = ::send(socket_.get(), words_.data(), words_.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      blocked = would_block();
      return blocked;
    }
    n_written_ += static_cast<std::uint64_t>(n);
    words_.erase(words_.begin(), words_.begin() + n);
  }
  return true;
}

Connection::End Connection::flush(Owner& owner) {
  if (cannot_write_ || phase_ == Phase::resting) return End::none;
  if (phase_ == Phase::connecting) {
    if (!is_connected(socket_)) return End::broken;
    phase_ = Phase::wait_answer;
    say(hello_bytes_);
  }
  bool blocked = false;
  if (!send_words(blocked)) cannot_write_ = true;
  while (!cannot_write_ && !blocked && phase_ == Phase::open && !outgoing_.empty()) {
    std::array<iovec, 2 * kFramesAtOnce> pieces;
    std::size_t n_pieces = 0;
    const std::size_t n_items = std::min(outgoing_.size(), kFramesAtOnce);
    for (std::size_t i = 0; i < n_items; ++i) {
      Outgoing& item = outgoing_[i];
      if (item.sent < kFrameBytes)
        pieces[n_pieces++] = {item.head.data() + item.sent, kFrameBytes - item.sent};
      const std::size_t body_sent = item.sent > kFrameBytes ? item.sent - kFrameBytes : 0;
      // writev() takes no memory that it may not write; it does not write.
      if (body_sent < item.body.size()) {
        pieces[n_pieces++] = {const_cast<std::byte*>(item.body.data()) + body_sent,
                              item.body.size() - body_sent};
      }
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = n_pieces;
    const ssize_t n = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      blocked = would_block();
      cannot_write_ = !blocked;
      break;
    }
    n_written_ += static_cast<std::uint64_t>(n);
    for (auto left = static_cast<std::size_t>(n); !outgoing_.empty();) {
      Outgoing& item = outgoing_.front();
      const std::size_t taken = std::min(left, kFrameBytes + item.body.size() - item.sent);
      item.sent += taken;
      left -= taken;
      if (item.sent < kFrameBytes + item.body.size()) break;
      const std::uint32_t send = item.send;
      outgoing_.pop();
      if (send != kNoSend) owner.on_written(send);
    }
  }
  // Why it can't is for read() to find: what the other side sent before it went, its bye perhaps, is still to be read.
  // Where it has not gone (memory that can't be read) this is its end all the same, or both would wait.
  if (cannot_write_) {
    if (phase_ == Phase::open) outgoing_.clear();  // else it may come again
    words_.clear();
    ::shutdown(socket_.get(), SHUT_RDWR);
  }
  return End::none;
}

Connection::End Connection::read(Owner& owner) {
  if (phase_ == Phase::connecting || phase_ == Phase::resting) return End::none;
  if (stage_.empty()) stage_.resize(kStageBytes);
  for (std::size_t turn = 0; turn < kTurnBytes;) {
    std::array<iovec, 2> pieces;
    std::size_t n_pieces = 0;
    if (in_body_) pieces[n_pieces++] = {body_.data(), body_.size()};
    pieces[n_pieces++] = {stage_.data() + stage_end_, stage_.size() - stage_end_};
    const ssize_t got = ::readv(socket_.get(), pieces.data(), static_cast<int>(n_pieces));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && would_block()) return End::none;
    if (got <= 0) return has_said_bye_ ? End::orderly : End::broken;
    auto n = static_cast<std::size_t>(got);
    turn += n;
    n_read_ += n;
    if (in_body_) {
      const std::size_t into_body = std::min(n, body_.size());
      body_ = body_.subspan(into_body);
      n -= into_body;
    }
    stage_end_ += n;
    if (!digest(owner)) return End::refused;
  }
  return End::none;
}

std::size_t Connection::head_bytes() const {
  switch (phase_) {
    case Phase::wait_hello:
      return sizeof(HelloBytes);
    case Phase::wait_answer:
      return sizeof(AnswerBytes);
    case Phase::wait_proof:
      return sizeof(ProofBytes);
    case Phase::wait_welcome:
      return sizeof(WelcomeBytes);
    default:
      return kFrameBytes;
  }
}

bool Connection::digest(Owner& owner) {
  while (true) {
    if (in_body_) {
      const std::size_t n = std::min(body_.size(), stage_end_ - stage_begin_);
      if (n > 0) std::memcpy(body_.data(), stage_.data() + stage_begin_, n);
      stage_begin_ += n;
      body_ = body_.subspan(n);
      if (!body_.empty()) break;
      in_body_ = false;
      if (!owner.on_body(*this, frame_)) return false;
      continue;
    }
    const std::size_t n = head_bytes();
    if (stage_end_ - stage_begin_ < n) break;
    const std::span<const std::byte> head = std::span<const std::byte>(stage_).subspan(stage_begin_, n);
    stage_begin_ += n;
    if (!digest_head(owner, head)) return false;
  }
  // Less than a head is left, if anything: there is always room for the next read.
  std::copy(stage_.begin() + static_cast<std::ptrdiff_t>(stage_begin_),
            stage_.begin() + static_cast<std::ptrdiff_t>(stage_end_), stage_.begin());
  stage_end_ -= stage_begin_;
  stage_begin_ = 0;
  return true;
}

bool Connection::digest_head(Owner& owner, std::span<const std::byte> head) {
  if (phase_ != Phase::open) return greet(owner, head);
  const std::optional<Frame> frame = decode(head.first<kFrameBytes>());
  if (!frame || has_said_bye_) return false;
  if (!(is_opener_ ? is_of_other(frame->kind) : is_of_opener(frame->kind))) return false;
  if (frame->kind == FrameKind::bye) {
    has_said_bye_ = true;
    return true;
  }
  const std::optional<std::span<std::byte>> body = owner.on_frame(*this, *frame);
  if (!body) return false;
  if (has_body(frame->kind)) {
    frame_ = *frame;
    body_ = *body;
    in_body_ = true;
  }
  return true;
}

bool Connection::greet(Owner& owner, std::span<const std::byte> words) {
  switch (phase_) {
    case Phase::wait_hello: {
      std::copy(words.begin(), words.end(), hello_bytes_.begin());
      const std::optional<Hello> hello = decode(hello_bytes_);
      if (!hello || !owner.on_hello(*hello)) return false;
      hello_ = *hello;
      Nonce nonce;
      fill_randomly(nonce);
      answer_ = answer(key_, hello_bytes_, nonce);
      say(answer_);
      phase_ = Phase::wait_proof;
      return true;
    }
    case Phase::wait_answer: {
      std::copy(words.begin(), words.end(), answer_.begin());
      if (!is_answer(key_, hello_bytes_, answer_)) return false;
      say(proof(key_, hello_bytes_, answer_));
      phase_ = Phase::wait_welcome;
      return true;
    }
    case Phase::wait_welcome: {
      if (!std::equal(words.begin(), words.end(), kWelcome.begin(), kWelcome.end())) return false;
      if (!owner.on_welcome(*this)) return false;
      phase_ = Phase::open;
      return true;
    }
    case Phase::wait_proof: {
      const ProofBytes right = proof(key_, hello_bytes_, answer_);
      if (!std::equal(words.begin(), words.end(), right.begin(), right.end())) return false;
      if (!owner.on_welcome(*this)) return false;
      say(kWelcome);
      phase_ = Phase::open;
      return true;
    }
    default:
      return false;
  }
}

}  // namespace eco::transport::tcp
