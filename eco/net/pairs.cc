#include "eco/net/pairs.h"

#include <algorithm>
#include <cmath>

#include "eco/base/json_file.h"
#include "eco/net/fields.h"

namespace eco::net {
namespace {

constexpr std::string_view kSchema = "eco.pairs";
constexpr int kVersion = 1;

std::size_t number_of(const std::vector<HostId>& hosts, const HostId& host) {
  return static_cast<std::size_t>(std::find(hosts.begin(), hosts.end(), host) - hosts.begin());
}

bool are_times(const std::vector<double>& samples) {
  return samples.size() >= 2 &&
         std::all_of(samples.begin(), samples.end(), [](double s) { return std::isfinite(s) && s > 0; });
}

}  // namespace

std::string pairs_to_json(const std::vector<HostId>& hosts, const std::vector<KnownPair>& pairs) {
  nlohmann::json document = {{"schema", kSchema}, {"version", kVersion}, {"hosts", hosts_to_json(hosts)}};
  document["pairs"] = nlohmann::json::array();
  for (const KnownPair& pair : pairs) {
    document["pairs"].push_back({{"a", number_of(hosts, pair.a)},
                                 {"b", number_of(hosts, pair.b)},
                                 {"sizes", pair.sizes},
                                 {"samples", pair.samples}});
  }
  return base::to_text(document);
}

std::vector<KnownPair> parse_pairs(std::string_view text, const std::string& where) {
  const nlohmann::json document = base::parse_document(text, where, kSchema, kVersion);
  const Fields fields(document, where);
  const std::vector<HostId> hosts = read_hosts(fields);
  std::vector<KnownPair> pairs;
  fields.each("pairs", [&](const Fields& pair) {
    const auto a = pair.get<std::size_t>("a");
    const auto b = pair.get<std::size_t>("b");
    if (a == b || std::max(a, b) >= hosts.size()) pair.fail("is of no two of the hosts");
    KnownPair known{hosts[a], hosts[b], pair.get<std::vector<std::size_t>>("sizes"),
                    pair.get<std::vector<std::vector<double>>>("samples")};
    const bool fits = known.samples.size() == known.sizes.size() &&
                      std::all_of(known.samples.begin(), known.samples.end(), are_times);
    if (!fits) pair.fail("has not two times or more for each size");
    pairs.push_back(std::move(known));
  });
  return pairs;
}

}  // namespace eco::net
