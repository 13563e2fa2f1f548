// The intercepted entries themselves, for x86-64: one stub of machine code per line of wrappers.def and per
// spelling of a line of fortran.def.
//
// A stub is one jump through a slot. The slot first leads to code that saves the argument registers, asks
// eco_trampoline_resolve (stubs.cc) for the target, stores it in the slot and jumps there; arguments on the stack are
// not moved, so a stub serves a function of any signature without floating-point arguments, which MPI's are. Two
// threads may resolve one slot at once: both store the same address.

#include "preload/trampoline/spellings.h"

.macro eco_stub name
  .pushsection .rodata
eco_name_\name:
  .string "\name"
  .popsection
  .pushsection .data.rel.local, "aw"
  .balign 8
eco_slot_\name:
  .quad eco_first_\name
  .popsection

  .text
  .balign 16
  .globl \name
  .type \name, @function
\name:
  endbr64
  jmp *eco_slot_\name(%rip)
  .size \name, . - \name
eco_first_\name:
  endbr64
  push %rdi
  push %rsi
  push %rdx
  push %rcx
  push %r8
  push %r9
  sub $8, %rsp  // the ABI wants 16-byte alignment at the call
  lea eco_name_\name(%rip), %rdi
  call eco_trampoline_resolve
  add $8, %rsp
  pop %r9
  pop %r8
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  mov %rax, eco_slot_\name(%rip)
  jmp *%rax
.endm

#define ECO_WRAP(name) eco_stub name
#define ECO_WRAP_LARGE(name, narrow) eco_stub name
#include "preload/wrappers.def"

#define ECO_STUB(name, lower) eco_stub name;
#define ECO_FORTRAN(lower, upper, ...) ECO_FORTRAN_SPELLINGS(ECO_STUB, lower, upper)
#define ECO_FORTRAN_PLAIN(lower, upper, ...) ECO_FORTRAN_SPELLINGS(ECO_STUB, lower, upper)
#include "preload/fortran.def"

.section .note.GNU-stack, "", @progbits
