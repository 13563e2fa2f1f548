#include "eco/transport/tcp/keyed_hash.h"

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "eco/base/errors.h"
#include "eco/transport/tcp/little_endian.h"

namespace eco::transport::tcp {
namespace {

struct State {
  std::uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1, v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1, v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }

  void take(std::uint64_t word) {
    v3 ^= word;
    round(), round();
    v0 ^= word;
  }
};

}  // namespace

std::uint64_t keyed_hash(const Key& key, std::span<const std::byte> bytes) {
  const auto k0 = load<std::uint64_t>(key.data());
  const auto k1 = load<std::uint64_t>(key.data() + 8);
  // "somepseudorandomlygeneratedbytes", as the paper has it.
  State state{k0 ^ 0x736f6d6570736575U, k1 ^ 0x646f72616e646f6dU, k0 ^ 0x6c7967656e657261U,
              k1 ^ 0x7465646279746573U};
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) state.take(load<std::uint64_t>(bytes.data() + at));
  std::uint64_t last = static_cast<std::uint64_t>(bytes.size()) << 56;
  for (std::size_t i = 0; at + i < bytes.size(); ++i)
    last |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
  state.take(last);
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

void fill_randomly(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::getrandom(bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      throw TransportError(std::string("tcp: the kernel gives no random bytes for a job's key: ") +
                           std::strerror(errno));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace eco::transport::tcp
