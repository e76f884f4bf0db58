// SPDX-License-Identifier: Apache-2.0
// A container from a Dockerfile, by the builder that the machine has. For container.c.
#ifndef XSP_ISOLATION_BUILD_H
#define XSP_ISOLATION_BUILD_H

#include "isolation/isolation.h"

// Fills root and digest, which is that of the Dockerfile. STATUS_SYSTEM: there is no builder, or it failed.
enum status isolation_build(const char *file, message_fn message, struct arena *arena, struct isolation *isolation,
                            struct error *err) MUST_CHECK;

#endif
