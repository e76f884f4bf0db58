// SPDX-License-Identifier: Apache-2.0
// Facts of the machine that decide how well xsp can measure here.
#ifndef XSP_PROGRAMS_XSP_CHECK_MACHINE_H
#define XSP_PROGRAMS_XSP_CHECK_MACHINE_H

#include "base/buf.h"

// One line a fact: "clock        TSC, invariant: …".
void check_machine(struct buf *out, unsigned width);

#endif
