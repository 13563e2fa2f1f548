#include "eco/net/synthetic.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>

#include "eco/base/errors.h"

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
    if (text.empty()) return otherwise;
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

std::vector<int> subnet_sizes(const Words& words, const std::string& text) {
  std::vector<int> sizes;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, '+');) {
    int size = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (error != std::errc() || end != part.data() + part.size() || size < 1) {
      words.fail("hosts=" + text + " is not a list of sizes such as 3+3+2");
    }
    sizes.push_back(size);
  }
  if (sizes.empty()) words.fail("hosts=A+B+... is needed");
  return sizes;
}

}  // namespace

Network synthetic_network(const std::string& description) {
  Words words(description);
  const std::vector<int> sizes = subnet_sizes(words, words.take("hosts", ""));
  const std::string kind_word = words.take("kind", "switched");
  if (kind_word != "switched" && kind_word != "bus")
    words.fail("kind=" + kind_word + " is neither switched nor bus");
  const SubnetKind kind = kind_word == "bus" ? SubnetKind::bus : SubnetKind::switched;
  const double rate = words.take_number("rate_mbit", 1000) * kBytesPerMbit;
  const double uplink_rate = words.take_number("uplink_mbit", 0) * kBytesPerMbit;
  const std::string shared = words.take("shared", "yes");
  if (shared != "yes" && shared != "no") words.fail("shared=" + shared + " is neither yes nor no");
  const double latency_s = words.take_number("latency_us", 20) * 1e-6;
  const double between_s = words.take_number("between_us", 2e6 * latency_s) * 1e-6;
  const double overhead_s = words.take_number("overhead_us", 2) * 1e-6;
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
    Subnet subnet{{}, sizes[s] == 1 ? SubnetKind::lone : kind, sizes[s] == 1 ? 0 : latency_s, rate};
    for (int i = 0; i < sizes[s]; ++i) {
      const std::string number = std::to_string(network.hosts.size());
      subnet.hosts.push_back(network.n_hosts());
      network.hosts.push_back({"host" + number, "10.0.0." + number, "synthetic", "synthetic"});
    }
    for (std::size_t t = s + 1; t < sizes.size(); ++t) {
      const double between_rate = uplink_rate > 0 ? std::min(rate, uplink_rate) : rate;
      network.between.push_back({static_cast<int>(s), static_cast<int>(t), between_s, between_rate});
    }
    if (uplink_rate > 0 && sizes.size() > 1) {
      network.uplinks.push_back({static_cast<int>(s), uplink_rate, shared == "yes", false});
    }
    network.subnets.push_back(std::move(subnet));
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
