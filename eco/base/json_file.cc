#include "eco/base/json_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "eco/base/errors.h"

namespace eco::base {

namespace {

// Nothing that ECO writes comes near; what is longer was named by mistake, and all ranks would wait while it is read.
constexpr std::size_t kMostTextBytes = std::size_t{1} << 30;

class OpenFile {
 public:
  // Without waiting: opening a pipe would wait for somebody to write into it, with all ranks of a job behind.
  explicit OpenFile(const std::string& path)
      : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (file_ < 0) throw CorruptFile("cannot open " + path + ": " + std::strerror(errno));
  }
  ~OpenFile() { ::close(file_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int operator*() const { return file_; }

 private:
  int file_;
};

void check_length(const std::string& path, std::size_t bytes) {
  if (bytes <= kMostTextBytes) return;
  throw CorruptFile(path + " is longer than " + std::to_string(kMostTextBytes) + " bytes: no file of ECO's");
}

// Writes, flushes and closes; the reason if any of it failed.
std::optional<std::string> write_all(int file, std::string_view text) {
  int error = 0;
  while (!text.empty() && error == 0) {
    const ssize_t put = ::write(file, text.data(), text.size());
    if (put >= 0) {
      text.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (error == 0 && ::fsync(file) != 0 && errno != EINVAL) error = errno;
  if (::close(file) != 0 && error == 0) error = errno;
  if (error != 0) return std::strerror(error);
  return std::nullopt;
}

// A device is written into: root may rename a file over /dev/null. A pipe is refused: its reader may leave or never come,
// and who writes is a program at its end.
std::optional<std::string> write_into(const std::string& path, bool is_device, std::string_view text) {
  if (!is_device) return "cannot write " + path + ": no regular file";
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  const std::optional<std::string> reason = file < 0 ? std::strerror(errno) : write_all(file, text);
  if (!reason) return std::nullopt;
  return "cannot write " + path + ": " + *reason;
}

}  // namespace

std::string read_text(const std::string& path) {
  const OpenFile file(path);
  struct stat status = {};
  if (::fstat(*file, &status) != 0) throw CorruptFile("cannot read " + path + ": " + std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw CorruptFile(path + " is no regular file");
  check_length(path, static_cast<std::size_t>(status.st_size));
  std::string text;
  std::array<char, 65536> piece;
  for (;;) {
    const ssize_t got = ::read(*file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw CorruptFile("cannot read " + path + ": " + std::strerror(errno));
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
    check_length(path, text.size());  // it may grow meanwhile
  }
}

std::optional<std::string> write_text_atomically(const std::string& path, std::string_view text,
                                                 unsigned permissions) {
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!directory.empty()) std::filesystem::create_directories(directory, error);
  if (error) return "cannot create directory " + directory.string() + ": " + error.message();

  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return write_into(path, S_ISCHR(status.st_mode), text);

  std::string temporary = path + ".XXXXXX";
  const int file = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return "cannot write beside " + path + ": " + std::strerror(errno);
  ::fchmod(file, permissions);
  std::optional<std::string> reason = write_all(file, text);
  if (!reason && std::rename(temporary.c_str(), path.c_str()) != 0) reason = std::strerror(errno);
  if (!reason) return std::nullopt;
  ::unlink(temporary.c_str());
  return "cannot write " + path + ": " + *reason;
}

nlohmann::json parse_document(std::string_view text, const std::string& where, std::string_view schema,
                              int version) {
  if (text.empty()) throw CorruptFile(where + " is empty");
  nlohmann::json document;
  try {
    document = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw CorruptFile(where + " is not complete JSON (" + error.what() + ")");
  }
  const auto expected = "'" + std::string(schema) + "' version " + std::to_string(version);
  if (!document.is_object() || !document.contains("schema") || !document["schema"].is_string()) {
    throw CorruptFile(where + " is no ECO document: it has no key 'schema'; expected " + expected);
  }
  const auto found = document["schema"].get<std::string>();
  if (found != schema) throw CorruptFile(where + " is of schema '" + found + "'; expected " + expected);
  if (!document.contains("version") || !document["version"].is_number_integer()) {
    throw CorruptFile(where + " has no integer 'version'; expected " + expected);
  }
  const auto found_version = document["version"].get<std::int64_t>();
  if (found_version != version) {
    throw CorruptFile(where + " is of version " + std::to_string(found_version) + "; this build reads " +
                      expected);
  }
  return document;
}

std::string digest(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return digits.data();
}

}  // namespace eco::base
