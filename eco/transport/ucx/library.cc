#include "eco/transport/ucx/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <type_traits>
#include <vector>

namespace eco::transport::ucx {
namespace {

constexpr const char* kName = "libucp.so.0";
// The structures and functions used here are those of 1.13, which 1.x keeps (field masks say what a caller knows of a
// structure); another major version may mean anything by them.
constexpr unsigned kMajor = UCP_API_MAJOR;
constexpr unsigned kFirstMinor = 13;

// UCX catches the signals of crashes and SIGHUP from the moment it is loaded. A program that has no UCX of its own keeps
// its signals; what the user says of these settings stands. That UCX also patches mmap, munmap, brk and their like, to know
// which memory is registered still, has to be: with UCX_MEM_EVENTS=no 1.20 crashes where a peer is lost in a rendezvous.
class LeavesSignalsAlone {
 public:
  LeavesSignalsAlone() {
    set("UCX_ERROR_SIGNALS", "");
    set("UCX_DEBUG_SIGNO", "0");
  }
  ~LeavesSignalsAlone() {
    for (const char* name : set_) ::unsetenv(name);
  }
  LeavesSignalsAlone(const LeavesSignalsAlone&) = delete;
  LeavesSignalsAlone& operator=(const LeavesSignalsAlone&) = delete;

 private:
  void set(const char* name, const char* value) {
    if (std::getenv(name) != nullptr) return;
    ::setenv(name, value, 0);
    set_.push_back(name);
  }

  std::vector<const char*> set_;
};

struct Opened {
  Library library;
  std::string reason;
};

Opened open() {
  Opened opened;
  void* handle = ::dlopen(kName, RTLD_NOW | RTLD_NOLOAD);
  opened.library.was_there = handle != nullptr;
  if (handle == nullptr) {
    const LeavesSignalsAlone guard;
    handle = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) {
    const char* const error = ::dlerror();
    opened.reason = std::string("no UCX: ") + (error != nullptr ? error : kName);
    return opened;
  }
  Library& library = opened.library;
  std::string missing;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (function == nullptr) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
#define ECO_UCP_FIND(name) find("ucp_" #name, library.name);
  ECO_UCP_FUNCTIONS(ECO_UCP_FIND)
#undef ECO_UCP_FIND
  find("ucs_status_string", library.status_string);
  library.path = kName;
  Dl_info info{};
  if (library.get_version != nullptr &&
      ::dladdr(reinterpret_cast<const void*>(library.get_version), &info) != 0)
    library.path = info.dli_fname;
  if (library.get_version != nullptr) {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    library.get_version(&major, &minor, &release);
    library.version = std::to_string(major) + "." + std::to_string(minor);
    if (major != kMajor || minor < kFirstMinor) {
      opened.reason = "UCX " + library.version + " (" + library.path +
                      ") is not one that ECO knows: " + std::to_string(kMajor) + "." +
                      std::to_string(kFirstMinor) + " or a later " + std::to_string(kMajor) + ".x is wanted";
      return opened;
    }
  }
  if (!missing.empty()) opened.reason = "UCX (" + library.path + ") lacks " + missing;
  return opened;
}

}  // namespace

const Library* library(std::string& reason) {
  static const Opened opened = open();
  reason = opened.reason;
  return reason.empty() ? &opened.library : nullptr;
}

}  // namespace eco::transport::ucx
