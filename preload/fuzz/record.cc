#include "preload/fuzz/record.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>

namespace eco::fuzz {

Record::Record(const std::string& path, int n_entries) {
  const std::size_t bytes = sizeof(Header) + static_cast<std::size_t>(n_entries) * sizeof(Entry);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  void* memory = MAP_FAILED;
  if (file >= 0 && ::ftruncate(file, static_cast<off_t>(bytes)) == 0)
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) throw std::runtime_error(path + ": " + std::strerror(errno));
  ::close(file);
  header_ = new (memory) Header;
  header_->n_entries = static_cast<std::uint32_t>(n_entries);
  entries_ = reinterpret_cast<Entry*>(static_cast<char*>(memory) + sizeof(Header));
  for (int i = 0; i < n_entries; ++i) new (&entries_[i]) Entry;
}

void Record::enter(int step) {
  header_->step = step;
  header_->is_in = 1;
}
void Record::leave() { header_->is_in = 0; }
void Record::end() { header_->is_done = 1; }

}  // namespace eco::fuzz
