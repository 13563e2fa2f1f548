// eco-relay CONFIG STATS: carries frames between the interfaces named in CONFIG as the network described there.
//
// Prints "ready" once frames are carried. SIGUSR1 writes the statistics to STATS, SIGTERM does so and ends.
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <map>

#include "lab/relay/config.h"
#include "lab/relay/network.h"
#include "lab/relay/report.h"
#include "lab/relay/wire.h"

namespace eco::lab {
namespace {

// Under load the relay looks at the wire at most this often: a wake-up costs several microseconds, and a frame
// knows when it arrived, so nothing but the very shortest paths is delivered later for it.
constexpr Nanos kCoalesce = 30'000;

// Real-time where allowed; else high priority with a slice short enough to be woken in time beside busy ranks.
bool take_priority() {
  prctl(PR_SET_TIMERSLACK, 1);
  sched_param realtime{};
  realtime.sched_priority = 20;
  if (sched_setscheduler(0, SCHED_FIFO, &realtime) == 0) return true;
  (void)setpriority(PRIO_PROCESS, 0, -20);
  struct {
    std::uint32_t size = 48, policy = SCHED_OTHER;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime = 100'000, deadline = 0, period = 0;
  } attributes;
  attributes.nice = getpriority(PRIO_PROCESS, 0);
  (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
  return false;
}

class Relay {
 public:
  Relay(const Config& config, std::string stats_file)
      : stats_file_(std::move(stats_file)),
        network_(config.servers, config.paths, pool_),
        wire_(config.ports) {
    for (std::size_t i = 0; i < config.ports.size(); ++i)
      port_of_mac_[config.ports[i].mac] = static_cast<int>(i);
    report_.is_realtime = take_priority();
    start_ = monotonic_now();
    for (const TrafficSpec& t : config.traffic) network_.add_traffic(t, start_);
    sigset_t signals;
    sigemptyset(&signals);
    for (const int s : {SIGUSR1, SIGTERM, SIGINT}) sigaddset(&signals, s);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    signal_fd_ = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  }

  void run() {
    while (!is_done_) {
      const Nanos now = monotonic_now();
      wire_.receive(now,
                    [this](int port, Nanos at, std::span<const char> bytes) { accept(port, at, bytes); });
      delivered_.clear();
      network_.advance(now, delivered_);
      if (!delivered_.empty()) deliver();
      wait();
    }
    write_report();
  }

 private:
  void accept(int port, Nanos at, std::span<const char> bytes) {
    const auto frame_bytes = static_cast<int>(bytes.size()) - kVirtioHeaderBytes;
    if (frame_bytes < 14) return;
    Mac destination;
    std::memcpy(destination.data(), bytes.data() + kVirtioHeaderBytes, destination.size());
    const auto to = port_of_mac_.find(destination);
    const auto path = to == port_of_mac_.end() ? std::nullopt : network_.path_between(port, to->second);
    if (!path) {  // broadcasts and such: neighbours are permanent entries, so nobody needs them
      ++report_.unknown_destination;
      return;
    }
    Packet* packet = pool_.take(static_cast<int>(bytes.size()));
    std::memcpy(packet->data, bytes.data(), bytes.size());
    packet->wire_bytes = wire_bytes(frame_bytes);
    packet->path = *path;
    packet->port = to->second;
    network_.inject(at, packet);
  }

  void deliver() {
    const Nanos now = monotonic_now();
    for (const Delivery& d : delivered_) report_.lateness.add(now - d.due);
    wire_.send(delivered_);
    for (const Delivery& d : delivered_) pool_.give_back(d.packet);
  }

  void wait() {
    const Nanos now = monotonic_now();
    const Nanos next = network_.next_event().value_or(now + 1'000'000'000);
    if (next <= now) return;
    const Nanos quiet_until = std::min(last_wake_ + kCoalesce, next);
    if (wire_.has_waiting() && quiet_until <= now) {
      last_wake_ = now;
      return;
    }
    if (quiet_until > now) {
      const timespec until{quiet_until / 1'000'000'000, quiet_until % 1'000'000'000};
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    } else {
      const timespec timeout{(next - now) / 1'000'000'000, (next - now) % 1'000'000'000};
      std::array<pollfd, 2> fds{pollfd{wire_.fd(), POLLIN, 0}, pollfd{signal_fd_, POLLIN, 0}};
      if (ppoll(fds.data(), fds.size(), &timeout, nullptr) > 0 && fds[1].revents != 0) on_signal();
    }
    last_wake_ = monotonic_now();
    if (last_wake_ - last_signal_check_ > 10'000'000) {  // under load ppoll may not be reached for long
      last_signal_check_ = last_wake_;
      on_signal();
    }
  }

  void on_signal() {
    signalfd_siginfo info{};
    while (read(signal_fd_, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGUSR1) {
        write_report();
      } else {
        is_done_ = true;
      }
    }
  }

  void write_report() {
    report_.wire = wire_.stats();
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    report_.cpu_s = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                    static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    report_.wall_s = static_cast<double>(monotonic_now() - start_) / 1e9;
    write_atomically(stats_file_, to_json(network_, report_));
  }

  std::string stats_file_;
  PacketPool pool_;
  Network network_;
  Wire wire_;
  std::map<Mac, int> port_of_mac_;
  std::vector<Delivery> delivered_;
  Report report_;
  Nanos start_ = 0;
  Nanos last_wake_ = 0;
  Nanos last_signal_check_ = 0;
  int signal_fd_ = -1;
  bool is_done_ = false;
};

}  // namespace
}  // namespace eco::lab

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: eco-relay CONFIG STATS\n");
    return 2;
  }
  try {
    std::ifstream file(argv[1]);
    if (!file) throw eco::lab::ConfigError(std::string("cannot read the relay configuration ") + argv[1]);
    eco::lab::Relay relay(eco::lab::parse_config(file), argv[2]);
    std::printf("ready\n");
    std::fflush(stdout);
    relay.run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "eco-relay: %s\n", e.what());
    return 1;
  }
  return 0;
}
