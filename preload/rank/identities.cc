#include "preload/rank/identities.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

namespace eco::rank {
namespace {

// Longer texts are cut: host names end at 64 characters, addresses and ids before that.
constexpr std::size_t kRoom = 256;
using Record = std::array<char, kRoom>;

}  // namespace

std::vector<std::string> gather_texts(transport::Native& native, int n_ranks, const std::string& mine) {
  Record record{};
  std::strncpy(record.data(), mine.c_str(), kRoom - 1);
  std::vector<Record> all(static_cast<std::size_t>(n_ranks));
  native.allgather(std::as_bytes(std::span(record)), std::as_writable_bytes(std::span(all)));
  std::vector<std::string> texts;
  for (const Record& each : all) texts.emplace_back(each.data());
  return texts;
}

std::vector<net::HostId> gather_identities(transport::Native& native, int n_ranks, const net::HostId& mine) {
  const auto names = gather_texts(native, n_ranks, mine.name);
  const auto addresses = gather_texts(native, n_ranks, mine.address);
  const auto boot_ids = gather_texts(native, n_ranks, mine.boot_id);
  const auto namespaces = gather_texts(native, n_ranks, mine.net_namespace);
  std::vector<net::HostId> all;
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    all.push_back({names[rank], addresses[rank], boot_ids[rank], namespaces[rank]});
  }
  return all;
}

}  // namespace eco::rank
