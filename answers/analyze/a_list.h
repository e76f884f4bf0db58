// SPDX-License-Identifier: Apache-2.0
// The analyses that exist, in the order of help. Each is `analysis_NAME`, in the file that begins with NAME (a9: a8_kernels.c).
#ifndef XSP_ANALYZE_A_LIST_H
#define XSP_ANALYZE_A_LIST_H

#include "analyze/analyze.h"

#define ANALYSES(X)                                                                                                    \
  X(l0)                                                                                                                \
  X(a1)                                                                                                                \
  X(a2)                                                                                                                \
  X(a3)                                                                                                                \
  X(a4)                                                                                                                \
  X(a5)                                                                                                                \
  X(a6)                                                                                                                \
  X(a7)                                                                                                                \
  X(a8)                                                                                                                \
  X(a9)                                                                                                                \
  X(a10)                                                                                                               \
  X(a11)                                                                                                               \
  X(a12)                                                                                                               \
  X(a13)                                                                                                               \
  X(a14)                                                                                                               \
  X(a15)                                                                                                               \
  X(a16)                                                                                                               \
  X(a17)                                                                                                               \
  X(a18)                                                                                                               \
  X(a19)                                                                                                               \
  X(a20)                                                                                                               \
  X(a21)                                                                                                               \
  X(a22)                                                                                                               \
  X(a23)                                                                                                               \
  X(a24)                                                                                                               \
  X(a25)                                                                                                               \
  X(a27)                                                                                                               \
  X(t8)                                                                                                                \
  X(t9)                                                                                                                \
  X(t10)                                                                                                               \
  X(t11)                                                                                                               \
  X(ranges)                                                                                                            \
  X(requests)                                                                                                          \
  X(findings)

#define DECLARE(name) extern const struct analysis analysis_##name;
ANALYSES(DECLARE)
#undef DECLARE

#endif
