#include "preload/exec/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace eco::preload {
namespace {

bool read_at(int file, void* target, std::size_t bytes, std::size_t offset) {
  return pread(file, target, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

std::optional<Elf> read_open(int file) {
  Elf64_Ehdr header;
  if (!read_at(file, &header, sizeof header, 0)) return std::nullopt;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_phentsize != sizeof(Elf64_Phdr)) {
    return std::nullopt;
  }
  Elf elf;
  elf.machine = header.e_machine;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read_at(file, &segment, sizeof segment, header.e_phoff + i * sizeof segment)) return std::nullopt;
    if (segment.p_type == PT_DYNAMIC) elf.is_dynamic = true;
    if (segment.p_type == PT_INTERP && segment.p_filesz > 1 && segment.p_filesz < 4096) {
      elf.interpreter.resize(segment.p_filesz - 1);  // without its final zero
      if (!read_at(file, elf.interpreter.data(), elf.interpreter.size(), segment.p_offset))
        return std::nullopt;
    }
  }
  return elf;
}

}  // namespace

std::optional<Elf> read_elf(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::optional<Elf> elf = read_open(file);
  close(file);
  return elf;
}

}  // namespace eco::preload
