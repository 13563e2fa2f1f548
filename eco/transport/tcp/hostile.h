// Rails that fail on purpose, for tests: proxies between ranks that cut connections at a given byte, and sockets that lose
// every packet.
//
//   run_hostile_ranks(2, 2, {}, [](int rank, int rail) { return Fate{.forth = 100}; }, [](TcpTransport& transport) { ... });
//   deafen(0);                         // from now on no packet comes through rail 0: neither side hears of it
//   deafen(0, Ears::openers);          // what openers say over their connections still comes through, no answer does
//   deafen(0, Ears::connected);        // connections that are made later hear
//
// All rails but the last lead through a proxy, which asks what becomes of each connection to that rank over that rail.
#pragma once

#include <arpa/inet.h>
#include <linux/filter.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <limits>
#include <list>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "eco/transport/tcp/greeting.h"
#include "eco/transport/tcp/testing.h"

namespace eco::transport::tcp {

// Of a connection: after so many bytes from its opener, or to it, it ends for both.
struct Fate {
  static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  std::size_t forth = kNever;
  std::size_t back = kNever;
  bool resets = false;  // instead of closing
};
using Fates = std::function<Fate(int rank, int rail)>;  // called from one thread

class Proxy {
 public:
  explicit Proxy(Fates fates) : fates_(std::move(fates)) {}
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
  }

  // Where to connect instead. All before start().
  Endpoint stand_before(const Endpoint& target, int rank, int rail) {
    doors_.push_back({listen_on(target.address), target, rank, rail});
    return {target.address, port_of(doors_.back().listening)};
  }
  void start() {
    thread_ = std::thread([this] {
      while (!is_over_) step();
    });
  }
  std::size_t n_cut() const { return n_cut_; }

 private:
  struct Door {
    Socket listening;
    Endpoint target;
    int rank;
    int rail;
  };
  struct Way {
    std::vector<std::byte> held;
    std::size_t left;  // bytes until the cut
    bool has_ended = false;
    bool is_shut = false;
  };
  struct Pair {
    std::array<Socket, 2> ends;  // the opener's, the other's
    std::array<Way, 2> ways;     // forth, back
    bool resets;
    bool is_dead = false;
  };

  void step() {
    std::vector<pollfd> watched;
    for (const Door& door : doors_) watched.push_back({door.listening.get(), POLLIN, 0});
    for (const Pair& pair : pairs_) {
      for (std::size_t end = 0; end < 2; ++end) {
        const Way& from_here = pair.ways[end];
        const short in = from_here.held.empty() && !from_here.has_ended ? POLLIN : 0;
        const short out = pair.ways[1 - end].held.empty() ? 0 : POLLOUT;
        watched.push_back({pair.ends[end].get(), static_cast<short>(in | out), 0});
      }
    }
    ::poll(watched.data(), watched.size(), 5);
    for (Pair& pair : pairs_) {
      for (std::size_t way = 0; way < 2 && !pair.is_dead; ++way) carry(pair, way);
    }
    pairs_.remove_if([](const Pair& pair) { return pair.is_dead; });
    for (Door& door : doors_) {
      while (Socket in = accept(door.listening)) {
        const Fate fate = fates_(door.rank, door.rail);
        Pair& pair = pairs_.emplace_back();
        pair.ends = {std::move(in), connect_from(door.target.address, door.target)};
        pair.resets = fate.resets;
        pair.ways[0].left = fate.forth;
        pair.ways[1].left = fate.back;
        for (const Socket& end : pair.ends) prepare(end, 0);
        if (fate.forth == 0 || fate.back == 0) cut(pair);
      }
    }
    pairs_.remove_if([](const Pair& pair) { return pair.is_dead; });
  }

  void carry(Pair& pair, std::size_t number) {
    Way& way = pair.ways[number];
    if (way.held.empty() && !way.has_ended) {
      std::array<std::byte, 16384> room;
      const ssize_t n = ::recv(pair.ends[number].get(), room.data(), room.size(), MSG_DONTWAIT);
      if (n > 0) way.held.assign(room.begin(), room.begin() + n);
      if (n == 0) way.has_ended = true;
      if (n < 0 && errno != EAGAIN && errno != ENOTCONN) return end(pair, true);
    }
    if (!way.held.empty()) {
      const std::size_t most = std::min(way.held.size(), way.left);
      const ssize_t n =
          ::send(pair.ends[1 - number].get(), way.held.data(), most, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n < 0 && errno != EAGAIN && errno != ENOTCONN) return end(pair, true);
      if (n > 0) {
        way.held.erase(way.held.begin(), way.held.begin() + n);
        way.left -= static_cast<std::size_t>(n);
        if (way.left == 0) return cut(pair);
      }
    }
    if (way.has_ended && way.held.empty() && !way.is_shut) {
      way.is_shut = true;
      ::shutdown(pair.ends[1 - number].get(), SHUT_WR);
    }
    if (pair.ways[0].is_shut && pair.ways[1].is_shut) end(pair, false);
  }

