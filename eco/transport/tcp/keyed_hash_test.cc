#include "eco/transport/tcp/keyed_hash.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "eco/transport/tcp/frame.h"
#include "eco/transport/tcp/greeting.h"

namespace eco::transport::tcp {
namespace {

TEST(KeyedHash, IsThePapersOne) {
  Key key;
  std::vector<std::byte> message;
  for (int i = 0; i < 16; ++i) key[static_cast<std::size_t>(i)] = static_cast<std::byte>(i);
  for (int i = 0; i < 15; ++i) message.push_back(static_cast<std::byte>(i));
  EXPECT_EQ(keyed_hash(key, message), 0xa129ca6149be45e5U) << "appendix A";
  message.pop_back();
  EXPECT_NE(keyed_hash(key, message), 0xa129ca6149be45e5U);
  // openssl mac -macopt hexkey:000102030405060708090a0b0c0d0e0f -macopt size:8 -in FILE SIPHASH: no byte, whole words, a
  // greeting's length, the longest whose length fits into its last word.
  const std::map<std::size_t, std::uint64_t> by_openssl = {{0, 0x726fdb47dd0e0e31U},
                                                           {8, 0x93f5f5799a932462U},
                                                           {57, 0xea1ad565322a1a0bU},
                                                           {255, 0xa9c169fec74db21aU}};
  for (const auto& [n_bytes, hash] : by_openssl) {
    message.clear();
    for (std::size_t i = 0; i < n_bytes; ++i) message.push_back(static_cast<std::byte>(i));
    EXPECT_EQ(keyed_hash(key, message), hash) << n_bytes;
  }
}

TEST(Greeting, ProvesTheKeyAndNothingElseDoes) {
  Key key, other;
  fill_randomly(key);
  fill_randomly(other);
  ASSERT_NE(key, other);
  Hello hello{.from = 3, .to = 1, .rail = 1, .n_ranks = 4, .nonce = {}};
  fill_randomly(hello.nonce);
  const HelloBytes bytes = encode(hello);
  EXPECT_EQ(decode(bytes), hello);
  HelloBytes changed = bytes;
  changed[0] ^= std::byte{1};
  EXPECT_FALSE(decode(changed));
  changed = bytes;
  changed[8] ^= std::byte{1};  // another rank's

  Nonce nonce;
  fill_randomly(nonce);
  const AnswerBytes right = answer(key, bytes, nonce);
  EXPECT_TRUE(is_answer(key, bytes, right));
  EXPECT_FALSE(is_answer(key, changed, right));
  EXPECT_FALSE(is_answer(other, bytes, right));
  const ProofBytes proved = proof(key, bytes, right);
  EXPECT_NE(proved, proof(other, bytes, right));
  EXPECT_NE(proved, proof(key, changed, right));
  EXPECT_FALSE(std::equal(proved.begin(), proved.end(), right.begin() + sizeof(Nonce)))
      << "what the other sent would do as one's own proof";
}

TEST(Frame, AllKindsThereAndBackAndNoOthers) {
  for (std::size_t kind = 0; kind < kFrameKinds; ++kind) {
    const Frame frame{.kind = static_cast<FrameKind>(kind),
                      .wants_match = kind % 2 == 1,
                      .tag = 60000,
                      .id = 7,
                      .sequence = std::uint64_t{1} << 40,
                      .bytes = 123456789};
    FrameHead head;
    encode(frame, head);
    EXPECT_EQ(decode(head), frame);
    for (const std::size_t byte : {0U, 3U, 4U, 5U, 6U, 7U, 10U, 31U}) {
      FrameHead bad = head;
      bad[byte] ^= std::byte{0x80};
      EXPECT_FALSE(decode(bad)) << byte;
    }
  }
}

}  // namespace
}  // namespace eco::transport::tcp
