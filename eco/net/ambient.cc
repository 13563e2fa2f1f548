#include "eco/net/ambient.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "eco/base/errors.h"

namespace eco::net {
namespace {

constexpr std::string_view kLink = "link";
constexpr std::string_view kWay = "way";
constexpr double kMicrosecond_s = 1e-6;
constexpr int kWhole = 1000;

}  // namespace

bool Ambient::is_where(const Ambient& other) const {
  return std::equal(links.begin(), links.end(), other.links.begin(), other.links.end(),
                    [](const Link& a, const Link& b) { return a.resource == b.resource; }) &&
         std::equal(ways.begin(), ways.end(), other.ways.begin(), other.ways.end(),
                    [](const Way& a, const Way& b) { return a.between == b.between; });
}

std::string Ambient::describe(const Network& network) const {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const Link& link : links) {
    add(network.resources.at(static_cast<std::size_t>(link.resource)).name + " at " +
        std::to_string(link.left_permille / 10) + " %");
  }
  for (const Way& way : ways) {
    const Between& between = network.between.at(static_cast<std::size_t>(way.between));
    char longer[32];
    std::snprintf(longer, sizeof longer, "%.1f ms", way.longer_us * 1e-3);
    add("subnets " + std::to_string(between.from) + " and " + std::to_string(between.to) + " " + longer +
        " further apart");
  }
  return text.empty() ? "quiet" : text;
}

std::string Ambient::text() const {
  std::ostringstream out;
  for (const Link& link : links) out << kLink << ' ' << link.resource << ' ' << link.left_permille << ' ';
  for (const Way& way : ways) out << kWay << ' ' << way.between << ' ' << way.longer_us << ' ';
  return out.str();
}

Ambient Ambient::parse(std::string_view text) {
  std::istringstream in{std::string(text)};
  Ambient ambient;
  for (std::string word; in >> word;) {
    int number = 0;
    int value = 0;
    in >> number >> value;
    if (!in || number < 0 || value < 0 || (word != kLink && word != kWay)) {
      throw InvalidArgument("ambient traffic: '" + std::string(text) +
                            "' is not a list of 'link NUMBER PERMILLE' and 'way NUMBER MICROSECONDS'");
    }
    if (word == kLink)
      ambient.links.push_back({number, value});
    else
      ambient.ways.push_back({number, value});
  }
  return ambient;
}

Network under(const Network& network, const Ambient& ambient) {
  const auto in_range = [](int number, std::size_t n, const char* what) {
    if (number >= 0 && static_cast<std::size_t>(number) < n) return;
    throw InvalidArgument("ambient traffic: there is no " + std::string(what) + " " + std::to_string(number) +
                          " in a network of " + std::to_string(n));
  };
  Network loaded = network.without_samples();
  for (const Ambient::Way& way : ambient.ways) {
    in_range(way.between, loaded.between.size(), "pair of subnets");
    loaded.between[static_cast<std::size_t>(way.between)].latency_s += way.longer_us * kMicrosecond_s;
  }
  for (const Ambient::Link& link : ambient.links) {
    in_range(link.resource, loaded.resources.size(), "link");
    loaded.resources[static_cast<std::size_t>(link.resource)].bytes_per_s *=
        static_cast<double>(std::clamp(link.left_permille, 1, kWhole)) / kWhole;
  }
  return loaded;
}

}  // namespace eco::net
