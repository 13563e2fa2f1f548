#include "eco/transport/meeting.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string_view>
#include <thread>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"

namespace eco::transport {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string hexadecimal(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

std::optional<std::vector<std::byte>> read_hexadecimal(const std::string& text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kDigits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    bytes[i / 2] = (bytes[i / 2] << 4) | static_cast<std::byte>(digit);
  }
  return bytes;
}

void MemoryStore::put(const std::string& key, const std::string& value) {
  const std::lock_guard lock(mutex_);
  values_[key] = value;
}

std::optional<std::string> MemoryStore::get(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = values_.find(key);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

FileStore::FileStore(std::string directory) : directory_(std::move(directory)) {
  if (::mkdir(directory_.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    throw TransportError("cannot make " + directory_ + ": " + std::strerror(errno));
}

void FileStore::put(const std::string& key, const std::string& value) {
  // Nobody reads half of it, and nobody else the key to the job.
  if (const auto reason = base::write_text_atomically(directory_ + "/" + key, value, S_IRUSR | S_IWUSR))
    throw TransportError(*reason);
}

std::optional<std::string> FileStore::get(const std::string& key) {
  std::ifstream file(directory_ + "/" + key, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> gather_lines(KeyValue& store, int rank, int n_ranks, const std::string& mine,
                                      double timeout_s) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPause(2);
  const auto key_of = [](int r) { return "rank-" + std::to_string(r); };
  store.put(key_of(rank), mine);
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
  std::vector<std::string> lines;
  while (static_cast<int>(lines.size()) < n_ranks) {
    if (std::optional<std::string> line = store.get(key_of(static_cast<int>(lines.size())))) {
      lines.push_back(std::move(*line));
    } else if (Clock::now() < deadline) {
      std::this_thread::sleep_for(kPause);
    } else {
      throw Timeout("rank " + std::to_string(lines.size()) + " of " + std::to_string(n_ranks) +
                    " has not said where it listens within " + std::to_string(timeout_s) + " s");
    }
  }
  return lines;
}

std::vector<std::string> gather_lines(Native& native, int n_ranks, const std::string& mine) {
  std::array<double, 1> longest{static_cast<double>(mine.size())};
  native.allreduce_max(longest);
  const auto width = static_cast<std::size_t>(longest[0]);
  std::string padded = mine;
  padded.resize(width, ' ');
  std::string all(width * static_cast<std::size_t>(n_ranks), ' ');
  native.allgather(std::as_bytes(std::span<const char>(padded)),
                   std::as_writable_bytes(std::span<char>(all)));
  std::vector<std::string> lines;
  for (std::size_t r = 0; r < static_cast<std::size_t>(n_ranks); ++r) {
    std::string& line = lines.emplace_back(all.substr(r * width, width));
    line.erase(line.find_last_not_of(' ') + 1);
  }
  return lines;
}

}  // namespace eco::transport
