// SPDX-License-Identifier: Apache-2.0
// A traced call, whatever its signature (System V, x86-64). The stub jumps here with its entry in %r11. The function is
// called with all argument registers as they came and with a copy of the bytes above the return address; what it returns
// goes back as it is. The frame is a real one: unwinders, debuggers and shadow stacks see a call between two calls.
//
// Between here and the return no vector, mask or x87 register is touched: the C code called is compiled without them, and
// where it has to call anything else it goes through functions_keep.
#define __ASSEMBLER__ 1
#include "tracers/functions/frame.h"
#include "tracers/functions/table.h"

#define SITE_MASK 4
#define SITE_LEVELS 8

  .text
  .balign 64
  .globl functions_trampoline, functions_after_call
  .hidden functions_trampoline, functions_after_call
  .type functions_trampoline, @function
functions_trampoline:
  .cfi_startproc
  .cfi_personality 0x1b, functions_personality
  endbr64
  // Its level is off: straight on, with nothing touched.
  pushq %rax
  .cfi_adjust_cfa_offset 8
  pushq %rcx
  .cfi_adjust_cfa_offset 8
  movq FUNCTIONS_ENTRY_SITE(%r11), %rax
  testq %rax, %rax
  jz 1f
  movq SITE_LEVELS(%rax), %rcx
  movl (%rcx), %ecx
  testl %ecx, SITE_MASK(%rax)
1:
  popq %rcx // keeps the flags. No site yet: zero, but not off
  .cfi_adjust_cfa_offset -8
  jz 3f
2:
  popq %rax
  .cfi_adjust_cfa_offset -8

  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %r11 // -8
  pushq %rax // -16: vector registers used, of variadic functions
  pushq %rdi // -24
  pushq %rsi // -32
  pushq %rdx // -40
  pushq %rcx // -48
  pushq %r8  // -56
  pushq %r9  // -64
  pushq %r10 // -72: static chain
  // -80 is free, -96 the span: nothing is recorded until it is started
  movq $0, -FUNCTIONS_FRAME_SPAN(%rbp)

  // The caller's arguments on the stack, as far as they can reach, at an address of the same alignment up to 64 bytes.
  movl FUNCTIONS_ENTRY_STACK(%r11), %ecx
  leaq 16(%rbp), %rsi
  leaq -FUNCTIONS_FRAME_SPAN(%rbp), %rdi
  subq %rcx, %rdi
  movq %rdi, %rax
  subq %rsi, %rax
  andl $63, %eax
  subq %rax, %rdi
  movq %rdi, %rsp
  movl %esi, %eax
  andl $(FUNCTIONS_PAGE - 1), %eax
  addl %ecx, %eax
  cmpl $FUNCTIONS_PAGE, %eax
  ja 4f
5:
  shrl $3, %ecx
  rep movsq

  movq -8(%rbp), %rdi
  leaq -FUNCTIONS_FRAME_SPAN(%rbp), %rsi
  call functions_enter
  movq -8(%rbp), %r11
  movq -16(%rbp), %rax
  movq -24(%rbp), %rdi
  movq -32(%rbp), %rsi
  movq -40(%rbp), %rdx
  movq -48(%rbp), %rcx
  movq -56(%rbp), %r8
  movq -64(%rbp), %r9
  movq -72(%rbp), %r10
  call *FUNCTIONS_ENTRY_REAL(%r11)
functions_after_call:
  // Results are in rax, rdx, xmm0, xmm1, st0, st1; other languages use rcx and r8 too.
  movq %rax, -16(%rbp)
  movq %rdx, -40(%rbp)
  movq %rcx, -48(%rbp)
  movq %r8, -56(%rbp)
  leaq -FUNCTIONS_FRAME_SPAN(%rbp), %rdi
  call functions_leave
  movq -16(%rbp), %rax
  movq -40(%rbp), %rdx
  movq -48(%rbp), %rcx
  movq -56(%rbp), %r8
  .cfi_remember_state
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_restore_state

4: // it crosses a page: the next one may not be there
  movq %rsi, %rdi
  movl %ecx, %esi
  call functions_window
  movl %eax, %ecx
  leaq 16(%rbp), %rsi
  movq %rsp, %rdi
  jmp 5b

  .cfi_def_cfa %rsp, 16
  .cfi_restore %rbp
3: // off, or never called before
  cmpq $0, FUNCTIONS_ENTRY_SITE(%r11)
  je 2b
  popq %rax
  .cfi_adjust_cfa_offset -8
  jmp *FUNCTIONS_ENTRY_REAL(%r11)
  .cfi_endproc
  .size functions_trampoline, . - functions_trampoline

  .section .note.GNU-stack, "", @progbits
