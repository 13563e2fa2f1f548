/* Makes spinning processes share a machine: preloaded into everything that runs on an emulated host.
 *
 * MPI libraries wait by polling in a tight loop, which assumes a core per rank. Where ranks share a few cores, a
 * spinning rank takes the time slice of the one it waits for, and latencies become scheduler ticks. Here the
 * loop is kept, but after a few empty zero-timeout polls in a row the next one sleeps in the kernel until one of
 * the descriptors that the thread polls is ready, or IDLE_US have passed. A loop may poll several descriptors in
 * turn (one per NIC, one for the launcher), so the sleep watches all those polled lately, not only the current.
 *
 * When loaded it also names the emulated host for whoever asks (ECO_HOST_ID) and shortens the scheduler's slice,
 * which children inherit. Both are read once, here; the lab sets the variables. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/time_types.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { kSpins = 4, kMaxWatched = 64, kKernelSigsetBytes = 8 };

static long idle_ns;

static __thread struct {
  int empty_in_a_row;
  int n;
  struct pollfd watched[kMaxWatched];
} self;

__attribute__((constructor)) static void start(void) {
  const char* idle_us = getenv("ECO_LAB_IDLE_US");
  idle_ns = idle_us ? atol(idle_us) * 1000 : 0;
  prctl(PR_SET_TIMERSLACK, 1);

  const char* digest = getenv("ECO_LAB_DIGEST");
  char host[65], id[200];
  if (digest && gethostname(host, sizeof host) == 0) {
    host[sizeof host - 1] = 0;
    snprintf(id, sizeof id, "%s/%s", digest, host);
    setenv("ECO_HOST_ID", id, 1);
  }

  const char* slice_us = getenv("ECO_LAB_SLICE_US");
  if (slice_us) {
    struct {
      unsigned size, policy;
      unsigned long long flags;
      int nice;
      unsigned priority;
      unsigned long long runtime, deadline, period;
    } attributes = {.size = sizeof attributes};
    attributes.runtime = (unsigned long long)atol(slice_us) * 1000;
    syscall(SYS_sched_setattr, 0, &attributes, 0); /* older kernels know no slice: nothing lost but latency */
  }
}

static void watch(int fd, short events) {
  for (int i = 0; i < self.n; ++i) {
    if (self.watched[i].fd == fd) {
      self.watched[i].events |= events;
      return;
    }
  }
  if (self.n < kMaxWatched) self.watched[self.n++] = (struct pollfd){.fd = fd, .events = events};
}

/* Sleeps until a watched descriptor is ready. Those closed meanwhile are forgotten: they would end every sleep. */
static void sleep_on_watched(void) {
  const struct timespec limit = {0, idle_ns};
  struct timespec t = limit;
  if (syscall(SYS_ppoll, self.watched, self.n, &t, NULL, kKernelSigsetBytes) <= 0) return;
  int kept = 0;
  for (int i = 0; i < self.n; ++i) {
    if (!(self.watched[i].revents & POLLNVAL)) self.watched[kept++] = self.watched[i];
  }
  self.n = kept;
}

/* Before a zero-timeout poll: true if it may sleep now; by then a loop over several descriptors has shown them. */
static int is_idle(void) { return idle_ns > 0 && self.n > 0 && self.empty_in_a_row >= kSpins + self.n; }

static void note(int is_zero_timeout, long result) {
  if (is_zero_timeout && result == 0) {
    self.empty_in_a_row++;
  } else {
    self.empty_in_a_row = 0;
    self.n = 0; /* something happened: who polls what is learnt anew */
  }
}

static long poll_events(int fd, struct epoll_event* events, int n, const struct timespec* timeout,
                        const sigset_t* mask) {
  const int is_zero = timeout && timeout->tv_sec == 0 && timeout->tv_nsec == 0;
  if (is_zero) {
    watch(fd, POLLIN);
    if (is_idle()) sleep_on_watched();
  }
  const long result = syscall(SYS_epoll_pwait2, fd, events, n, timeout, mask, kKernelSigsetBytes);
  note(is_zero, result);
  return result;
}

EXPORT int epoll_wait(int fd, struct epoll_event* events, int n, int timeout_ms) {
  const struct timespec t = {timeout_ms / 1000, (timeout_ms % 1000) * 1000000L};
  return (int)poll_events(fd, events, n, timeout_ms < 0 ? NULL : &t, NULL);
}

EXPORT int epoll_pwait(int fd, struct epoll_event* events, int n, int timeout_ms, const sigset_t* mask) {
  const struct timespec t = {timeout_ms / 1000, (timeout_ms % 1000) * 1000000L};
  return (int)poll_events(fd, events, n, timeout_ms < 0 ? NULL : &t, mask);
}

EXPORT int epoll_pwait2(int fd, struct epoll_event* events, int n, const struct timespec* timeout,
                        const sigset_t* mask) {
  return (int)poll_events(fd, events, n, timeout, mask);
}

static long poll_fds(struct pollfd* fds, nfds_t n, const struct timespec* timeout, const sigset_t* mask) {
  const int is_zero = timeout && timeout->tv_sec == 0 && timeout->tv_nsec == 0;
  if (is_zero) {
    for (nfds_t i = 0; i < n; ++i) {
      if (fds[i].fd >= 0) watch(fds[i].fd, fds[i].events);
    }
    if (is_idle()) sleep_on_watched();
  }
  struct timespec t = timeout ? *timeout : (struct timespec){0, 0}; /* the kernel writes back what remains */
  const long result = syscall(SYS_ppoll, fds, n, timeout ? &t : NULL, mask, kKernelSigsetBytes);
  note(is_zero, result);
  return result;
}

EXPORT int ppoll(struct pollfd* fds, nfds_t n, const struct timespec* timeout, const sigset_t* mask) {
  return (int)poll_fds(fds, n, timeout, mask);
}

EXPORT int poll(struct pollfd* fds, nfds_t n, int timeout_ms) {
  const struct timespec t = {timeout_ms / 1000, (timeout_ms % 1000) * 1000000L};
  return (int)poll_fds(fds, n, timeout_ms < 0 ? NULL : &t, NULL);
}

int __poll_chk(struct pollfd* fds, nfds_t n, int timeout_ms, size_t size);
EXPORT int __poll_chk(struct pollfd* fds, nfds_t n, int timeout_ms, size_t size) {
  (void)size;
  return poll(fds, n, timeout_ms);
}

/* A launcher that forks puts the child into its own process group from both sides. On few cores the child has often
 * gone on to exec by then, which the kernel refuses and launchers warn about, although nothing is amiss. */
EXPORT int setpgid(pid_t pid, pid_t group) {
  const long result = syscall(SYS_setpgid, pid, group);
  return result != 0 && errno == EACCES ? 0 : (int)result;
}
