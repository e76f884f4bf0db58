// SPDX-License-Identifier: Apache-2.0
// Calls a function with all vector, mask and x87 state kept. See keep.h.
#define __ASSEMBLER__ 1

  .text
  .globl functions_keep
  .hidden functions_keep
  .type functions_keep, @function
functions_keep:
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rbx
  .cfi_offset %rbx, -24
  pushq %r12
  .cfi_offset %r12, -32
  movq %rdx, %r12
  movl functions_kept_bytes(%rip), %ecx
  movl $512, %eax
  testl %ecx, %ecx
  cmovzl %eax, %ecx
  subq %rcx, %rsp
  andq $-64, %rsp
  cmpl $0, functions_kept_bytes(%rip)
  je 1f
  xorl %eax, %eax // the header behind the legacy area has to be zero
  movq %rax, 512(%rsp)
  movq %rax, 520(%rsp)
  movq %rax, 528(%rsp)
  movq %rax, 536(%rsp)
  movq %rax, 544(%rsp)
  movq %rax, 552(%rsp)
  movq %rax, 560(%rsp)
  movq %rax, 568(%rsp)
  movl functions_kept_mask(%rip), %eax
  xorl %edx, %edx
  xsave64 (%rsp)
  call *%r12
  movq %rax, %rbx
  movq %rdx, %r12
  movl functions_kept_mask(%rip), %eax
  xorl %edx, %edx
  xrstor64 (%rsp)
  jmp 2f
1:
  fxsave64 (%rsp)
  call *%r12
  movq %rax, %rbx
  movq %rdx, %r12
  fxrstor64 (%rsp)
2:
  movq %rbx, %rax
  movq %r12, %rdx
  leaq -16(%rbp), %rsp
  popq %r12
  popq %rbx
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size functions_keep, . - functions_keep

  .section .note.GNU-stack, "", @progbits
