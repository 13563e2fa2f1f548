#include "eco/net/synthetic.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <sstream>

#include "eco/base/errors.h"
#include "eco/net/part.h"

namespace eco::net {
namespace {

constexpr double kBytesPerMbit = 1e6 / 8;

class Words {
 public:
  explicit Words(const std::string& description) : description_(description) {
    std::istringstream stream(description);
    for (std::string word; stream >> word;) {
      const auto equals = word.find('=');
      if (equals == std::string::npos) fail("'" + word + "' is not of the form name=value");
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }

  // Each word may be taken once; what is left over was not understood.
  std::string take(const std::string& name, const std::string& otherwise) {
    const auto found = values_.find(name);
    if (found == values_.end()) return otherwise;
    std::string value = found->second;
    values_.erase(found);
    return value;
  }

  double take_number(const std::string& name, double otherwise) {
    const std::string text = take(name, "");
    return text.empty() ? otherwise : number(name, text);
  }

  // One word for each of n subnets, "10+20+40", or one for all of them.
  std::vector<std::string> take_list(const std::string& name, const std::string& otherwise, std::size_t n) {
    const std::string text = take(name, otherwise);
    std::vector<std::string> list;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, '+');) list.push_back(part);
    if (list.size() == 1) list.resize(n, list[0]);
    if (list.size() != n)
      fail(name + "=" + text + " is neither one word nor one for each of the " + std::to_string(n) +
           " subnets");
    return list;
  }

  double number(const std::string& name, const std::string& text) const {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value <= 0) {
      fail(name + "=" + text + " is not a positive number");
    }
    return value;
  }

  void expect_nothing_left() const {
    if (!values_.empty()) fail("unknown word '" + values_.begin()->first + "'");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw InvalidArgument("synthetic network '" + description_ + "': " + what);
  }

 private:
  std::string description_;
  std::map<std::string, std::string> values_;
};

std::vector<int> sizes_of(const Words& words, const std::string& word, const std::string& text) {
  std::vector<int> sizes;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, '+');) {
    int size = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (error != std::errc() || end != part.data() + part.size() || size < 1) {
      words.fail(word + "=" + text + " is not a list of sizes such as 3+3+2");
    }
    sizes.push_back(size);
  }
  if (sizes.empty()) words.fail("hosts=A+B+... is needed");
  return sizes;
}

std::vector<double> rates_of_rails(const Words& words, const std::string& text) {
  std::vector<double> rates;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, '+');)
    rates.push_back(words.number("rail_mbit", part) * kBytesPerMbit);
  return rates;
}

std::vector<Site> sites_from(const std::vector<int>& site_of_subnet, double bytes_per_s) {
  std::vector<Site> sites;
  const int n = 1 + *std::max_element(site_of_subnet.begin(), site_of_subnet.end());
  for (int number = 1; number < n; ++number) {
    Site site{{}, bytes_per_s};
    for (std::size_t s = 0; s < site_of_subnet.size(); ++s) {
      if (site_of_subnet[s] == number) site.subnets.push_back(static_cast<int>(s));
    }
    const bool is_some = site.subnets.size() > 1 && site.subnets.size() < site_of_subnet.size();
    if (is_some) sites.push_back(std::move(site));
  }
  return sites;
}

}  // namespace

