// What one rank saw, step by step, in a file that outlives a rank that is killed.
//
//   Record record(folder + "/rank-3", 500);
//   record.enter(17);
//   record.write(17, {.digest = ..., .algorithm = "scan/chain"});
//   record.leave(17);
//
// The file is a Header and one Entry per step number, in this machine's byte order; python/eco/fuzz/runs.py reads it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace eco::fuzz {

struct Header {
  std::array<char, 8> magic{'e', 'c', 'o', 'f', 'u', 'z', 'z', '1'};
  std::uint32_t n_entries = 0;
  std::int32_t step = -1;     // that the rank is in, or was in last
  std::uint32_t is_in = 0;    // it has not left it
  std::uint32_t is_done = 0;  // the program has ended
  std::array<char, 8> unused{};
};

struct Entry {
  std::uint64_t digest = 0;    // of all memory that the call could reach
  std::uint64_t alike = 0;     // of the result, where it must be the same on all ranks of the communicator
  std::uint32_t is_there = 0;  // this rank took part, and the call has ended
  std::uint32_t is_wrong = 0;  // what the rank can tell by itself
  std::int32_t group = -1;     // the communicator's first rank in the world
  std::array<char, 36> algorithm{};
};
static_assert(sizeof(Header) == 32 && sizeof(Entry) == 64);

class Record {
 public:
  // Throws std::runtime_error.
  Record(const std::string& path, int n_entries);

  void enter(int step);
  void leave();
  void end();
  Entry& operator[](int step) { return entries_[step]; }

 private:
  Header* header_ = nullptr;
  Entry* entries_ = nullptr;
};

}  // namespace eco::fuzz
