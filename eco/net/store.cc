#include "eco/net/store.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
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

// Of plans, which say at their beginning whether they are of any use.
constexpr std::size_t kMostPlansRead = 16;

// Of pairs that are no network yet: older ones are removed.
constexpr std::size_t kMostPairFiles = 16;

constexpr const char* kPlans = "/plans";
constexpr const char* kPairs = "/pairs";

constexpr const char* kOff = "no cache directory is set, so nothing is remembered";

// Whether x tells more about the hosts looked for. What was measured with small messages only may have missed a slow
// link; the smaller network tells the most about its hosts.
bool is_better(const Network& x, const Network& y) {
  const auto merit = [](const Network& n) {
    return std::tuple(n.largest_size(), -n.n_hosts(), n.sizes.size());
  };
  return merit(x) > merit(y);
}

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool is_directory(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// Everything of one set of hosts begins with this.
std::string name_of_hosts(const std::vector<HostId>& hosts, std::string_view transport) {
  // Lengths keep two lists of fields from spelling the same text.
  std::string text;
  const auto append = [&text](std::string_view field) {
    text += std::to_string(field.size());
    text += ':';
    text += field;
  };
  append(transport);
  for (const HostId& host : host_set(hosts)) {
    for (const std::string* field : {&host.name, &host.address, &host.boot_id, &host.net_namespace})
      append(*field);
  }
  return base::digest(text);
}

// Jobs that had more time than others write other files: neither takes the other's place.
std::string network_path(const std::string& directory, const Network& network) {
  return directory + "/networks/" + name_of_hosts(network.hosts, network.transport) + "-" +
         std::to_string(network.largest_size()) + "-" + std::to_string(network.sizes.size()) + ".json";
}

std::vector<std::string> files_below(const std::string& directory, const char* folder = "/networks") {
  std::vector<std::string> files;
  if (directory.empty()) return files;
  std::error_code error;
  for (fs::directory_iterator entry(directory + folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    // Others write into the site directory: opening what is no file could wait for ever.
    if (entry->path().extension() == ".json" && entry->is_regular_file(gone))
      files.push_back(entry->path().string());
  }
  return files;
}

std::vector<std::string> newest_first(std::vector<std::string> files) {
  std::vector<std::pair<fs::file_time_type, std::string>> aged;
  for (std::string& file : files) {
    std::error_code error;
    const fs::file_time_type written = fs::last_write_time(file, error);
    if (!error) aged.emplace_back(written, std::move(file));  // else it was replaced or removed just now
  }
  std::sort(aged.begin(), aged.end(), std::greater<>());
  files.clear();
  for (auto& [written, file] : aged) files.push_back(std::move(file));
  return files;
}

bool is_of_hosts(const std::string& file, const std::string& name) {
  return fs::path(file).filename().string().starts_with(name);
}

FoundNetwork read_network(const std::string& path, std::string_view transport) {
  FoundNetwork found{std::nullopt, {}, path};
  try {
    Network network = load_network(path);
    if (network.transport == transport) {
      found.network = std::move(network);
    } else {
      found.reason = "remembered network " + path + " is of another transport";
    }
  } catch (const Error& error) {
    found.reason = error.what();
  }
  return found;
}

FoundNetwork read_network_of(const std::string& path, const std::vector<HostId>& wanted,
                             std::string_view transport) {
  FoundNetwork found = read_network(path, transport);
  if (!found.network) return found;
  const std::vector<HostId> known = host_set(found.network->hosts);
  if (!std::ranges::includes(known, wanted)) {
    found.network.reset();
    found.reason = "remembered network " + path + " is of other hosts";
  }
  return found;
}

// None of a file that can't be used.
std::vector<KnownPair> read_pairs(const std::string& path, std::string_view transport) {
  try {
    KnownPairs known = parse_pairs(base::read_text(path), "pairs file " + path);
    if (known.transport == transport) return std::move(known.pairs);
  } catch (const Error&) {
  }
  return {};
}

bool has_samples(const PairTimes& pair, std::size_t n_sizes) {
  return n_sizes > 0 && pair.samples.size() == n_sizes &&
         std::all_of(pair.samples.begin(), pair.samples.end(), [](const auto& samples) {
           return samples.size() >= 2 && *std::min_element(samples.begin(), samples.end()) > 0;
         });
}

// After a network was written: what tells less about the same hosts, or all others if the network has changed.
void remove_replaced(const std::string& directory, const Network& network, const std::string& written,
                     bool instead) {
  const std::string name = name_of_hosts(network.hosts, network.transport);
  for (const std::string& file : files_below(directory)) {
    if (file == written || !is_of_hosts(file, name)) continue;
    const FoundNetwork other = read_network(file, network.transport);
    if (!other.network || (!instead && !is_better(network, *other.network))) continue;
    std::error_code ignored;
    fs::remove(file, ignored);
  }
}

std::optional<std::string> write_network(const std::string& directory, const Network& network, bool instead) {
  const std::string path = network_path(directory, network);
  auto failure = base::write_text_atomically(path, to_json(network));
  if (!failure) remove_replaced(directory, network, path, instead);
  return failure;
}

}  // namespace

Store::Store(std::string cache_dir, std::string site_dir)
    : cache_dir_(std::move(cache_dir)), site_dir_(std::move(site_dir)) {}

FoundNetwork Store::find_network(const std::vector<HostId>& hosts, std::string_view transport) const {
  FoundNetwork found;
  if (cache_dir_.empty() && !is_directory(site_dir_)) {
    found.reason = kOff;
    return found;
  }
  const std::vector<HostId> wanted = host_set(hosts);
  const std::string name = name_of_hosts(wanted, transport);
  found.reason = "no network is remembered for these " + std::to_string(wanted.size()) + " hosts";
  const auto consider = [&](const std::string& file) {
    FoundNetwork other = read_network_of(file, wanted, transport);
    if (other.network ? !found.network || is_better(*other.network, *found.network)
                      : !found.network && is_of_hosts(file, name)) {
      found = std::move(other);
    }
  };
  for (const std::string& file : newest_first(network_files())) {
    if (is_of_hosts(file, name)) consider(file);
  }
  if (found.network && found.network->largest_size() >= kLargestPairBytes) return found;
  // A part of a larger network that is known needs no measuring of its own.
  for (const std::string& file : newest_network_files()) {
    if (!is_of_hosts(file, name)) consider(file);
  }
  return found;
}

std::vector<KnownPair> Store::known_pairs(const std::vector<HostId>& hosts,
                                          std::string_view transport) const {
  const std::vector<HostId> wanted = host_set(hosts);
  const auto place = [&wanted](const HostId& host) {
    return std::lower_bound(wanted.begin(), wanted.end(), host) - wanted.begin();
  };
  const auto is_wanted = [&](const HostId& host) {
    return std::binary_search(wanted.begin(), wanted.end(), host);
  };
  std::set<std::pair<std::ptrdiff_t, std::ptrdiff_t>> taken;
  std::vector<KnownPair> known;
  for (const std::string& file : newest_network_files()) {
    const FoundNetwork found = read_network(file, transport);
    if (!found.network) continue;
    for (const PairTimes& pair : found.network->pairs) {
      const HostId& a = found.network->hosts[static_cast<std::size_t>(pair.a)];
      const HostId& b = found.network->hosts[static_cast<std::size_t>(pair.b)];
      if (!is_wanted(a) || !is_wanted(b) || !has_samples(pair, found.network->sizes.size())) continue;
      if (!taken.insert(std::minmax(place(a), place(b))).second) continue;
      known.push_back({a, b, found.network->sizes, pair.samples});
    }
    if (taken.size() == wanted.size() * (wanted.size() - 1) / 2) return known;
  }
  for (const std::string& file : newest_first(files_below(cache_dir_, kPairs))) {
    for (KnownPair& pair : read_pairs(file, transport)) {
      if (!is_wanted(pair.a) || !is_wanted(pair.b)) continue;
      if (taken.insert(std::minmax(place(pair.a), place(pair.b))).second) known.push_back(std::move(pair));
    }
  }
  return known;
}

std::string Store::pairs_path(const std::vector<HostId>& hosts, std::string_view transport) const {
  return cache_dir_ + kPairs + "/" + name_of_hosts(hosts, transport) + ".json";
}

bool Store::takes_pairs() const {
  fs::path folder = cache_dir_;
  std::error_code error;
  while (folder.has_relative_path() && !fs::exists(folder, error)) folder = folder.parent_path();
  return fs::is_directory(folder, error) && ::access(folder.c_str(), W_OK | X_OK) == 0;
}

std::optional<std::string> Store::remember_pairs(const std::vector<HostId>& hosts, std::string_view transport,
                                                 const std::vector<KnownPair>& pairs) const {
  if (cache_dir_.empty()) return kOff;
  auto failure = base::write_text_atomically(pairs_path(hosts, transport),
                                             pairs_to_json(host_set(hosts), {std::string(transport), pairs}));
  const std::vector<std::string> files = newest_first(files_below(cache_dir_, kPairs));
  for (std::size_t i = kMostPairFiles; i < files.size(); ++i) {
    std::error_code ignored;
    fs::remove(files[i], ignored);
  }
  return failure;
}

Remembered Store::remember_network(const Network& network, bool instead) const {
  Remembered kept;
  kept.failure = cache_dir_.empty() ? kOff : write_network(cache_dir_, network, instead);
  if (!kept.failure) {  // its pairs are in it
    std::error_code ignored;
    fs::remove(pairs_path(network.hosts, network.transport), ignored);
  }
  if (!is_directory(site_dir_)) return kept;
  kept.site_failure = write_network(site_dir_, network, instead);
  if (!kept.site_failure) kept.failure.reset();
  return kept;
}

std::string Store::plan_name(const PlanKey& key) {
  std::string text = key.fingerprint + ";" + key.library + ";" + key.eco_version + ";";
  for (const int host : key.host_of_rank) text += std::to_string(host) + " ";
  return base::digest(text) + ".json";
}

FoundText Store::find_plan(const PlanKey& key) const {
  FoundText found;
  if (cache_dir_.empty()) {
    found.reason = kOff;
    return found;
  }
  found.path = cache_dir_ + kPlans + "/" + plan_name(key);
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
  return base::write_text_atomically(cache_dir_ + kPlans + "/" + plan_name(key), text);
}

std::vector<FoundText> Store::newest_plans() const {
  std::vector<std::string> files = newest_first(files_below(cache_dir_, kPlans));
  files.resize(std::min(files.size(), kMostPlansRead));
  std::vector<FoundText> plans;
  for (std::string& file : files) {
    FoundText found;
    try {
      found.text = base::read_text(file);
    } catch (const Error& error) {
      found.reason = error.what();
    }
    found.path = std::move(file);
    plans.push_back(std::move(found));
  }
  return plans;
}

std::vector<std::string> Store::newest_network_files() const {
  std::vector<std::string> files = newest_first(network_files());
  files.resize(std::min(files.size(), kMostFilesRead));
  return files;
}

std::vector<std::string> Store::network_files() const {
  std::vector<std::string> files = files_below(cache_dir_);
  if (site_dir_ != cache_dir_) {
    for (std::string& file : files_below(site_dir_)) files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace eco::net
