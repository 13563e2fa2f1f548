#include "eco/transport/tcp/bootstrap.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"

namespace eco::transport::tcp {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::string hexadecimal(const Key& key) {
  std::string text;
  for (const std::byte byte : key) {
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

std::optional<Key> read_key(const std::string& text) {
  Key key{};
  if (text.size() != 2 * key.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kDigits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    key[i / 2] = (key[i / 2] << 4) | static_cast<std::byte>(digit);
  }
  return key;
}

// What a rank brings to the meeting, and its line about it: "KEY ADDRESS PORT ADDRESS PORT ...".
struct Offer {
  std::vector<Socket> listening;
  std::string line;
};

Offer make_offer(const std::vector<std::string>& addresses) {
  if (addresses.empty()) throw InvalidArgument("tcp: no rails; give an address of this host for each");
  Offer offer;
  Key key;
  fill_randomly(key);
  offer.line = hexadecimal(key);
  for (const std::string& address : addresses) {
    offer.listening.push_back(listen_on(address));
    offer.line += " " + address + " " + std::to_string(port_of(offer.listening.back()));
  }
  return offer;
}

std::unique_ptr<TcpTransport> join(Offer offer, const std::vector<std::string>& lines, int rank,
                                   const std::vector<std::string>& addresses, TcpOptions options) {
  Job job;
  job.rank = rank;
  job.addresses = addresses;
  for (std::size_t r = 0; r < lines.size(); ++r) {
    std::istringstream words(lines[r]);
    std::string key;
    words >> key;
    const std::optional<Key> read = read_key(key);
    if (r == 0 && read) job.key = *read;
    std::vector<Endpoint>& endpoints = job.endpoints.emplace_back();
    for (Endpoint endpoint; words >> endpoint.address >> endpoint.port;) endpoints.push_back(endpoint);
    if (!read || endpoints.empty()) {
      throw TransportError("tcp: rank " + std::to_string(r) + " says '" + lines[r] +
                           "' instead of where it listens; can it, and is the store this job's own?");
    }
  }
  return std::make_unique<TcpTransport>(std::move(job), std::move(offer.listening), options);
}

}  // namespace

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
    throw TransportError("tcp: cannot make " + directory_ + ": " + std::strerror(errno));
}

void FileStore::put(const std::string& key, const std::string& value) {
  // Nobody reads half of it, and nobody else the key to the job.
  if (const auto reason = base::write_text_atomically(directory_ + "/" + key, value, S_IRUSR | S_IWUSR))
    throw TransportError("tcp: " + *reason);
}

std::optional<std::string> FileStore::get(const std::string& key) {
  std::ifstream file(directory_ + "/" + key, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::unique_ptr<TcpTransport> meet(KeyValue& store, int rank, int n_ranks,
                                   const std::vector<std::string>& addresses, TcpOptions options,
                                   double timeout_s) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPause(2);
  Offer offer = make_offer(addresses);
  const auto key_of = [](int r) { return "rank-" + std::to_string(r); };
  store.put(key_of(rank), offer.line);
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
  std::vector<std::string> lines;
  while (static_cast<int>(lines.size()) < n_ranks) {
    if (std::optional<std::string> line = store.get(key_of(static_cast<int>(lines.size())))) {
      lines.push_back(std::move(*line));
    } else if (Clock::now() < deadline) {
      std::this_thread::sleep_for(kPause);
    } else {
      throw Timeout("tcp: rank " + std::to_string(lines.size()) + " of " + std::to_string(n_ranks) +
                    " has not said where it listens within " + std::to_string(timeout_s) + " s");
    }
  }
  return join(std::move(offer), lines, rank, addresses, options);
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
  for (std::size_t r = 0; r < static_cast<std::size_t>(n_ranks); ++r)
    lines.push_back(all.substr(r * width, width));
  return lines;
}

std::unique_ptr<TcpTransport> meet(Native& native, int rank, int n_ranks,
                                   const std::vector<std::string>& addresses, TcpOptions options) {
  Offer offer;
  try {
    offer = make_offer(addresses);
  } catch (const Error& error) {
    // The others wait in the collectives below: they hear of it, and all throw.
    offer.line = std::string("! ") + error.what();
  }
  const std::vector<std::string> lines = gather_lines(native, n_ranks, offer.line);
  return join(std::move(offer), lines, rank, addresses, options);
}

}  // namespace eco::transport::tcp
