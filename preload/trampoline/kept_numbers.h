// Arrays that a library may look at until a nonblocking call has ended, which nobody tells the trampoline.
//
//   int code = MPI_Iallgatherv(..., narrow, ..., request);
//   if (code == 0) keep_until_reused(request, narrow);
//
// A library gives no handle to two requests at once: when one comes again, the call that had it before has ended, and its
// array is freed. So as many are kept as the library has handles in turn, not one for each call.
#pragma once

namespace eco::trampoline {

// Local, any thread. `request`: what a call that succeeded has set. `memory`: from malloc. Under a library that no backend
// knows it stays, since nobody knows how long its handles are.
void keep_until_reused(const void* request, void* memory);

}  // namespace eco::trampoline
