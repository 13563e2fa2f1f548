#include "preload/backend/watcher.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

namespace eco::preload {
namespace {

// What a signal handler may touch: a semaphore and a flag, both of the process.
sem_t wake;
std::atomic<bool> asked{false};

void on_signal(int) {
  const int saved = errno;
  asked.store(true);
  sem_post(&wake);
  errno = saved;
}

// Gives it back only if it is still ours: a program may have set its own handler since.
void give_signal_back() {
  struct sigaction current = {};
  if (sigaction(SIGUSR1, nullptr, &current) != 0) return;
  if ((current.sa_flags & SA_SIGINFO) == 0 && current.sa_handler == &on_signal) signal(SIGUSR1, SIG_DFL);
}

// Takes SIGUSR1 only from nobody.
bool take_signal() {
  struct sigaction current = {};
  if (sigaction(SIGUSR1, nullptr, &current) != 0) return false;
  if ((current.sa_flags & SA_SIGINFO) != 0 || current.sa_handler != SIG_DFL) return false;
  struct sigaction ours = {};
  ours.sa_handler = &on_signal;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  // A forked process has no thread that would answer: what would have ended it must do so still.
  static const bool children_have_theirs = pthread_atfork(nullptr, nullptr, &give_signal_back) == 0;
  if (!children_have_theirs) return false;
  return sigaction(SIGUSR1, &ours, nullptr) == 0;
}

// A stall is noticed at most this late, in parts of the stall time itself, and looked for at least this often.
constexpr double kLooksPerStall = 4;
constexpr double kLongestNap_s = 5;

}  // namespace

void Watcher::watch(const exec::FlightRecorder& recorder, std::string who, When when) {
  const std::lock_guard lock(mutex_);
  watched_.push_back({.recorder = &recorder, .who = std::move(who), .progress = 0, .since = Clock::now()});
  if (!thread_.joinable() && (when.stall_s > 0 || when.signal)) start(when);
}

void Watcher::forget(const exec::FlightRecorder& recorder) {
  const std::lock_guard lock(mutex_);
  std::erase_if(watched_, [&](const Watched& watched) { return watched.recorder == &recorder; });
}

void Watcher::start(When when) {
  when_ = when;
  sem_init(&wake, 0, 0);
  // The thread must take none of the program's signals.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { loop(); });
  } catch (const std::system_error&) {
    // No room for one more thread: nobody watches, which is no reason to end the program.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (thread_.joinable() && when.signal) owns_signal_ = take_signal();
}

void Watcher::stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true);
  sem_post(&wake);
  thread_.join();
  if (owns_signal_) give_signal_back();
}

void Watcher::loop() {
  const double nap_s = when_.stall_s > 0 ? std::min(when_.stall_s / kLooksPerStall, kLongestNap_s) : 3600;
  while (!stopping_.load()) {
    timespec until = {};
    clock_gettime(CLOCK_REALTIME, &until);
    const double fraction = static_cast<double>(until.tv_nsec) * 1e-9 + nap_s;
    until.tv_sec += static_cast<time_t>(fraction);
    until.tv_nsec = static_cast<long>((fraction - static_cast<double>(static_cast<time_t>(fraction))) * 1e9);
    sem_timedwait(&wake, &until);
    const bool print_all = asked.exchange(false);
    const std::lock_guard lock(mutex_);
    for (Watched& watched : watched_) {
      if (print_all)
        std::fprintf(stderr, "eco: %s: %s\n", watched.who.c_str(), watched.recorder->describe().c_str());
      if (when_.stall_s > 0) look(watched, Clock::now());
    }
  }
}

void Watcher::look(Watched& watched, Clock::time_point now) const {
  const std::uint64_t progress = watched.recorder->progress();
  if (!watched.recorder->in_call() || progress != watched.progress) {
    watched.progress = progress;
    watched.since = now;
    watched.reported = false;
    return;
  }
  const double waiting_s = std::chrono::duration<double>(now - watched.since).count();
  if (watched.reported || waiting_s < when_.stall_s) return;
  watched.reported = true;
  std::fprintf(stderr, "eco: %s has waited for %.0f s (waiting is legal; this only says for whom): %s\n",
               watched.who.c_str(), waiting_s, watched.recorder->describe().c_str());
}

}  // namespace eco::preload
