// Reads as much of an ELF file as eco-exec has to know before it starts a program.
#pragma once

#include <optional>
#include <string>

namespace eco::preload {

struct Elf {
  int machine = 0;          // EM_X86_64, ...
  std::string interpreter;  // the dynamic loader; empty for shared libraries and static executables
  bool is_dynamic = false;  // has a dynamic section
};

// Local. Nothing if the file is absent or no 64-bit ELF file of this byte order (a script, say).
std::optional<Elf> read_elf(const std::string& path);

}  // namespace eco::preload
