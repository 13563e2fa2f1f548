// What ranks that want to meet say to each other before they have a transport: one line of text each, through a key-value
// store or the MPI library's collectives.
//
//   FileStore store("/shared/job-17");
//   const std::vector<std::string> lines = gather_lines(store, rank, n_ranks, mine);     // collective
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eco/transport/native.h"

namespace eco::transport {

// What a bootstrap needs of a store. Thread-safe. Throws TransportError if the store can't be used.
class KeyValue {
 public:
  virtual ~KeyValue() = default;
  virtual void put(const std::string& key, const std::string& value) = 0;
  // Nothing: not there yet.
  virtual std::optional<std::string> get(const std::string& key) = 0;
};

// For ranks that are threads of one process.
class MemoryStore final : public KeyValue {
 public:
  void put(const std::string& key, const std::string& value) override;
  std::optional<std::string> get(const std::string& key) override;

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> values_;
};

// A directory that all ranks see, one file a key, readable by its user alone. Of one job: keys of an earlier one would
// be taken for this one's.
class FileStore final : public KeyValue {
 public:
  // Makes the directory if it is not there.
  explicit FileStore(std::string directory);
  void put(const std::string& key, const std::string& value) override;
  std::optional<std::string> get(const std::string& key) override;

 private:
  std::string directory_;
};

// Collective: every rank's line, by rank; through the store or the library (which takes spaces off its end).
std::vector<std::string> gather_lines(KeyValue& store, int rank, int n_ranks, const std::string& mine,
                                      double timeout_s = 60);
std::vector<std::string> gather_lines(Native& native, int n_ranks, const std::string& mine);

// Bytes as text in a line. Nothing: that is no such text.
std::string hexadecimal(std::span<const std::byte> bytes);
std::optional<std::vector<std::byte>> read_hexadecimal(const std::string& text);

}  // namespace eco::transport
