// SPDX-License-Identifier: Apache-2.0
// Lists of CPUs, as --affinity takes them.
#ifndef XSP_PROGRAMS_RUNNER_AFFINITY_H
#define XSP_PROGRAMS_RUNNER_AFFINITY_H

#include "base/error.h"

// Binds the calling thread, and those it starts, to a list such as "0-2,5". Errors: STATUS_USE for the text, STATUS_SYSTEM
// where the system refuses.
enum status affinity_set(const char *list, struct error *err) MUST_CHECK;

#endif
