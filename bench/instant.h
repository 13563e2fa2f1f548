/* What benchmarks share whose ranks begin at a common instant of the machine's clock: so they must be on one machine, as in
 * the lab. */
#ifndef ECO_BENCH_INSTANT_H
#define ECO_BENCH_INSTANT_H
#include <time.h>

static inline double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void sleep_until(double instant_s) {
  struct timespec at;
  at.tv_sec = (time_t)instant_s;
  at.tv_nsec = (long)((instant_s - (double)at.tv_sec) * 1e9);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0) {
  }
}
#endif
