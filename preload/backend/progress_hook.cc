#include "preload/backend/progress_hook.h"

#include <dlfcn.h>
#include <mpi.h>

namespace eco::preload {
namespace {

template <class Function>
Function find(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

#if defined(OPEN_MPI)

ProgressHook::Advance what = nullptr;

using Callback = int (*)();
using Register = int (*)(Callback);

// How many things moved: whoever waits in the library looks again if any did.
int on_progress() { return what() == ProgressHook::Next::moved ? 1 : 0; }

Register register_hook() {
  static const auto function = find<Register>("opal_progress_register");
  return function;
}

#elif defined(MPIX_STREAM_NULL)

ProgressHook::Advance what = nullptr;

using Poll = int (*)(MPIX_Async_thing);
using Start = int (*)(Poll, void*, MPIX_Stream);

int on_progress(MPIX_Async_thing) {
  return what() == ProgressHook::Next::idle ? MPIX_ASYNC_DONE : MPIX_ASYNC_NOPROGRESS;
}

Start start_hook() {
  static const auto function = find<Start>("PMPIX_Async_start");
  return function;
}

#endif

}  // namespace

#if defined(OPEN_MPI)

// Registered once and for all: a call with nothing to do costs a look at one number.
bool ProgressHook::exists() { return register_hook() != nullptr; }
void ProgressHook::call(Advance advance) {
  if (what != nullptr) return;
  what = advance;
  register_hook()(&on_progress);
}
void ProgressHook::forget() {
  if (what == nullptr) return;
  if (const auto unregister = find<Register>("opal_progress_unregister")) unregister(&on_progress);
  what = nullptr;
}

#elif defined(MPIX_STREAM_NULL)

bool ProgressHook::exists() { return start_hook() != nullptr; }
void ProgressHook::call(Advance advance) {
  what = advance;
  start_hook()(&on_progress, nullptr, MPIX_STREAM_NULL);
}
void ProgressHook::forget() {}

#else

bool ProgressHook::exists() { return false; }
void ProgressHook::call(Advance) {}
void ProgressHook::forget() {}

#endif

}  // namespace eco::preload
