// SPDX-License-Identifier: Apache-2.0
// The driver by dlopen, and the kernels as text, which every driver since CUDA 11.0 compiles for its GPU (Volta and newer).
#include "driver.h"

#include <dlfcn.h>

struct driver cuda;

const char *driver_open(void)
{
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library)
    return dlerror();
#define FIND(member, symbol, parameters)                                                                               \
  cuda.member = (__typeof__(cuda.member))dlsym(library, #symbol);                                                      \
  if (!cuda.member)                                                                                                    \
    return "libcuda.so.1 lacks " #symbol ", as drivers before CUDA 11.4 do";
  DRIVER_CALLS(FIND)
#undef FIND
  return NULL;
}

const char kernels_ptx[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"

    // saxpy(float *y, const float *x, float a, uint32_t count): y += a * x
    ".visible .entry saxpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 count)\n"
    "{\n"
    "  .reg .pred %outside;\n"
    "  .reg .f32 %a, %x, %y;\n"
    "  .reg .b32 %i, %block, %size, %count;\n"
    "  .reg .b64 %to, %from, %at;\n"
    "  ld.param.u32 %count, [count];\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %size, %ntid.x;\n"
    "  mov.u32 %i, %tid.x;\n"
    "  mad.lo.u32 %i, %block, %size, %i;\n"
    "  setp.ge.u32 %outside, %i, %count;\n"
    "  @%outside ret;\n"
    "  ld.param.u64 %to, [y];\n"
    "  ld.param.u64 %from, [x];\n"
    "  ld.param.f32 %a, [a];\n"
    "  cvta.to.global.u64 %to, %to;\n"
    "  cvta.to.global.u64 %from, %from;\n"
    "  mul.wide.u32 %at, %i, 4;\n"
    "  add.u64 %to, %to, %at;\n"
    "  add.u64 %from, %from, %at;\n"
    "  ld.global.f32 %x, [%from];\n"
    "  ld.global.f32 %y, [%to];\n"
    "  fma.rn.f32 %y, %a, %x, %y;\n"
    "  st.global.f32 [%to], %y;\n"
    "  ret;\n"
    "}\n"

    // block_sum(float *total, const float *x): adds x[0 … blocks * 256) to *total; blocks of 256, halves added in shared memory
    ".visible .entry block_sum(.param .u64 total, .param .u64 x)\n"
    "{\n"
    "  .reg .pred %p;\n"
    "  .reg .f32 %mine, %other;\n"
    "  .reg .b32 %thread, %i, %half, %slot, %other_slot, %bytes;\n"
    "  .reg .b64 %from, %at, %to;\n"
    "  .shared .align 4 .b8 sums[1024];\n"
    "  mov.u32 %thread, %tid.x;\n"
    "  mov.u32 %i, %ctaid.x;\n"
    "  mad.lo.u32 %i, %i, 256, %thread;\n"
    "  ld.param.u64 %from, [x];\n"
    "  cvta.to.global.u64 %from, %from;\n"
    "  mul.wide.u32 %at, %i, 4;\n"
    "  add.u64 %from, %from, %at;\n"
    "  ld.global.f32 %mine, [%from];\n"
    "  mov.u32 %slot, sums;\n"
    "  mad.lo.u32 %slot, %thread, 4, %slot;\n"
    "  st.shared.f32 [%slot], %mine;\n"
    "  mov.u32 %half, 128;\n"
    "again:\n"
    "  bar.sync 0;\n"
    "  setp.ge.u32 %p, %thread, %half;\n"
    "  @%p bra added;\n"
    "  shl.b32 %bytes, %half, 2;\n"
    "  add.u32 %other_slot, %slot, %bytes;\n"
    "  ld.shared.f32 %other, [%other_slot];\n"
    "  ld.shared.f32 %mine, [%slot];\n"
    "  add.f32 %mine, %mine, %other;\n"
    "  st.shared.f32 [%slot], %mine;\n"
    "added:\n"
    "  shr.u32 %half, %half, 1;\n"
    "  setp.ne.u32 %p, %half, 0;\n"
    "  @%p bra again;\n"
    "  setp.ne.u32 %p, %thread, 0;\n"
    "  @%p ret;\n"
    "  ld.param.u64 %to, [total];\n"
    "  cvta.to.global.u64 %to, %to;\n"
    "  red.global.add.f32 [%to], %mine;\n"
    "  ret;\n"
    "}\n"

    // counted_add(float *y, const float *x): y += x, by as many threads as there are elements
    ".visible .entry counted_add(.param .u64 y, .param .u64 x)\n"
    "{\n"
    "  .reg .f32 %x, %y;\n"
    "  .reg .b32 %i, %block, %size;\n"
    "  .reg .b64 %to, %from, %at;\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %size, %ntid.x;\n"
    "  mov.u32 %i, %tid.x;\n"
    "  mad.lo.u32 %i, %block, %size, %i;\n"
    "  ld.param.u64 %to, [y];\n"
    "  ld.param.u64 %from, [x];\n"
    "  cvta.to.global.u64 %to, %to;\n"
    "  cvta.to.global.u64 %from, %from;\n"
    "  mul.wide.u32 %at, %i, 4;\n"
    "  add.u64 %to, %to, %at;\n"
    "  add.u64 %from, %from, %at;\n"
    "  ld.global.f32 %x, [%from];\n"
    "  ld.global.f32 %y, [%to];\n"
    "  add.rn.f32 %y, %y, %x;\n"
    "  st.global.f32 [%to], %y;\n"
    "  ret;\n"
    "}\n"

    // spin(uint64_t cycles): runs so long
    ".visible .entry spin(.param .u64 cycles)\n"
    "{\n"
    "  .reg .pred %early;\n"
    "  .reg .b64 %cycles, %start, %now;\n"
    "  ld.param.u64 %cycles, [cycles];\n"
    "  mov.u64 %start, %clock64;\n"
    "again:\n"
    "  mov.u64 %now, %clock64;\n"
    "  sub.u64 %now, %now, %start;\n"
    "  setp.lt.u64 %early, %now, %cycles;\n"
    "  @%early bra again;\n"
    "  ret;\n"
    "}\n";
