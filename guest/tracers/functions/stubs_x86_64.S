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
  .type functions_stubs, @function
functions_stubs:
  .cfi_startproc
  .set place, 0
  .rept FUNCTIONS_MOST
  .balign FUNCTIONS_STUB_BYTES, 0x90
  endbr64
  leaq functions_entries + place(%rip), %r11
  jmp *FUNCTIONS_ENTRY_GO(%r11)
  .set place, place + FUNCTIONS_ENTRY_BYTES
  .endr
  .cfi_endproc
  .size functions_stubs, . - functions_stubs

// A stub's first call of a function that is not chosen yet: asks which it is, with all arguments kept, and goes there.
  .globl functions_resolve
  .hidden functions_resolve
  .type functions_resolve, @function
functions_resolve:
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %r11
  pushq %rax
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %r10
  subq $8, %rsp
  movq %r11, %rdi
  call functions_resolve_entry
  addq $8, %rsp
  popq %r10
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rax
  popq %r11
  popq %rbp
  .cfi_def_cfa %rsp, 8
  .cfi_restore %rbp
  jmp *FUNCTIONS_ENTRY_GO(%r11)
  .cfi_endproc
  .size functions_resolve, . - functions_resolve
  .section .note.GNU-stack, "", @progbits
