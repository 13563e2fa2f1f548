#include "lab/relay/network.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace eco::lab {

Network::Network(std::vector<ServerSpec> servers, std::vector<Path> paths, PacketPool& pool)
    : specs_(std::move(servers)),
      stats_(specs_.size()),
      paths_(std::move(paths)),
      free_at_(specs_.size(), 0),
      buses_(specs_.size()),
      pool_(pool) {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].discipline != Discipline::bus) continue;
    buses_[i].waiting.resize(specs_[i].n_stations);
    buses_[i].waiting_bytes.resize(specs_[i].n_stations, 0);
  }
  int n_ports = 0;
  for (const Path& path : paths_) n_ports = std::max({n_ports, path.from_port + 1, path.to_port + 1});
  path_of_.assign(n_ports, std::vector<int>(n_ports, -1));
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    path_of_[paths_[i].from_port][paths_[i].to_port] = static_cast<int>(i);
  }
}

std::optional<int> Network::path_between(int from_port, int to_port) const {
  const int n_ports = static_cast<int>(path_of_.size());
  if (from_port < 0 || to_port < 0 || from_port >= n_ports || to_port >= n_ports) return std::nullopt;
  const int path = path_of_[from_port][to_port];
  if (path < 0) return std::nullopt;
  return path;
}

void Network::add_traffic(const TrafficSpec& spec, Nanos start) {
  sources_.push_back(Source{spec, std::mt19937_64(spec.seed), start + spec.on_ns});
  push(start, static_cast<int>(sources_.size()) - 1, true, nullptr);
}

void Network::inject(Nanos at, Packet* packet) { push(at, -1, false, packet); }

std::optional<Nanos> Network::next_event() const {
  if (events_.empty()) return std::nullopt;
  return events_.top().at;
}

void Network::advance(Nanos until, std::vector<Delivery>& delivered) {
  while (!events_.empty() && events_.top().at <= until) {
    const Event event = events_.top();
    events_.pop();
    if (event.packet != nullptr) {
      arrive(event.at, event.packet, delivered);
    } else if (event.is_traffic) {
      emit(event.at, event.server);
    } else {
      bus_done(event.at, event.server);
    }
  }
}

void Network::push(Nanos at, int server, bool is_traffic, Packet* packet) {
  events_.push(Event{at, next_order_++, server, is_traffic, packet});
}

void Network::arrive(Nanos at, Packet* packet, std::vector<Delivery>& delivered) {
  const Path& path = paths_[packet->path];
  if (packet->hop == static_cast<int>(path.hops.size())) {
    if (packet->port < 0) {
      pool_.give_back(packet);
    } else {
      delivered.push_back(Delivery{at, packet});
    }
    return;
  }
  const Hop hop = path.hops[packet->hop];
  if (specs_[hop.server].discipline == Discipline::fifo) {
    arrive_fifo(at, hop.server, packet);
  } else {
    arrive_bus(at, hop, packet);
  }
}

// A FIFO's future is settled on arrival: the packet is sent when all accepted before it have been.
void Network::arrive_fifo(Nanos at, int server, Packet* packet) {
  const ServerSpec& spec = specs_[server];
  const Nanos start = std::max(at, free_at_[server]);
  const auto queued = static_cast<std::int64_t>(static_cast<double>(start - at) * spec.bits_per_s / 8e9);
  if (queued + packet->wire_bytes > spec.queue_bytes) {
    drop(server, packet);
    return;
  }
  ServerStats& stats = stats_[server];
  stats.max_queued_bytes = std::max(stats.max_queued_bytes, queued);
  const Nanos sending = serialisation(server, packet->wire_bytes);
  free_at_[server] = start + sending;
  count(server, *packet, sending);
  ++packet->hop;
  push(start + sending + spec.delay_ns, -1, false, packet);
}

void Network::arrive_bus(Nanos at, Hop hop, Packet* packet) {
  Bus& bus = buses_[hop.server];
  std::int64_t& queued = bus.waiting_bytes[hop.station];
  if (queued + packet->wire_bytes > specs_[hop.server].queue_bytes) {
    drop(hop.server, packet);
    return;
  }
  bus.waiting[hop.station].push_back(packet);
  queued += packet->wire_bytes;
  stats_[hop.server].max_queued_bytes = std::max(stats_[hop.server].max_queued_bytes, queued);
  if (bus.on_wire == nullptr) start_next(at, hop.server);
}

// Takes the next packet of the next station after the last one served.
void Network::start_next(Nanos at, int server) {
  Bus& bus = buses_[server];
  const int n = static_cast<int>(bus.waiting.size());
  for (int step = 1; step <= n; ++step) {
    const int station = (bus.last_station + step) % n;
    if (bus.waiting[station].empty()) continue;
    bus.last_station = station;
    bus.on_wire = bus.waiting[station].front();
    bus.waiting[station].pop_front();
    bus.waiting_bytes[station] -= bus.on_wire->wire_bytes;
    push(at + serialisation(server, bus.on_wire->wire_bytes), server, false, nullptr);
    return;
  }
}

void Network::bus_done(Nanos at, int server) {
  Packet* packet = std::exchange(buses_[server].on_wire, nullptr);
  count(server, *packet, serialisation(server, packet->wire_bytes));
  ++packet->hop;
  push(at + specs_[server].delay_ns, -1, false, packet);
  start_next(at, server);
}

void Network::emit(Nanos at, int source) {
  Source& from = sources_[source];
  const TrafficSpec& spec = from.spec;
  Packet* packet = pool_.take(0);
  packet->wire_bytes = wire_bytes(spec.frame_bytes);
  packet->path = spec.path;
  packet->port = -1;
  push(at, -1, false, packet);
  const double mean_ns = packet->wire_bytes * 8e9 / spec.bits_per_s;
  double gap_ns = mean_ns;
  if (spec.arrivals == Arrivals::poisson) gap_ns = std::exponential_distribution(1 / mean_ns)(from.random);
  Nanos next = at + static_cast<Nanos>(std::llround(gap_ns));
  if (spec.arrivals == Arrivals::on_off && next >= from.burst_end) {
    next = from.burst_end + spec.off_ns;
    from.burst_end = next + spec.on_ns;
  }
  push(next, source, true, nullptr);
}

void Network::drop(int server, Packet* packet) {
  ++stats_[server].drops;
  pool_.give_back(packet);
}

void Network::count(int server, const Packet& packet, Nanos busy_ns) {
  ServerStats& stats = stats_[server];
  ++stats.packets;
  stats.wire_bytes += packet.wire_bytes;
  stats.busy_ns += busy_ns;
}

Nanos Network::serialisation(int server, int bytes) const {
  const double rate = specs_[server].bits_per_s;
  return rate > 0 ? static_cast<Nanos>(std::llround(bytes * 8e9 / rate)) : 0;
}

}  // namespace eco::lab
