// eco-exec: starts one rank's program with ECO under it. The primitive that `eco run` puts before the program:
//
//   mpirun -n 8 eco-exec [--bare] [--set NAME=VALUE]... [--] PROGRAM ARGUMENTS...
//
// Runs on every node, because the environment of the launching shell does not reach every node. A rank that would
// start without its preload ends here with exit code 127, which ends the job: alone among ranks that have it, it would
// hang them. For the same reason a program that ECO can't serve, or that is
// started with ECO=off, has the preload too, and its ranks say so to the others in MPI_Init. Statically linked: it must
// start where nothing is installed.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "preload/exec/elf.h"
#include "preload/exec/program.h"
#include "preload/job.h"

namespace eco::preload {
namespace {

// One per ABI; CMake writes the table from data/abis.json.
constexpr std::array kBackends = std::to_array<const char*>({
#define ECO_ABI_NAME(name) "libeco-" name ".so",
#include "eco_abis.inc"
#undef ECO_ABI_NAME
});
constexpr const char* kUsage =
    "usage: eco-exec [--bare] [--set NAME=VALUE]... [--] PROGRAM [ARGUMENT]...\n"
    "Starts PROGRAM with ECO under its MPI library; give it to the launcher: mpirun -n 8 eco-exec ./app\n"
    "--set ECO=off switches ECO off for the whole job, whichever of its programs says so; --bare starts it\n"
    "untouched, and is for all programs of a job or for none.\n";

[[noreturn]] void fail(const std::string& message) {
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  std::fprintf(stderr, "eco-exec on host %s: %s\n", host, message.c_str());
  leave_job();
}

struct Arguments {
  std::vector<std::string> set;  // NAME=VALUE
  bool bare = false;             // nothing under it
  char** program = nullptr;      // null-terminated, as execvp wants it
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  int i = 1;
  for (; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    }
    if (word == "--set") {
      if (i + 1 == argc || std::strchr(argv[i + 1], '=') == nullptr || argv[i + 1][0] == '=') {
        fail("--set wants NAME=VALUE, got '" + std::string(i + 1 < argc ? argv[i + 1] : "") + "'");
      }
      arguments.set.emplace_back(argv[++i]);
    } else if (word == "--bare") {
      arguments.bare = true;
    } else if (word == "--") {
      ++i;
      break;
    } else if (!word.empty() && word[0] == '-') {
      fail("unknown option '" + word + "'\n" + kUsage);
    } else {
      break;
    }
  }
  if (i >= argc) fail(std::string("no program given\n") + kUsage);
  arguments.program = argv + i;
  return arguments;
}

std::string own_directory() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) fail("cannot read /proc/self/exe to find its own directory");
  const std::string file(path, static_cast<std::size_t>(length));
  return file.substr(0, file.rfind('/'));
}

// The loader of a program only warns about a preload that it can't use, so this looks itself.
bool usable_library(const std::string& path) {
  const std::optional<Elf> library = read_elf(path);
  const std::optional<Elf> self = read_elf("/proc/self/exe");
  return library && self && library->is_dynamic && library->machine == self->machine;
}

std::string find_preload(const std::string& directory) {
  const std::string preload = directory + "/libeco-preload.so";
  if (preload.find_first_of(" :") != std::string::npos) {
    fail("ECO lies in '" + directory +
         "', but LD_PRELOAD takes no path with a space or colon in it: install it elsewhere");
  }
  if (!usable_library(preload)) {
    fail("'" + preload +
         "' is missing or not a library for this machine: ECO is not (completely) installed here. "
         "Install it on every node, or start all of the job with eco-exec --bare");
  }
  const auto is_here = [&](const char* backend) { return usable_library(directory + "/" + backend); };
  if (std::none_of(kBackends.begin(), kBackends.end(), is_here)) {
    std::string names;
    for (const char* backend : kBackends) names += (names.empty() ? "" : ", ") + std::string(backend);
    fail("none of " + names + " lies in '" + directory +
         "': ECO is not (completely) installed here. Install it on every node, or start "
         "all of the job with eco-exec --bare");
  }
  return preload;
}

void put_under(const std::string& preload) {
  const char* others = std::getenv("LD_PRELOAD");
  const std::string value = others != nullptr && *others != '\0' ? preload + ":" + others : preload;
  setenv("LD_PRELOAD", value.c_str(), 1);
}

bool is_off() {
  const char* mode = std::getenv("ECO");
  return mode != nullptr && std::strcmp(mode, "off") == 0;
}

int run(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  for (const std::string& pair : arguments.set) {
    const std::size_t equals = pair.find('=');
    setenv(pair.substr(0, equals).c_str(), pair.substr(equals + 1).c_str(), 1);
  }
  const std::string program = find_program(arguments.program[0]);
  if (program.empty())
    fail("cannot run '" + std::string(arguments.program[0]) + "': no such executable file");
  if (!arguments.bare) {
    const std::string preload = find_preload(own_directory());
    const std::string reason = is_off() ? std::string() : why_native(program);
    if (!reason.empty()) {
      setenv("ECO", "off", 1);
      if (is_rank_0()) {
        std::fprintf(stderr, "eco: '%s' runs without ECO: %s\n", arguments.program[0], reason.c_str());
      }
    }
    put_under(preload);
  }
  execvp(arguments.program[0], arguments.program);
  fail("cannot run '" + std::string(arguments.program[0]) + "': " + std::strerror(errno));
}

}  // namespace
}  // namespace eco::preload

int main(int argc, char** argv) {
  try {
    return eco::preload::run(argc, argv);
  } catch (const std::exception& error) {
    eco::preload::fail(error.what());
  }
}
