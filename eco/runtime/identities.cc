#include "eco/runtime/identities.h"

#include <cstring>
#include <span>
#include <string>

#include "eco/base/json_file.h"

namespace eco::runtime {
namespace {

template <std::size_t kRoom>
void put(std::array<char, kRoom>& room, const std::string& text) {
  const std::string fitting = text.size() < kRoom ? text : base::digest(text);
  std::memcpy(room.data(), fitting.data(), fitting.size());
}

template <std::size_t kRoom>
std::string get(const std::array<char, kRoom>& room) {
  return {room.data(), ::strnlen(room.data(), kRoom)};
}

}  // namespace

std::vector<net::HostId> tell_identities(Steps& steps, transport::Native& native, const net::HostId& mine,
                                         IdentityRoom& room) {
  IdentityRoom::Record own;
  put(own.name, mine.name);
  put(own.address, mine.address);
  put(own.boot_id, mine.boot_id);
  put(own.net_namespace, mine.net_namespace);
  native.allgather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(room.records_)));
  std::vector<net::HostId> hosts;
  steps.alone("", [&] {
    for (const IdentityRoom::Record& record : room.records_)
      hosts.push_back(
          {get(record.name), get(record.address), get(record.boot_id), get(record.net_namespace)});
  });
  room.records_ = {};
  return hosts;
}

}  // namespace eco::runtime
