#include "eco/net/store.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/net/io.h"

namespace eco::net {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOff = "no cache directory is set, so nothing is remembered";

std::vector<HostId> as_set(std::vector<HostId> hosts) {
  const auto key = [](const HostId& h) { return std::tie(h.name, h.address, h.boot_id, h.net_namespace); };
  std::sort(hosts.begin(), hosts.end(), [&](const HostId& x, const HostId& y) { return key(x) < key(y); });
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

}  // namespace

Store::Store(std::string cache_dir) : cache_dir_(std::move(cache_dir)) {}

std::string Store::network_path(const std::vector<HostId>& hosts, std::string_view transport) const {
  // Lengths keep two lists of fields from spelling the same text.
  std::string text;
  const auto append = [&text](std::string_view field) {
    text += std::to_string(field.size());
    text += ':';
    text += field;
  };
  append(transport);
  for (const HostId& host : as_set(hosts)) {
    for (const std::string* field : {&host.name, &host.address, &host.boot_id, &host.net_namespace})
      append(*field);
  }
  return cache_dir_ + "/networks/" + base::digest(text) + ".json";
}

FoundNetwork Store::find_network(const std::vector<HostId>& hosts, std::string_view transport) const {
  FoundNetwork found;
  if (cache_dir_.empty()) {
    found.reason = kOff;
    return found;
  }
  found.path = network_path(hosts, transport);
  if (!is_file(found.path)) {
    found.reason = "no network is remembered for these " + std::to_string(as_set(hosts).size()) + " hosts";
    return found;
  }
  try {
    Network network = load_network(found.path);
    if (network.transport != transport || as_set(network.hosts) != as_set(hosts)) {
      found.reason = "remembered network " + found.path + " is of other hosts or another transport";
    } else {
      found.network = std::move(network);
    }
  } catch (const Error& error) {
    found.reason = error.what();
  }
  return found;
}

std::optional<std::string> Store::remember_network(const Network& network) const {
  if (cache_dir_.empty()) return kOff;
  return base::write_text_atomically(network_path(network.hosts, network.transport), to_json(network));
}

std::string Store::plan_path(const PlanKey& key) const {
  std::string text = key.fingerprint + ";" + key.library + ";" + key.eco_version + ";";
  for (const int host : key.host_of_rank) text += std::to_string(host) + " ";
  return cache_dir_ + "/plans/" + base::digest(text) + ".json";
}

FoundText Store::find_plan(const PlanKey& key) const {
  FoundText found;
  if (cache_dir_.empty()) {
    found.reason = kOff;
    return found;
  }
  found.path = plan_path(key);
  if (!is_file(found.path)) {
    found.reason = "no plan is remembered for this network, placement and library";
    return found;
  }
  try {
    found.text = base::read_text(found.path);
  } catch (const Error& error) {
    found.reason = error.what();
  }
  return found;
}

std::optional<std::string> Store::remember_plan(const PlanKey& key, std::string_view text) const {
  if (cache_dir_.empty()) return kOff;
  return base::write_text_atomically(plan_path(key), text);
}

std::vector<std::string> Store::network_files() const {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(cache_dir_ + "/networks", error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".json") files.push_back(entry->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace eco::net
