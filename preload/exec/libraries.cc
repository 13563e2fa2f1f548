#include "preload/exec/libraries.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "preload/exec/elf.h"

namespace eco::preload {
namespace {

// Open MPI, MPICH and Intel MPI, and their descendants. Open MPI's Fortran entries call PMPI_ names themselves, so
// ECO would see the calls of some ranks or languages only.
constexpr std::array<std::string_view, 6> kFortranLibraries = {
    "libmpi_mpifh",   // Open MPI, mpif.h and below the modules
    "libmpi_usempi",  // Open MPI, use mpi (libmpi_usempif08, libmpi_usempi_ignore_tkr, ...)
    "libmpifort",     // MPICH, Intel MPI
    "libmpichfort",   // MPICH as Debian names it
    "libmpi_f77",     // older releases
    "libmpi_f90",
};

// The child's exit code if there is no such loader; loaders themselves end with 1 or 127.
constexpr int kNoLoader = 126;

// What the program's own dynamic loader lists as loaded, text as `ldd` prints it. The program itself does not run.
// Throws if it can't be known: a rank that guessed would perhaps guess otherwise than the rest of the job.
std::string list_libraries(const std::string& loader, const std::string& path) {
  const auto give_up = [&](const std::string& what) {
    throw std::runtime_error("cannot tell which libraries '" + path + "' needs: " + what +
                             "; start all of the job with eco-exec --bare if this stays so");
  };
  // A launcher that ignores the end of its children has taught it to this process: their status would be lost.
  struct sigaction wanted = {};
  struct sigaction inherited = {};
  wanted.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &wanted, &inherited);
  int ends[2];
  if (pipe(ends) != 0) give_up(std::string("no pipe: ") + std::strerror(errno));
  const pid_t child = fork();
  if (child < 0) {
    const int reason = errno;
    close(ends[0]);
    close(ends[1]);
    give_up(std::string("no process: ") + std::strerror(reason));
  }
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl(loader.c_str(), loader.c_str(), "--list", path.c_str(), static_cast<char*>(nullptr));
    _exit(kNoLoader);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> part;
  ssize_t n = 0;
  while ((n = read(ends[0], part.data(), part.size())) > 0 || (n < 0 && errno == EINTR)) {
    if (n > 0) text.append(part.data(), static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  if (n < 0 || ended < 0) give_up("its loader '" + loader + "' was lost while it answered");
  if (WIFSIGNALED(status))
    give_up("its loader '" + loader + "' died by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) == kNoLoader) give_up("its loader '" + loader + "' does not start");
  if (WEXITSTATUS(status) != 0)
    give_up("its loader '" + loader + "' --list ended with " + std::to_string(WEXITSTATUS(status)));
  sigaction(SIGCHLD, &inherited, nullptr);
  return text;
}

}  // namespace

bool is_fortran_mpi(std::string_view file_name) {
  for (const std::string_view prefix : kFortranLibraries) {
    if (file_name.substr(0, prefix.size()) == prefix) return true;
  }
  return false;
}

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
  if (!elf) return {};  // a script: its interpreter loads what it loads later
  if (elf->interpreter.empty()) return "it is statically linked, so nothing can be put under it";
  const std::string list = list_libraries(elf->interpreter, path);
  for (std::size_t begin = 0; begin < list.size();) {
    std::size_t end = std::min(list.find('\n', begin), list.size());
    std::string_view line(list.data() + begin, end - begin);  // "\tlibmpi.so.40 => /path (0x...)"
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const std::string_view name = line.substr(0, line.find(' '));
    const std::string_view file = name.substr(name.rfind('/') + 1);
    if (is_fortran_mpi(file))
      return "it needs " + std::string(file) + ", and MPI in Fortran is not served yet";
    begin = end + 1;
  }
  return {};
}

}  // namespace eco::preload
