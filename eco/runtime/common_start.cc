#include "eco/runtime/common_start.h"

#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "eco/base/json_file.h"
#include "eco/base/quantile.h"
#include "eco/runtime/agreement.h"

namespace eco::runtime {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr std::int64_t kMostLead_ns = kNanoseconds;
// Instants told to see what hearing of one takes.
constexpr std::size_t kTold = 7;
// Of that, ahead: as much again for the packets behind the last word, and for a rank that is not usual.
constexpr double kAhead = 3;
// Instants that nobody widened, after which they come nearer.
constexpr int kCalm = 64;

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

double in_seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

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
  if (++n_calm_ > kCalm) {
    lead_ns_ = std::max(least_ns_, lead_ns_ / 2);
    n_calm_ = 0;
  }
  last_ns_ = now_ns() + lead_ns_;
  native_.broadcast(std::as_writable_bytes(std::span(&last_ns_, 1)), 0);
  return sleep_until_last();
}

Begin CommonStart::wait_after(double seconds) {
  if (!one_clock_) return wait();
  last_ns_ += static_cast<std::int64_t>(seconds * 1e9);
  return sleep_until_last();
}

Begin CommonStart::sleep_until_last() const {
  const std::int64_t heard_ns = now_ns();
  sleep_until(last_ns_);
  return {.at_ns = last_ns_,
          .overslept_s = in_seconds(now_ns() - last_ns_),
          .late = heard_ns > last_ns_,
          .heard_s = in_seconds(heard_ns - (last_ns_ - lead_ns_))};
}

void CommonStart::fit() {
  if (!one_clock_) return;
  std::vector<double> heard_s;
  for (std::size_t i = 0; i < kTold; ++i) heard_s.push_back(wait().heard_s);
  std::sort(heard_s.begin(), heard_s.end());
  // A whole number before ranks compare: what each of them works out of a fraction may end on another one.
  double needed_most_ns = std::floor(kAhead * base::quantile(heard_s, 0.5) * 1e9);
  native_.allreduce_max(std::span(&needed_most_ns, 1));
  const auto needed_ns = static_cast<std::int64_t>(needed_most_ns);
  least_ns_ = std::min(least_ns_, std::max(needed_ns, kQuick_ns));
  lead_ns_ = least_ns_;
}

bool CommonStart::widen() {
  n_calm_ = 0;
  if (lead_ns_ >= kMostLead_ns) return false;
  lead_ns_ = std::min(2 * lead_ns_, kMostLead_ns);
  return true;
}

}  // namespace eco::runtime