Network synthetic_network(const std::string& description) {
  Words words(description);
  const std::vector<int> sizes = sizes_of(words, "hosts", words.take("hosts", ""));
  std::vector<SubnetKind> kinds;
  for (const std::string& word : words.take_list("kind", "switched", sizes.size())) {
    if (word != "switched" && word != "bus") words.fail("kind=" + word + " is neither switched nor bus");
    kinds.push_back(word == "bus" ? SubnetKind::bus : SubnetKind::switched);
  }
  std::vector<double> rates;
  for (const std::string& word : words.take_list("rate_mbit", "1000", sizes.size()))
    rates.push_back(words.number("rate_mbit", word) * kBytesPerMbit);
  std::vector<double> uplink_rates;  // 0: the subnet's own
  for (const std::string& word : words.take_list("uplink_mbit", "none", sizes.size()))
    uplink_rates.push_back(word == "none" ? 0 : words.number("uplink_mbit", word) * kBytesPerMbit);
  const auto outward = [&](std::size_t s) {
    return uplink_rates[s] > 0 ? std::min(rates[s], uplink_rates[s]) : rates[s];
  };
  const std::string shared = words.take("shared", "yes");
  if (shared != "yes" && shared != "no") words.fail("shared=" + shared + " is neither yes nor no");
  const double latency_s = words.take_number("latency_us", 20) * 1e-6;
  const double between_s = words.take_number("between_us", 2e6 * latency_s) * 1e-6;
  std::vector<int> site_of_subnet;
  for (const std::string& word : words.take_list("sites", "1", sizes.size())) {
    const double number = words.number("sites", word);
    if (number > static_cast<double>(sizes.size()) || number != std::floor(number))
      words.fail("sites=" + word + " is no number of a site, 1 to " + std::to_string(sizes.size()));
    site_of_subnet.push_back(static_cast<int>(number));
  }
  const std::string site_rate = words.take("site_mbit", "none");
  const double site_bytes_per_s =
      site_rate == "none" ? 0 : words.number("site_mbit", site_rate) * kBytesPerMbit;
  const double far_s = words.take_number("far_us", 1e6 * between_s) * 1e-6;
  const double overhead_s = words.take_number("overhead_us", 2) * 1e-6;
  const std::vector<double> rail_rates = rates_of_rails(words, words.take("rail_mbit", ""));
  std::vector<int> rail_hosts(rail_rates.size(), std::accumulate(sizes.begin(), sizes.end(), 0));
  if (const std::string text = words.take("rail_hosts", ""); !text.empty()) {
    const std::vector<int> wanted = sizes_of(words, "rail_hosts", text);
    if (wanted.size() != rail_hosts.size() ||
        !std::equal(wanted.begin(), wanted.end(), rail_hosts.begin(), std::less_equal<>()))
      words.fail("rail_hosts=" + text + " is not one number of hosts for each of rail_mbit");
    rail_hosts = wanted;
  }
  words.expect_nothing_left();

  Network network;
  network.transport = "synthetic";
  network.note = description;
  network.measured_at = "never: synthetic";
  network.send_overhead_s = overhead_s;
  network.receive_overhead_s = overhead_s;
  network.memory_latency_s = 1e-6;  // round figures of an ordinary machine
  network.memory_bytes_per_s = 5e9;
  network.combine_bytes_per_s = 4e9;
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    Subnet subnet{{}, sizes[s] == 1 ? SubnetKind::lone : kinds[s], sizes[s] == 1 ? 0 : latency_s, rates[s]};
    for (int i = 0; i < sizes[s]; ++i) {
      const std::string number = std::to_string(network.hosts.size());
      subnet.hosts.push_back(network.n_hosts());
      network.hosts.push_back({"host" + number, "10.0.0." + number, "synthetic", "synthetic"});
    }
    for (std::size_t t = s + 1; t < sizes.size(); ++t) {
      const bool is_far = site_of_subnet[s] != site_of_subnet[t];
      double between_rate = std::min(outward(s), outward(t));
      if (is_far && site_bytes_per_s > 0) between_rate = std::min(between_rate, site_bytes_per_s);
      network.between.push_back(
          {static_cast<int>(s), static_cast<int>(t), is_far ? far_s : between_s, between_rate});
    }
    if (uplink_rates[s] > 0 && sizes.size() > 1) {
      network.uplinks.push_back({static_cast<int>(s), uplink_rates[s], shared == "yes", false});
    }
    network.subnets.push_back(std::move(subnet));
  }
  network.sites = sites_from(site_of_subnet, site_bytes_per_s);
  for (std::size_t r = 0; r < rail_rates.size(); ++r) {
    const double rate = rail_rates[r];
    Rail rail{network.subnets, network.between, network.uplinks};
    for (Subnet& subnet : rail.subnets) subnet.bytes_per_s = rate;
    for (Between& pair : rail.between) {
      pair.bytes_per_s = rate;
      for (const int s : {pair.from, pair.to}) {
        const double uplink = uplink_rates[static_cast<std::size_t>(s)];
        if (uplink > 0) pair.bytes_per_s = std::min(pair.bytes_per_s, uplink);
      }
    }
    std::vector<int> hosts(static_cast<std::size_t>(rail_hosts[r]));
    std::iota(hosts.begin(), hosts.end(), 0);
    network.more_rails.push_back(rail_of(rail, hosts));
  }
  network.finish();

  network.sizes = {8, 1024, 16384, 65536};
  for (int a = 0; a < network.n_hosts(); ++a) {
    for (int b = a + 1; b < network.n_hosts(); ++b) {
      PairTimes pair{a, b, {}, {}};
      for (const std::size_t bytes : network.sizes) {
        pair.seconds.push_back(network.message_s(a, b, bytes));
        pair.samples.push_back({pair.seconds.back()});
      }
      network.pairs.push_back(std::move(pair));
    }
  }
  return network;
}

}  // namespace eco::net
