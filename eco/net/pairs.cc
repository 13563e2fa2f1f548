#include "eco/net/pairs.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "eco/base/json_file.h"
#include "eco/net/fields.h"

namespace eco::net {
namespace {

constexpr std::string_view kSchema = "eco.pairs";
constexpr int kVersion = 1;

bool are_times(const std::vector<double>& samples) {
  return samples.size() >= 2 &&
         std::all_of(samples.begin(), samples.end(), [](double s) { return std::isfinite(s) && s > 0; });
}

}  // namespace

std::string pairs_to_json(const std::vector<HostId>& hosts, const KnownPairs& known) {
  std::map<HostId, std::size_t> number_of;
  for (std::size_t i = 0; i < hosts.size(); ++i) number_of.emplace(hosts[i], i);
  nlohmann::json document = {{"schema", kSchema}, {"version", kVersion}, {"transport", known.transport}};
  document["hosts"] = hosts_to_json(hosts);
  document["pairs"] = nlohmann::json::array();
  for (const KnownPair& pair : known.pairs) {
    document["pairs"].push_back({{"a", number_of.at(pair.a)},
                                 {"b", number_of.at(pair.b)},
                                 {"sizes", pair.sizes},
                                 {"samples", pair.samples}});
  }
  return base::to_text(document);
}

KnownPairs parse_pairs(std::string_view text, const std::string& where) {
  const nlohmann::json document = base::parse_document(text, where, kSchema, kVersion);
  const Fields fields(document, where);
  const std::vector<HostId> hosts = read_hosts(fields);
  KnownPairs all{fields.get<std::string>("transport"), {}};
  fields.each("pairs", [&](const Fields& pair) {
    const auto a = pair.get<std::size_t>("a");
    const auto b = pair.get<std::size_t>("b");
    if (a == b || std::max(a, b) >= hosts.size()) pair.fail("is of no two of the hosts");
    KnownPair known{hosts[a], hosts[b], pair.get<std::vector<std::size_t>>("sizes"),
                    pair.get<std::vector<std::vector<double>>>("samples")};
    const bool fits = known.samples.size() == known.sizes.size() &&
                      std::all_of(known.samples.begin(), known.samples.end(), are_times);
    if (!fits) pair.fail("has not two times or more for each size");
    all.pairs.push_back(std::move(known));
  });
  return all;
}

}  // namespace eco::net
