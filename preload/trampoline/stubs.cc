// The intercepted entries themselves: one stub of machine code per line of wrappers.def.
//
// A stub is one jump through a slot. The slot first leads to code that saves the argument registers, asks
// eco_trampoline_resolve for the target, stores it in the slot and jumps there; arguments on the stack are not moved,
// so a stub serves a function of any signature without floating-point arguments, which MPI's are. Two threads may
// resolve one slot at once: both store the same address.
#include <stdint.h>
#include <string.h>

#include "preload/trampoline/resolve.h"

#if !defined(__x86_64__)
#error "ECO's preload has stubs for x86-64 only: add the stub of this architecture beside the one in stubs.cc"
#endif

// clang-format off
#define ECO_STUB(name)                                                                   \
  asm(".pushsection .rodata\n"                                                           \
      "eco_name_" #name ": .string \"" #name "\"\n"                                      \
      ".popsection\n"                                                                    \
      ".pushsection .data.rel.local,\"aw\"\n"                                            \
      ".balign 8\n"                                                                      \
      "eco_slot_" #name ": .quad eco_first_" #name "\n"                                  \
      ".popsection\n"                                                                    \
      ".text\n"                                                                          \
      ".balign 16\n"                                                                     \
      ".globl " #name "\n"                                                               \
      ".type " #name ", @function\n"                                                     \
      #name ":\n"                                                                        \
      "  endbr64\n"                                                                      \
      "  jmp *eco_slot_" #name "(%rip)\n"                                                \
      ".size " #name ", . - " #name "\n"                                                 \
      "eco_first_" #name ":\n"                                                           \
      "  endbr64\n"                                                                      \
      "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n"      \
      "  sub $8, %rsp\n" /* the ABI wants 16-byte alignment at the call */               \
      "  lea eco_name_" #name "(%rip), %rdi\n"                                           \
      "  call eco_trampoline_resolve\n"                                                  \
      "  add $8, %rsp\n"                                                                 \
      "  pop %r9\n  pop %r8\n  pop %rcx\n  pop %rdx\n  pop %rsi\n  pop %rdi\n"            \
      "  mov %rax, eco_slot_" #name "(%rip)\n"                                           \
      "  jmp *%rax\n");
// clang-format on

#define ECO_WRAP(name) ECO_STUB(name)
#define ECO_WRAP_LARGE(name, narrow) ECO_STUB(name)
#include "preload/wrappers.def"
#undef ECO_WRAP
#undef ECO_WRAP_LARGE

namespace {

// mpi4py asks for the large-count entries with weak symbols, finds our stubs under every library and then calls them
// alone. Under a library without them these stand in. Handles are passed on untouched, whatever their size. A count
// that does not fit becomes -1: the library then reports MPI_ERR_COUNT by the communicator's error handler.
using Handle = void*;
int narrow(int64_t count) { return count > INT32_MAX || count < 0 ? -1 : static_cast<int>(count); }

extern "C" int MPI_Bcast(void* buffer, int count, Handle type, int root, Handle comm);
extern "C" int MPI_Allreduce(const void* send, void* receive, int count, Handle type, Handle op, Handle comm);

int narrow_MPI_Bcast(void* buffer, int64_t count, Handle type, int root, Handle comm) {
  return MPI_Bcast(buffer, narrow(count), type, root, comm);
}
int narrow_MPI_Allreduce(const void* send, void* receive, int64_t count, Handle type, Handle op,
                         Handle comm) {
  return MPI_Allreduce(send, receive, narrow(count), type, op, comm);
}

struct Narrow {
  const char* large;
  void* function;
};
const Narrow kNarrow[] = {
#define ECO_WRAP(name)
#define ECO_WRAP_LARGE(name, narrow) {#name, reinterpret_cast<void*>(&narrow_##narrow)},
#include "preload/wrappers.def"
};

}  // namespace

extern "C" __attribute__((visibility("hidden"), used)) void* eco_trampoline_resolve(const char* name) {
  if (void* target = eco::trampoline::find_target(name)) return target;
  for (const Narrow& entry : kNarrow) {
    if (strcmp(entry.large, name) == 0) return entry.function;
  }
  eco::trampoline::give_up("found no MPI library that has this function", name);
}

// The algorithm that served this thread's last intercepted call since this was asked last ("broadcast/subnets");
// "native" if the library served it or there was none. Valid until the communicator is freed. For tools that want to
// know what they measured: dlsym(RTLD_DEFAULT, "eco_last_algorithm").
extern "C" __attribute__((visibility("default"))) const char* eco_last_algorithm() {
  using Function = const char* (*)();
  const auto function =
      reinterpret_cast<Function>(eco::trampoline::find_in_backend("eco_backend_last_algorithm"));
  return function != nullptr ? function() : "native";
}
