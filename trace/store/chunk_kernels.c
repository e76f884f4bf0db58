// SPDX-License-Identifier: Apache-2.0
// Variants of the loops over a column's values; see chunk_private.h. The code is the same (chunk_kernels_code.h), the
// instructions differ: the portable ones lack 64-bit comparisons and wide shuffles. All give the same bytes.
#include "store/chunk_private.h"

#include <string.h>

#define BLOCK 1024u // rows: 8 KiB of values

#define KERNEL(name) name##_plain
#define KERNEL_TARGET
#include "store/chunk_kernels_code.h"
#undef KERNEL
#undef KERNEL_TARGET

static const struct chunk_kernels plain = {"plain", survey_plain, split_plain, merge_plain};

#if defined(__x86_64__)
#define KERNEL(name) name##_avx2
#define KERNEL_TARGET __attribute__((target("avx2")))
#include "store/chunk_kernels_code.h"
#undef KERNEL
#undef KERNEL_TARGET

static const struct chunk_kernels avx2 = {"avx2", survey_avx2, split_avx2, merge_avx2};

#define KERNEL(name) name##_avx512
#define KERNEL_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#include "store/chunk_kernels_code.h"
#undef KERNEL
#undef KERNEL_TARGET

static const struct chunk_kernels avx512 = {"avx512", survey_avx512, split_avx512, merge_avx512};
#endif

const struct chunk_kernels *chunk_kernels_at(unsigned i)
{
  const struct chunk_kernels *usable[3] = {0};
  unsigned count = 0;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    usable[count++] = &avx512;
  if (__builtin_cpu_supports("avx2"))
    usable[count++] = &avx2;
#endif
  usable[count++] = &plain;
  return i < count ? usable[i] : NULL;
}
