// How two ranks of a job recognise each other when a connection opens: each proves that it knows the job's key, which
// itself never travels on it.
//
//   opener -> other    Hello: who I am, whom I want, over which rail; my nonce
//   other -> opener    Answer: its nonce, and the keyed hash of all so far
//   opener -> other    Proof: another keyed hash of the same
//   other -> opener    Welcome: it is let in
//
// Until it is welcome the opener sends nothing else, so whoever is turned away in between may simply come again.
// Both nonces are in both hashes, so nothing that was heard before helps anybody. What follows is not protected: like
// every MPI library's TCP, ECO trusts the network to carry what ranks send each other, and not that only ranks connect.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "eco/transport/tcp/keyed_hash.h"

namespace eco::transport::tcp {

struct Hello {
  std::uint32_t from = 0;  // ranks
  std::uint32_t to = 0;
  std::uint32_t rail = 0;
  std::uint32_t n_ranks = 0;
  Nonce nonce{};
  friend bool operator==(const Hello&, const Hello&) = default;
};

using HelloBytes = std::array<std::byte, 40>;
using AnswerBytes = std::array<std::byte, 24>;
using ProofBytes = std::array<std::byte, 8>;
using WelcomeBytes = std::array<std::byte, 4>;
inline constexpr WelcomeBytes kWelcome = {std::byte{'c'}, std::byte{'o'}, std::byte{'m'}, std::byte{'e'}};

HelloBytes encode(const Hello& hello);
// Nothing if it is none: a stranger, or another version.
std::optional<Hello> decode(const HelloBytes& bytes);

AnswerBytes answer(const Key& key, const HelloBytes& hello, const Nonce& nonce);
bool is_answer(const Key& key, const HelloBytes& hello, const AnswerBytes& answer);
ProofBytes proof(const Key& key, const HelloBytes& hello, const AnswerBytes& answer);

}  // namespace eco::transport::tcp
