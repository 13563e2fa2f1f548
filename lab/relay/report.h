// What the relay did, as JSON: per server, and how late frames left it.
#pragma once

#include <string>

#include "lab/relay/network.h"
#include "lab/relay/wire.h"

namespace eco::lab {

// How long after its time a frame was handed to its destination. Above 1 ms is counted apart: that is when
// the machine, not the description, decides what is measured.
struct Lateness {
  std::int64_t n = 0;
  std::int64_t over_1ms = 0;
  Nanos sum_ns = 0;
  Nanos max_ns = 0;
  void add(Nanos late_ns);
};

struct Report {
  Lateness lateness;
  WireStats wire;
  std::int64_t unknown_destination = 0;
  bool is_realtime = false;
  double cpu_s = 0;
  double wall_s = 0;
};

[[nodiscard]] std::string to_json(const Network& network, const Report& report);

// Writes `text` beside `path` and renames it, so that a reader sees the old file or the new one.
void write_atomically(const std::string& path, const std::string& text);

}  // namespace eco::lab
