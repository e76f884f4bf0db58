// SPDX-License-Identifier: Apache-2.0
// One stub per place in the table: puts the place's address into the scratch register of calls and jumps where the place
// says. Ordinary code of this library, so that no memory is ever made executable while the program runs.
#define __ASSEMBLER__ 1
#include "tracers/functions/table.h"

  .text
  .balign 64
  .globl functions_stubs
  .hidden functions_stubs
  .hidden functions_entries
  .type functions_stubs, %function
functions_stubs:
  .cfi_startproc
  .set place, 0
  .rept FUNCTIONS_MOST
  adrp x17, functions_entries + place
  add x17, x17, :lo12:(functions_entries + place)
  ldr x16, [x17, #FUNCTIONS_ENTRY_GO]
  br x16
  .set place, place + FUNCTIONS_ENTRY_BYTES
  .endr
  .cfi_endproc
  .size functions_stubs, . - functions_stubs

// A stub's first call of a function that is not chosen yet: asks which it is, with all arguments kept, and goes there.
  .globl functions_resolve
  .hidden functions_resolve
  .type functions_resolve, %function
functions_resolve:
  .cfi_startproc
  sub sp, sp, #112
  .cfi_def_cfa_offset 112
  stp x29, x30, [sp, #96]
  .cfi_offset 29, -16
  .cfi_offset 30, -8
  add x29, sp, #96
  stp x0, x1, [sp]
  stp x2, x3, [sp, #16]
  stp x4, x5, [sp, #32]
  stp x6, x7, [sp, #48]
  stp x8, x17, [sp, #64]
  mov x0, x17
  bl functions_resolve_entry
  ldp x0, x1, [sp]
  ldp x2, x3, [sp, #16]
  ldp x4, x5, [sp, #32]
  ldp x6, x7, [sp, #48]
  ldp x8, x17, [sp, #64]
  ldp x29, x30, [sp, #96]
  .cfi_restore 29
  .cfi_restore 30
  add sp, sp, #112
  .cfi_def_cfa_offset 0
  ldr x16, [x17, #FUNCTIONS_ENTRY_GO]
  br x16
  .cfi_endproc
  .size functions_resolve, . - functions_resolve

  .section .note.GNU-stack, "", %progbits
