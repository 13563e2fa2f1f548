// The stubs of stubs.x86_64.S for aarch64 (AAPCS64): x0 to x7 are arguments, x8 the address of a large result, x30 the
// caller's return address; x16 and x17 belong to whoever stands between caller and callee, so to a stub. Slots are read and
// written in order (ldar, stlr): a thread that sees another's target must see the backend that was loaded for it.

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
  .type \name, %function
\name:
  hint #34  // bti c: a legal target of indirect calls where the processor checks them
  adrp x16, eco_slot_\name
  add x16, x16, :lo12:eco_slot_\name
  ldar x16, [x16]
  br x16
  .size \name, . - \name
eco_first_\name:
  hint #34
  stp x29, x30, [sp, #-96]!
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  adrp x0, eco_name_\name
  add x0, x0, :lo12:eco_name_\name
  bl eco_trampoline_resolve
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldr x8, [sp, #80]
  adrp x17, eco_slot_\name
  add x17, x17, :lo12:eco_slot_\name
  stlr x16, [x17]
  ldp x29, x30, [sp], #96
  br x16
.endm

#define ECO_WRAP(name) eco_stub name
#define ECO_WRAP_LARGE(name, narrow) eco_stub name
#include "preload/wrappers.def"

#define ECO_STUB(name, lower) eco_stub name;
#define ECO_FORTRAN(lower, upper, ...) ECO_FORTRAN_SPELLINGS(ECO_STUB, lower, upper)
#define ECO_FORTRAN_PLAIN(lower, upper, ...) ECO_FORTRAN_SPELLINGS(ECO_STUB, lower, upper)
#include "preload/fortran.def"

.section .note.GNU-stack, "", %progbits
