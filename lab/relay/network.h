// The emulated network as a real-time event simulation: packets follow paths of servers.
//
// Main types: Server (a link direction, a port, or a shared bus), Path (the servers between two NICs),
// Network (servers, paths, events in order of virtual time). Read network.cc's arrive() first.
//
// A server takes one packet at a time, for wire bytes / rate, and hands it on after its delay: every packet is
// serialised in full on every server it crosses (store and forward), the first one included. That is why
// bounds derived from a description need no allowance for bursts.
//
//   Network net(config.servers, config.paths, pool);
//   net.inject(now, packet);                 // enters its path at time `now`
//   net.advance(later, delivered);           // everything due by `later`, in order of time
//
// No clock, no sockets: time is what the caller says, so the network can be tested as a calculation.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "lab/relay/packet.h"

namespace eco::lab {

enum class Discipline {
  fifo,  // one queue in order of arrival: a port or a link in one direction
  bus    // one queue per station, served in turn: a shared medium, which is fair on average
};

struct ServerSpec {
  std::string name;
  Discipline discipline = Discipline::fifo;
  double bits_per_s = 0;  // 0: no serialisation, only the delay
  Nanos delay_ns = 0;
  std::int64_t queue_bytes = 0;  // waiting bytes beyond which the tail is dropped (per station on a bus)
  int n_stations = 1;
};

struct Hop {
  int server = 0;
  int station = 0;  // whose queue on a bus
};

struct Path {
  int from_port = 0;
  int to_port = 0;
  std::vector<Hop> hops;
};

enum class Arrivals { constant, poisson, on_off };

// A flow that shares the network but belongs to nobody: its packets vanish at their destination.
struct TrafficSpec {
  int path = 0;
  double bits_per_s = 0;  // of frames on the wire; while "on" for on_off
  int frame_bytes = 1514;
  Arrivals arrivals = Arrivals::constant;
  Nanos on_ns = 0;
  Nanos off_ns = 0;
  std::uint64_t seed = 1;
};

struct ServerStats {
  std::int64_t packets = 0;
  std::int64_t wire_bytes = 0;
  std::int64_t drops = 0;
  std::int64_t max_queued_bytes = 0;
  Nanos busy_ns = 0;
};

struct Delivery {
  Nanos due = 0;
  Packet* packet = nullptr;
};

class Network {
 public:
  Network(std::vector<ServerSpec> servers, std::vector<Path> paths, PacketPool& pool);

  // The path between two ports, or nothing where the description joins them by no path.
  [[nodiscard]] std::optional<int> path_between(int from_port, int to_port) const;

  void add_traffic(const TrafficSpec& spec, Nanos start);

  // Takes over `packet`, whose path, port and wire_bytes are set.
  void inject(Nanos at, Packet* packet);

  // Plays all events up to `until`; what reaches its destination is appended in order of time, and belongs to
  // the caller. Background packets go back to the pool.
  void advance(Nanos until, std::vector<Delivery>& delivered);

  [[nodiscard]] std::optional<Nanos> next_event() const;
  [[nodiscard]] const std::vector<ServerSpec>& specs() const { return specs_; }
  [[nodiscard]] const std::vector<ServerStats>& stats() const { return stats_; }

 private:
  struct Event {
    Nanos at;
    std::uint64_t order;  // ties keep the order in which they were made
    int server;           // bus that becomes free, or traffic source, when there is no packet
    bool is_traffic;
    Packet* packet;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };
  struct Bus {
    std::vector<std::deque<Packet*>> waiting;  // per station
    std::vector<std::int64_t> waiting_bytes;
    Packet* on_wire = nullptr;
    int last_station = 0;
  };
  struct Source {
    TrafficSpec spec;
    std::mt19937_64 random;
    Nanos burst_end = 0;
  };

  void push(Nanos at, int server, bool is_traffic, Packet* packet);
  void arrive(Nanos at, Packet* packet, std::vector<Delivery>& delivered);
  void arrive_fifo(Nanos at, int server, Packet* packet);
  void arrive_bus(Nanos at, Hop hop, Packet* packet);
  void start_next(Nanos at, int server);
  void bus_done(Nanos at, int server);
  void emit(Nanos at, int source);
  void drop(int server, Packet* packet);
  void count(int server, const Packet& packet, Nanos busy_ns);
  [[nodiscard]] Nanos serialisation(int server, int bytes) const;

  std::vector<ServerSpec> specs_;
  std::vector<ServerStats> stats_;
  std::vector<Path> paths_;
  std::vector<std::vector<int>> path_of_;  // [from][to], -1 where there is none
  std::vector<Nanos> free_at_;             // FIFO servers: when the last accepted packet has been sent
  std::vector<Bus> buses_;                 // by server, empty for FIFO servers
  std::vector<Source> sources_;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  std::uint64_t next_order_ = 0;
  PacketPool& pool_;
};

}  // namespace eco::lab
