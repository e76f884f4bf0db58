// SPDX-License-Identifier: Apache-2.0
// What door.c asks of jax.so, and what the files of the tracer share.
#ifndef XSP_FRAMEWORKS_JAX_TRACER_H
#define XSP_FRAMEWORKS_JAX_TRACER_H

#include "frameworks/common/door_python.h"

#include <stddef.h>
#include <stdint.h>
#include <xsp/span.h>

// Offered by jax.so (JAX_HOOKS_SYMBOL).
struct jax_hooks {
  size_t size;
  // Writes a profile into the session's folder, and after it which threads of this process live. False: there is no room.
  bool (*write)(const char *session, unsigned number, const char *bytes, size_t length);
  void (*report)(const char *message); // to xsp, for its notes on the run
};
#define JAX_HOOKS_SYMBOL "xsp_jax"
XSP_API const struct jax_hooks *xsp_jax(void);

// ---- tracer_profile.c
bool jax_profile_write(const char *session, unsigned number, const char *bytes, size_t length);

// ---- door_recording.c: `module`, jaxlib's own, makes clients of devices and is complete. `session`: the session's folder.
void jax_record(const struct python *python, void *module, const struct jax_hooks *hooks, const char *session);

#endif
