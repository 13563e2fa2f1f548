#include "eco/net/fields.h"

namespace eco::net {

nlohmann::json hosts_to_json(const std::vector<HostId>& hosts) {
  nlohmann::json list = nlohmann::json::array();
  for (const HostId& host : hosts) {
    list.push_back({{"name", host.name},
                    {"address", host.address},
                    {"boot_id", host.boot_id},
                    {"net_namespace", host.net_namespace}});
  }
  return list;
}

std::vector<HostId> read_hosts(const Fields& fields) {
  std::vector<HostId> hosts;
  fields.each("hosts", [&](const Fields& host) {
    hosts.push_back({host.get<std::string>("name"), host.get<std::string>("address"),
                     host.get<std::string>("boot_id"), host.get<std::string>("net_namespace")});
  });
  return hosts;
}

}  // namespace eco::net
