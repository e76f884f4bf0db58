// SPDX-License-Identifier: Apache-2.0
// Calls a function with all vector and floating point state kept (of scalable vectors their first 128 bits). See keep.h.
#define __ASSEMBLER__ 1

  .text
  .globl functions_keep
  .hidden functions_keep
  .type functions_keep, %function
functions_keep:
  .cfi_startproc
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset 29, -32
  .cfi_offset 30, -24
  mov x29, sp
  .cfi_def_cfa_register 29
  sub sp, sp, #512
  stp q0, q1, [sp]
  stp q2, q3, [sp, #32]
  stp q4, q5, [sp, #64]
  stp q6, q7, [sp, #96]
  stp q8, q9, [sp, #128]
  stp q10, q11, [sp, #160]
  stp q12, q13, [sp, #192]
  stp q14, q15, [sp, #224]
  stp q16, q17, [sp, #256]
  stp q18, q19, [sp, #288]
  stp q20, q21, [sp, #320]
  stp q22, q23, [sp, #352]
  stp q24, q25, [sp, #384]
  stp q26, q27, [sp, #416]
  stp q28, q29, [sp, #448]
  stp q30, q31, [sp, #480]
  mrs x9, fpcr
  mrs x10, fpsr
  stp x9, x10, [x29, #16]
  blr x2
  ldp x9, x10, [x29, #16]
  msr fpcr, x9
  msr fpsr, x10
  ldp q0, q1, [sp]
  ldp q2, q3, [sp, #32]
  ldp q4, q5, [sp, #64]
  ldp q6, q7, [sp, #96]
  ldp q8, q9, [sp, #128]
  ldp q10, q11, [sp, #160]
  ldp q12, q13, [sp, #192]
  ldp q14, q15, [sp, #224]
  ldp q16, q17, [sp, #256]
  ldp q18, q19, [sp, #288]
  ldp q20, q21, [sp, #320]
  ldp q22, q23, [sp, #352]
  ldp q24, q25, [sp, #384]
  ldp q26, q27, [sp, #416]
  ldp q28, q29, [sp, #448]
  ldp q30, q31, [sp, #480]
  add sp, sp, #512
  ldp x29, x30, [sp], #32
  .cfi_restore 29
  .cfi_restore 30
  .cfi_def_cfa 31, 0
  ret
  .cfi_endproc
  .size functions_keep, . - functions_keep

  .section .note.GNU-stack, "", %progbits
