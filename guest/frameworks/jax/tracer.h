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
  // Adds a profile to the process's file in the session's folder, and after it which threads of this process live. Returns how
  // many bytes the file has then; 0: there is no room, and it is as it was.
  uint64_t (*write)(const char *session, const char *bytes, size_t length);
  const char *(*option)(const char *name); // of the tracer; NULL: not given
  void (*report)(const char *message);     // to xsp, for its notes on the run
};
#define JAX_HOOKS_SYMBOL "xsp_jax"
XSP_API const struct jax_hooks *xsp_jax(void);

// ---- tracer_profile.c
uint64_t jax_profile_write(const char *session, const char *bytes, size_t length);

// ---- door_recording.c: `module`, jaxlib's own, makes clients of devices and is complete. `session`: the session's folder.
void jax_record(const struct python *python, void *module, const struct jax_hooks *hooks, const char *session);

// ---- door_rank.c: publishes the process's number in a job of jax.distributed, if it is of one
void jax_rank(const struct python *python);

// ---- door_parts.c: a thread of xsp's
// Has the interpreter call `part` on its main thread, each time that jax_parts_next asks for. False: there is no thread.
bool jax_parts_begin(const struct python *python, void (*part)(void));
// The next call is in so many seconds, or when the process has `bytes` of memory, if that is before; 0: however much it has.
void jax_parts_next(double seconds, int64_t bytes);
// There is no call from now on. With the interpreter held.
void jax_parts_end(void);
int64_t jax_process_bytes(void); // of memory; 0: unknown

#endif