  void cut(Pair& pair) {
    ++n_cut_;
    end(pair, pair.resets);
  }
  static void end(Pair& pair, bool resets) {
    const linger none{1, 0};
    for (Socket& each : pair.ends) {
      if (resets) ::setsockopt(each.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
      each.close();
    }
    pair.is_dead = true;
  }

  Fates fates_;
  std::vector<Door> doors_;
  std::list<Pair> pairs_;
  std::atomic<bool> is_over_ = false;
  std::atomic<std::size_t> n_cut_ = 0;
  std::thread thread_;
};

// On a thread for each rank. How many connections were cut; of none on the last rail.
inline std::size_t run_hostile_ranks(int n_ranks, const AddressesOf& addresses_of, const TcpOptions& options,
                                     Fates fates, const std::function<void(TcpTransport&)>& body) {
  Proxy proxy(std::move(fates));
  Job job;
  fill_randomly(job.key);
  std::vector<std::vector<Socket>> listening(static_cast<std::size_t>(n_ranks));
  for (int rank = 0; rank < n_ranks; ++rank) {
    std::vector<Endpoint>& endpoints = job.endpoints.emplace_back();
    const std::vector<std::string> addresses = addresses_of(rank);
    for (std::size_t rail = 0; rail < addresses.size(); ++rail) {
      Endpoint& endpoint = endpoints.emplace_back();
      if (addresses[rail].empty()) continue;
      std::vector<Socket>& mine = listening[static_cast<std::size_t>(rank)];
      mine.push_back(listen_on(addresses[rail]));
      endpoint = {addresses[rail], port_of(mine.back())};
      if (rail + 1 < addresses.size()) endpoint = proxy.stand_before(endpoint, rank, static_cast<int>(rail));
    }
  }
  proxy.start();
  run_rank_threads(n_ranks, [&](int rank) {
    Job mine = job;
    mine.rank = rank;
    mine.addresses = addresses_of(rank);
    TcpTransport transport(std::move(mine), std::move(listening[static_cast<std::size_t>(rank)]), options);
    body(transport);
  });
  return proxy.n_cut();
}

inline std::size_t run_hostile_ranks(int n_ranks, int n_rails, const TcpOptions& options, Fates fates,
                                     const std::function<void(TcpTransport&)>& body) {
  return run_hostile_ranks(
      n_ranks, [n_rails](int) { return loopback_addresses(n_rails); }, options, std::move(fates), body);
}

enum class Ears { all, openers, connected };

// Every TCP socket of this process on that rail loses all that comes to it, listening ones too; or those alone that
// opened their connection; or those that are connected. How many.
inline int deafen(int rail, Ears ears = Ears::all) {
  in_addr address{};
  ::inet_pton(AF_INET, loopback_addresses(rail + 1).back().c_str(), &address);
  struct Found {
    int descriptor;
    in_port_t port;
    bool listens = false;
  };
  std::vector<Found> found;
  std::set<in_port_t> listening;  // and so of what was accepted there
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename().string());
    sockaddr_in here{};
    socklen_t length = sizeof here;
    if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&here), &length) != 0) continue;
    if (here.sin_family != AF_INET || here.sin_addr.s_addr != address.s_addr) continue;
    found.push_back({descriptor, here.sin_port});
    int listens = 0;
    length = sizeof listens;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens != 0) {
      listening.insert(here.sin_port);
      found.back().listens = true;
    }
  }
  sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &nothing};
  return static_cast<int>(std::count_if(found.begin(), found.end(), [&](const Found& each) {
    if (ears == Ears::openers && listening.contains(each.port)) return false;
    if (ears == Ears::connected && each.listens) return false;
    return ::setsockopt(each.descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
  }));
}

}  // namespace eco::transport::tcp
