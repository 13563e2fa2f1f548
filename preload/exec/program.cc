#include "preload/exec/program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "preload/exec/elf.h"

namespace eco::preload {

std::string find_program(const std::string& program) {
  if (program.find('/') != std::string::npos)
    return access(program.c_str(), X_OK) == 0 ? program : std::string();
  const char* variable = std::getenv("PATH");
  const std::string path = variable != nullptr ? variable : "/usr/local/bin:/bin:/usr/bin";
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string directory = path.substr(begin, end - begin);
    const std::string candidate = (directory.empty() ? "." : directory) + "/" + program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  return {};
}

std::string why_native(const std::string& path) {
  const std::optional<Elf> elf = read_elf(path);
  if (elf && elf->interpreter.empty()) return "it is statically linked, so nothing can be put under it";
  return {};
}

}  // namespace eco::preload
