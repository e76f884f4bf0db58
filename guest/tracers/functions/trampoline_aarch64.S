// SPDX-License-Identifier: Apache-2.0
// A traced call, whatever its signature (AAPCS64). The stub jumps here with its entry in x17. See trampoline_x86_64.S, whose
// ways are the same.
#define __ASSEMBLER__ 1
#include "tracers/functions/frame.h"
#include "tracers/functions/table.h"

#define SITE_MASK 4
#define SITE_LEVELS 8

  .text
  .balign 64
  .globl functions_trampoline, functions_after_call
  .hidden functions_trampoline, functions_after_call
  .type functions_trampoline, %function
functions_trampoline:
  .cfi_startproc
  .cfi_personality 0x1b, functions_personality
  // Its level is off: straight on, with nothing touched.
  ldr x16, [x17, #FUNCTIONS_ENTRY_SITE]
  cbz x16, 1f
  ldr x9, [x16, #SITE_LEVELS]
  ldr w9, [x9]
  ldr w10, [x16, #SITE_MASK]
  tst w9, w10
  b.ne 1f
  ldr x16, [x17, #FUNCTIONS_ENTRY_REAL]
  br x16

1:
  sub sp, sp, #(FUNCTIONS_FRAME_SPAN + 16)
  .cfi_def_cfa_offset FUNCTIONS_FRAME_SPAN + 16
  stp x29, x30, [sp, #FUNCTIONS_FRAME_SPAN]
  .cfi_offset 29, -16
  .cfi_offset 30, -8
  add x29, sp, #FUNCTIONS_FRAME_SPAN
  .cfi_def_cfa 29, 16
  stp xzr, xzr, [sp] // the span: nothing is recorded until it is started
  stp x17, x8, [sp, #16]
  stp x0, x1, [sp, #32]
  stp x2, x3, [sp, #48]
  stp x4, x5, [sp, #64]
  stp x6, x7, [sp, #80]

  // The caller's arguments on the stack, as far as they can reach, at an address of the same alignment.
  ldr w11, [x17, #FUNCTIONS_ENTRY_STACK]
  add x9, x29, #16
  add x12, x11, #15
  and x12, x12, #-16
  sub sp, sp, x12
  and x13, x9, #(FUNCTIONS_PAGE - 1)
  add x13, x13, x11
  cmp x13, #FUNCTIONS_PAGE
  b.hi 5f
2:
  mov x10, sp
  subs x11, x11, #16
  b.lo 4f
3:
  ldp x13, x14, [x9], #16
  stp x13, x14, [x10], #16
  subs x11, x11, #16
  b.hs 3b
4:
  tbz x11, #3, 6f // eight more
  ldr x13, [x9]
  str x13, [x10]
6:
  ldr x0, [x29, #-80]
  sub x1, x29, #FUNCTIONS_FRAME_SPAN
  bl functions_enter
  sub x16, x29, #FUNCTIONS_FRAME_SPAN
  ldp x17, x8, [x16, #16]
  ldp x0, x1, [x16, #32]
  ldp x2, x3, [x16, #48]
  ldp x4, x5, [x16, #64]
  ldp x6, x7, [x16, #80]
  ldr x16, [x17, #FUNCTIONS_ENTRY_REAL]
  blr x16
functions_after_call:
  sub x16, x29, #FUNCTIONS_FRAME_SPAN
  stp x0, x1, [x16, #32]
  stp x2, x3, [x16, #48]
  stp x4, x5, [x16, #64]
  stp x6, x7, [x16, #80]
  mov x0, x16
  bl functions_leave
  sub x16, x29, #FUNCTIONS_FRAME_SPAN
  ldp x0, x1, [x16, #32]
  ldp x2, x3, [x16, #48]
  ldp x4, x5, [x16, #64]
  ldp x6, x7, [x16, #80]
  .cfi_remember_state
  add sp, x29, #16
  ldp x29, x30, [x29]
  .cfi_def_cfa 31, 0
  .cfi_restore 29
  .cfi_restore 30
  ret
  .cfi_restore_state

5: // it crosses a page: the next one may not be there
  mov x0, x9
  mov x1, x11
  bl functions_window
  mov x11, x0
  add x9, x29, #16
  b 2b
  .cfi_endproc
  .size functions_trampoline, . - functions_trampoline

  .section .note.GNU-stack, "", %progbits
