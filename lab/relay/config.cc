#include "lab/relay/config.h"

#include <charconv>
#include <cstdio>
#include <limits>
#include <sstream>

namespace eco::lab {
namespace {

class LineParser {
 public:
  LineParser(int number, const std::string& text) : number_(number), text_(text), words_(text) {}

  [[noreturn]] void fail(const std::string& why) const {
    throw ConfigError("relay configuration, line " + std::to_string(number_) + ": " + why + " in \"" + text_ +
                      "\"");
  }

  std::string word(const std::string& what) {
    std::string w;
    if (!(words_ >> w)) fail(what + " is missing");
    return w;
  }

  double number(const std::string& what, double low, double high) {
    return checked(what, word(what), low, high);
  }

  int index(const std::string& what, std::size_t size) {
    return static_cast<int>(whole(what, word(what), 0, static_cast<std::int64_t>(size) - 1));
  }

  std::int64_t whole(const std::string& what, std::int64_t low, std::int64_t high) {
    return whole(what, word(what), low, high);
  }

  std::int64_t whole(const std::string& what, const std::string& w, std::int64_t low,
                     std::int64_t high) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), value);
    if (error != std::errc() || end != w.data() + w.size()) fail(what + " \"" + w + "\" is no whole number");
    if (value < low || value > high) {
      fail(what + " " + w + " is not between " + std::to_string(low) + " and " + std::to_string(high));
    }
    return value;
  }

  bool next(std::string& w) { return static_cast<bool>(words_ >> w); }

  void end() {
    std::string w;
    if (next(w)) fail("\"" + w + "\" is too much");
  }

 private:
  double checked(const std::string& what, const std::string& w, double low, double high) const {
    double value = 0;
    const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), value);
    if (error != std::errc() || end != w.data() + w.size()) fail(what + " \"" + w + "\" is no number");
    if (!(value >= low && value <= high)) fail(what + " " + w + " is out of range");
    return value;
  }

  int number_;
  std::string text_;
  std::istringstream words_;
};

constexpr std::int64_t kMaxNanos = 3'600'000'000'000;  // an hour: beyond any delay that can be meant

ServerSpec parse_server(LineParser& line) {
  ServerSpec s;
  s.name = line.word("name");
  const std::string kind = line.word("discipline");
  if (kind != "fifo" && kind != "bus") line.fail("discipline \"" + kind + "\" is neither fifo nor bus");
  s.discipline = kind == "bus" ? Discipline::bus : Discipline::fifo;
  s.bits_per_s = line.number("rate", 0, 1e12);
  s.delay_ns = line.whole("delay", 0, kMaxNanos);
  s.queue_bytes = line.whole("queue", 1514, std::numeric_limits<std::int64_t>::max() / 16);
  s.n_stations = static_cast<int>(line.whole("stations", 1, 100'000));
  if (s.discipline == Discipline::bus && s.bits_per_s == 0) line.fail("a bus needs a rate");
  return s;
}

Port parse_port(LineParser& line) {
  Port port;
  port.interface = line.word("interface");
  const std::string mac = line.word("MAC");
  unsigned b[6];
  int used = 0;
  if (std::sscanf(mac.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
                  &used) != 6 ||
      used != static_cast<int>(mac.size())) {
    line.fail("\"" + mac + "\" is no MAC address");
  }
  for (int i = 0; i < 6; ++i) port.mac[i] = static_cast<std::uint8_t>(b[i]);
  return port;
}

Path parse_path(LineParser& line, const Config& config) {
  Path path;
  path.from_port = line.index("source port", config.ports.size());
  path.to_port = line.index("destination port", config.ports.size());
  std::string w;
  while (line.next(w)) {
    const std::size_t dot = w.find('.');
    Hop hop;
    hop.server = static_cast<int>(
        line.whole("server", w.substr(0, dot), 0, static_cast<std::int64_t>(config.servers.size()) - 1));
    if (dot != std::string::npos) {
      const int n = config.servers[hop.server].n_stations;
      hop.station = static_cast<int>(line.whole("station", w.substr(dot + 1), 0, n - 1));
    }
    path.hops.push_back(hop);
  }
  if (path.hops.empty()) line.fail("a path needs at least one server");
  return path;
}

TrafficSpec parse_traffic(LineParser& line, const Config& config) {
  TrafficSpec t;
  const int from = line.index("source port", config.ports.size());
  const int to = line.index("destination port", config.ports.size());
  t.path = -1;
  for (std::size_t i = 0; i < config.paths.size(); ++i) {
    if (config.paths[i].from_port == from && config.paths[i].to_port == to) t.path = static_cast<int>(i);
  }
  if (t.path < 0) line.fail("no path joins these ports");
  t.bits_per_s = line.number("rate", 1, 1e12);
  t.frame_bytes = static_cast<int>(line.whole("frame bytes", kMinFrameBytes, 1514));
  const std::string kind = line.word("arrivals");
  if (kind == "cbr") {
    t.arrivals = Arrivals::constant;
  } else if (kind == "poisson") {
    t.arrivals = Arrivals::poisson;
  } else if (kind == "on-off") {
    t.arrivals = Arrivals::on_off;
  } else {
    line.fail("arrivals \"" + kind + "\" is none of cbr, poisson, on-off");
  }
  t.on_ns = line.whole("on time", 0, kMaxNanos);
  t.off_ns = line.whole("off time", 0, kMaxNanos);
  t.seed = static_cast<std::uint64_t>(line.whole("seed", 0, std::numeric_limits<std::int64_t>::max()));
  if (t.arrivals == Arrivals::on_off && t.on_ns == 0) line.fail("on-off traffic needs an on time");
  return t;
}

}  // namespace

Config parse_config(std::istream& in) {
  Config config;
  std::string text;
  bool has_header = false;
  for (int number = 1; std::getline(in, text); ++number) {
    LineParser line(number, text.substr(0, text.find('#')));
    std::string what;
    if (!line.next(what)) continue;
    if (!has_header) {
      if (what != "eco-relay" || line.word("version") != "1")
        line.fail("the first line must be \"eco-relay 1\"");
      has_header = true;
    } else if (what == "server") {
      config.servers.push_back(parse_server(line));
    } else if (what == "port") {
      config.ports.push_back(parse_port(line));
    } else if (what == "path") {
      config.paths.push_back(parse_path(line, config));
    } else if (what == "traffic") {
      config.traffic.push_back(parse_traffic(line, config));
    } else {
      line.fail("\"" + what + "\" is none of server, port, path, traffic");
    }
    line.end();
  }
  if (!has_header) throw ConfigError("relay configuration: empty; the first line must be \"eco-relay 1\"");
  if (config.ports.empty()) throw ConfigError("relay configuration: no ports, so there is nothing to relay");
  return config;
}

}  // namespace eco::lab
