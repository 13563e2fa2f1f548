#include "lab/relay/report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace eco::lab {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}

}  // namespace

void Lateness::add(Nanos late_ns) {
  ++n;
  sum_ns += late_ns;
  max_ns = std::max(max_ns, late_ns);
  if (late_ns > 1'000'000) ++over_1ms;
}

std::string to_json(const Network& network, const Report& report) {
  std::ostringstream out;
  out << "{\"schema\":\"eco-relay-stats\",\"version\":1,\"wall_s\":" << report.wall_s
      << ",\"cpu_s\":" << report.cpu_s << ",\"realtime\":" << (report.is_realtime ? "true" : "false")
      << ",\"frames\":" << report.wire.received << ",\"delivered\":" << report.wire.sent
      << ",\"send_errors\":" << report.wire.send_errors << ",\"ring_drops\":" << report.wire.ring_drops
      << ",\"unknown_destination\":" << report.unknown_destination << ",\"late_us\":{\"average\":"
      << (report.lateness.n > 0
              ? static_cast<double>(report.lateness.sum_ns) / 1e3 / static_cast<double>(report.lateness.n)
              : 0)
      << ",\"max\":" << static_cast<double>(report.lateness.max_ns) / 1e3
      << ",\"over_1ms\":" << report.lateness.over_1ms << "},\"servers\":[";
  for (std::size_t i = 0; i < network.specs().size(); ++i) {
    const ServerStats& s = network.stats()[i];
    out << (i > 0 ? "," : "") << "{\"name\":" << quoted(network.specs()[i].name)
        << ",\"packets\":" << s.packets << ",\"wire_bytes\":" << s.wire_bytes << ",\"drops\":" << s.drops
        << ",\"max_queued_bytes\":" << s.max_queued_bytes
        << ",\"busy_s\":" << static_cast<double>(s.busy_ns) / 1e9 << "}";
  }
  out << "]}\n";
  return out.str();
}

void write_atomically(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".new";
  {
    std::ofstream file(temporary);
    file << text;
    if (!file.flush()) throw std::runtime_error("cannot write " + temporary);
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0)
    throw std::runtime_error("cannot rename " + temporary);
}

}  // namespace eco::lab
