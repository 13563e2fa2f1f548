// What the stubs (stubs.<architecture>.S) call: the search for a slot's target.
#include "preload/trampoline/resolve.h"
#include "preload/trampoline/stand_ins.h"

extern "C" __attribute__((visibility("hidden"), used)) void* eco_trampoline_resolve(const char* name) {
  if (void* target = eco::trampoline::find_target(name)) return target;
  if (void* stand_in = eco::trampoline::find_stand_in(name)) return stand_in;
  eco::trampoline::give_up("found no MPI library that has this function", name);
}

// The algorithm that served the last of this thread's calls that was served since this was asked ("broadcast/subnets"); "native"
// if the library got them all, or there was none. Valid until the thread is served again. For tools that want to know what they
// measured: dlsym(RTLD_DEFAULT, "eco_last_algorithm").
extern "C" __attribute__((visibility("default"))) const char* eco_last_algorithm() {
  using Function = const char* (*)();
  const auto function =
      reinterpret_cast<Function>(eco::trampoline::find_in_backend("eco_backend_last_algorithm"));
  return function != nullptr ? function() : "native";
}
