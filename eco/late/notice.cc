#include "eco/late/notice.h"

#include <cstring>
#include <utility>

#include "eco/base/assert.h"

namespace eco::late {
namespace {

// As it lies in a message; ranks of one job have one byte order (arming compares versions of one program).
struct Wire {
  std::int32_t kind;
  std::int32_t feeder;
  std::int32_t place;
  std::int32_t leads;
  std::uint64_t n_data;
  std::uint64_t n_ranks;  // of both lists
  std::uint64_t n_first;
};

}  // namespace

std::size_t notice_bytes(std::size_t n_ranks) { return sizeof(Wire) + n_ranks * sizeof(std::int32_t); }

std::vector<std::byte> write(Notice notice, std::span<const std::byte> data) {
  std::vector<int> ranks = std::move(notice.ranks);
  ranks.insert(ranks.end(), notice.first.begin(), notice.first.end());
  const Wire wire{static_cast<std::int32_t>(notice.kind),
                  notice.feeder,
                  notice.place,
                  notice.leads ? 1 : 0,
                  data.size(),
                  ranks.size(),
                  notice.first.size()};
  std::vector<std::byte> bytes(notice_bytes(ranks.size()) + data.size());
  std::memcpy(bytes.data(), &wire, sizeof wire);
  static_assert(sizeof(int) == sizeof(std::int32_t));
  if (!ranks.empty()) std::memcpy(bytes.data() + sizeof wire, ranks.data(), ranks.size() * sizeof(int));
  if (!data.empty()) std::memcpy(bytes.data() + notice_bytes(ranks.size()), data.data(), data.size());
  return bytes;
}

Notice read(std::span<const std::byte> bytes, std::span<const std::byte>& data) {
  Wire wire{};
  ECO_ASSERT(light, bytes.size() >= sizeof wire, "a notice has its head");
  std::memcpy(&wire, bytes.data(), sizeof wire);
  const std::size_t before = notice_bytes(wire.n_ranks);
  ECO_ASSERT(
      light,
      wire.n_ranks <= bytes.size() && before + wire.n_data <= bytes.size() && wire.n_first <= wire.n_ranks,
      "a notice is no longer than the room for it");
  std::vector<int> ranks(wire.n_ranks);
  if (!ranks.empty()) std::memcpy(ranks.data(), bytes.data() + sizeof wire, ranks.size() * sizeof(int));
  const auto first = ranks.end() - static_cast<std::ptrdiff_t>(wire.n_first);
  data = bytes.subspan(before, wire.n_data);
  return {.kind = static_cast<Notice::Kind>(wire.kind),
          .feeder = wire.feeder,
          .place = wire.place,
          .leads = wire.leads != 0,
          .ranks = {ranks.begin(), first},
          .first = {first, ranks.end()}};
}

}  // namespace eco::late
