// SPDX-License-Identifier: Apache-2.0
// Facts of the machine that decide how well xsp can measure here.
#ifndef XSP_PROGRAMS_XSP_CHECK_MACHINE_H
#define XSP_PROGRAMS_XSP_CHECK_MACHINE_H

#include "base/buf.h"

struct peaks;
// One line a fact: "clock        TSC, invariant: …". `peaks` NULL: not asked for.
void check_machine(struct buf *out, unsigned width, const struct peaks *peaks);

#endif
