// The library's own progress: whoever waits or tests in MPI carries ECO's calls along, whatever he waits for.
//
//   if (ProgressHook::exists()) ...                       // the same on all ranks: it is the library's
//   hook.call(advance);                                   // from now on, until advance says it has nothing left
//
// Open MPI has opal_progress_register, MPICH since 4.3 MPIX_Async_start. They are looked up at run time: a library may
// lack them. `docs/adr/0013-nonblocking-calls-are-receives-from-oneself.md` says what else was tried.
#pragma once

namespace eco::preload {

class ProgressHook {
 public:
  enum class Next { idle, nothing, moved };  // nothing left to carry; nothing moved; something did
  using Advance = Next (*)();

  static bool exists();
  // Local. Any number of times while something is left; `advance` is called from within MPI, on any thread, and must
  // not wait. It may be called once more after it said that it is idle.
  static void call(Advance advance);
  // Local, at the end.
  static void forget();
};

}  // namespace eco::preload
