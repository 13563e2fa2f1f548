#include "eco/transport/tcp/greeting.h"

#include <algorithm>

#include "eco/transport/tcp/little_endian.h"

namespace eco::transport::tcp {
namespace {

constexpr std::uint64_t kHelloMagic = 0x3350'4354'2d4f'4345;  // "ECO-TCP3"

// Hashes of the two directions differ, or one side could send back what it was sent.
enum class Side : std::uint8_t { other, opener };

std::uint64_t hash(const Key& key, Side side, const HelloBytes& hello, std::span<const std::byte, 16> nonce) {
  std::array<std::byte, 1 + sizeof(HelloBytes) + sizeof(Nonce)> all{};
  all[0] = static_cast<std::byte>(side);
  std::copy(hello.begin(), hello.end(), all.begin() + 1);
  std::copy(nonce.begin(), nonce.end(), all.begin() + 1 + sizeof(HelloBytes));
  return keyed_hash(key, all);
}

std::span<const std::byte, 16> nonce_of(const AnswerBytes& answer) {
  return std::span(answer).first<sizeof(Nonce)>();
}

}  // namespace

HelloBytes encode(const Hello& hello) {
  HelloBytes bytes{};
  store(kHelloMagic, bytes.data());
  store(hello.from, bytes.data() + 8);
  store(hello.to, bytes.data() + 12);
  store(hello.rail, bytes.data() + 16);
  store(hello.n_ranks, bytes.data() + 20);
  std::copy(hello.nonce.begin(), hello.nonce.end(), bytes.begin() + 24);
  return bytes;
}

std::optional<Hello> decode(const HelloBytes& bytes) {
  if (load<std::uint64_t>(bytes.data()) != kHelloMagic) return std::nullopt;
  Hello hello{.from = load<std::uint32_t>(bytes.data() + 8),
              .to = load<std::uint32_t>(bytes.data() + 12),
              .rail = load<std::uint32_t>(bytes.data() + 16),
              .n_ranks = load<std::uint32_t>(bytes.data() + 20),
              .nonce = {}};
  std::copy(bytes.begin() + 24, bytes.end(), hello.nonce.begin());
  return hello;
}

AnswerBytes answer(const Key& key, const HelloBytes& hello, const Nonce& nonce) {
  AnswerBytes bytes{};
  std::copy(nonce.begin(), nonce.end(), bytes.begin());
  store(hash(key, Side::other, hello, nonce), bytes.data() + sizeof(Nonce));
  return bytes;
}

bool is_answer(const Key& key, const HelloBytes& hello, const AnswerBytes& answer) {
  return load<std::uint64_t>(answer.data() + sizeof(Nonce)) ==
         hash(key, Side::other, hello, nonce_of(answer));
}

ProofBytes proof(const Key& key, const HelloBytes& hello, const AnswerBytes& answer) {
  ProofBytes bytes{};
  store(hash(key, Side::opener, hello, nonce_of(answer)), bytes.data());
  return bytes;
}

}  // namespace eco::transport::tcp
