#include "eco/net/store.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>
#include <tuple>
#include <utility>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/net/io.h"

namespace eco::net {
namespace {

namespace fs = std::filesystem;

// Each file is read and parsed, on rank 0, while all ranks wait: what is older than so many others is not looked for.
constexpr std::size_t kMostFilesRead = 64;

constexpr const char* kOff = "no cache directory is set, so nothing is remembered";

bool precedes(const HostId& x, const HostId& y) {
  const auto key = [](const HostId& h) { return std::tie(h.name, h.address, h.boot_id, h.net_namespace); };
  return key(x) < key(y);
}

std::vector<HostId> as_set(std::vector<HostId> hosts) {
  std::sort(hosts.begin(), hosts.end(), precedes);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

// Whether x tells more about the hosts looked for. What was measured with small messages only may have missed a slow
// link; the smaller network tells the most about its hosts.
bool is_better(const Network& x, const Network& y) {
  return std::pair(x.largest_size(), -x.n_hosts()) > std::pair(y.largest_size(), -y.n_hosts());
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

FoundNetwork Store::read_network(const std::string& path, const std::vector<HostId>& hosts,
                                 std::string_view transport) const {
  FoundNetwork found;
  found.path = path;
  try {
    Network network = load_network(path);
    const std::vector<HostId> known = as_set(network.hosts);
    const std::vector<HostId> wanted = as_set(hosts);
    if (network.transport == transport &&
        std::includes(known.begin(), known.end(), wanted.begin(), wanted.end(), precedes)) {
      found.network = std::move(network);
    } else {
      found.reason = "remembered network " + path + " is of other hosts or another transport";
    }
  } catch (const Error& error) {
    found.reason = error.what();
  }
  return found;
}

FoundNetwork Store::find_network(const std::vector<HostId>& hosts, std::string_view transport) const {
  FoundNetwork found;
  if (cache_dir_.empty()) {
    found.reason = kOff;
    return found;
  }
  const std::string path = network_path(hosts, transport);
  if (is_file(path)) {
    found = read_network(path, hosts, transport);
    if (found.network && found.network->largest_size() >= kLargestPairBytes) return found;
  } else {
    found = {std::nullopt,
             "no network is remembered for these " + std::to_string(as_set(hosts).size()) + " hosts", path};
  }
  // A part of a larger network that is known needs no measuring of its own.
  for (const std::string& other : newest_network_files()) {
    if (other == path) continue;
    FoundNetwork larger = read_network(other, hosts, transport);
    if (!larger.network) continue;
    if (!found.network || is_better(*larger.network, *found.network)) found = std::move(larger);
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

std::vector<std::string> Store::newest_network_files() const {
  std::vector<std::pair<fs::file_time_type, std::string>> aged;
  for (std::string& file : network_files()) {
    std::error_code error;
    const fs::file_time_type written = fs::last_write_time(file, error);
    if (!error) aged.emplace_back(written, std::move(file));  // else it was replaced or removed just now
  }
  std::sort(aged.begin(), aged.end(), std::greater<>());
  std::vector<std::string> files;
  for (auto& [written, file] : aged) {
    if (files.size() == kMostFilesRead) break;
    files.push_back(std::move(file));
  }
  return files;
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
