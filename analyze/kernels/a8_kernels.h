// SPDX-License-Identifier: Apache-2.0
// A8's answer, which A9 gives with the roofs.
#ifndef XSP_ANALYZE_KERNELS_A8_KERNELS_H
#define XSP_ANALYZE_KERNELS_A8_KERNELS_H

#include "analyze/kernels/kernels.h"

enum status kernels_table(struct question *question, bool with_roofs, struct error *err) MUST_CHECK;
// Notes which metrics a roofline needs and no kernel has.
void kernels_note_lacking(struct question *question, const struct kernels *kernels);

#endif
