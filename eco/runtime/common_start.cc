#include "eco/runtime/common_start.h"

#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <string>

#include "eco/base/json_file.h"
#include "eco/runtime/agreement.h"

namespace eco::runtime {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr std::int64_t kMostLead_ns = kNanoseconds;

// Which CLOCK_MONOTONIC this process reads.
std::string clock_identity() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string identity;
  std::getline(file, identity);
  char text[64];
  const ssize_t length = readlink("/proc/self/ns/time", text, sizeof text);
  if (length > 0) identity.append(text, static_cast<std::size_t>(length));
  return identity;
}

}  // namespace

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * kNanoseconds + now.tv_nsec;
}

void sleep_until(std::int64_t instant_ns) {
  // The kernel may wake a sleeper 50 us late unless it is told otherwise.
  const int slack_ns = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  const timespec until{.tv_sec = static_cast<time_t>(instant_ns / kNanoseconds),
                       .tv_nsec = static_cast<long>(instant_ns % kNanoseconds)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
  if (slack_ns > 0) prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0);
}

bool reads_one_clock(transport::Native& native, int rank, int n_ranks) {
  return Agreement(native, rank, n_ranks).equal(std::stoull(base::digest(clock_identity()), nullptr, 16));
}

Begin CommonStart::wait() {
  native_.barrier();
  if (!one_clock_) return {.at_ns = now_ns()};
  std::int64_t instant_ns = now_ns() + lead_ns_;
  native_.broadcast(std::as_writable_bytes(std::span(&instant_ns, 1)), 0);
  const bool late = now_ns() > instant_ns;
  sleep_until(instant_ns);
  return {instant_ns, static_cast<double>(now_ns() - instant_ns) * 1e-9, late};
}

bool CommonStart::widen() {
  if (lead_ns_ >= kMostLead_ns) return false;
  lead_ns_ = std::min(2 * lead_ns_, kMostLead_ns);
  return true;
}

}  // namespace eco::runtime
