// SPDX-License-Identifier: Apache-2.0
// The rules that exist, in the order of their numbers. Each is `finding_NAME`, in a file of its own or, of servers, in f40_servers.c.
#ifndef XSP_ANALYZE_FINDINGS_RULES_H
#define XSP_ANALYZE_FINDINGS_RULES_H

#include "analyze/findings/findings.h"

#define FINDING_RULES(X)                                                                                               \
  X(f1)                                                                                                                \
  X(f2)                                                                                                                \
  X(f3)                                                                                                                \
  X(f4)                                                                                                                \
  X(f5)                                                                                                                \
  X(f6)                                                                                                                \
  X(f7)                                                                                                                \
  X(f8)                                                                                                                \
  X(f9)                                                                                                                \
  X(f10)                                                                                                               \
  X(f11)                                                                                                               \
  X(f12)                                                                                                               \
  X(f13)                                                                                                               \
  X(f14)                                                                                                               \
  X(f15)                                                                                                               \
  X(f16)                                                                                                               \
  X(f17)                                                                                                               \
  X(f18)                                                                                                               \
  X(f19)                                                                                                               \
  X(f20)                                                                                                               \
  X(f21)                                                                                                               \
  X(f22)                                                                                                               \
  X(f23)                                                                                                               \
  X(f24)                                                                                                               \
  X(f25)                                                                                                               \
  X(f26)                                                                                                               \
  X(f27)                                                                                                               \
  X(f28)                                                                                                               \
  X(f29)                                                                                                               \
  X(f30)                                                                                                               \
  X(f31)                                                                                                               \
  X(f32)                                                                                                               \
  X(f33)                                                                                                               \
  X(f34)                                                                                                               \
  X(f35)                                                                                                               \
  X(f36)                                                                                                               \
  X(f37)                                                                                                               \
  X(f38)                                                                                                               \
  X(f39)                                                                                                               \
  X(f40)                                                                                                               \
  X(f41)                                                                                                               \
  X(f42)                                                                                                               \
  X(f55)                                                                                                               \
  X(f56)                                                                                                               \
  X(f57)                                                                                                               \
  X(f58)                                                                                                               \
  X(f59)                                                                                                               \
  X(f60)                                                                                                               \
  X(f61)                                                                                                               \
  X(f62)                                                                                                               \
  X(f63)                                                                                                               \
  X(f64)                                                                                                               \
  X(f65)                                                                                                               \
  X(f66)                                                                                                               \
  X(f67)                                                                                                               \
  X(f68)                                                                                                               \
  X(f69)                                                                                                               \
  /* the next one goes above this line */

#define DECLARE(name) extern const struct finding_rule finding_##name;
FINDING_RULES(DECLARE)
#undef DECLARE

#endif
