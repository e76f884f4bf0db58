// SPDX-License-Identifier: Apache-2.0
// The calls that are looked at.
#ifndef XSP_TRACERS_LEVELZERO_CALLBACKS_H
#define XSP_TRACERS_LEVELZERO_CALLBACKS_H

#include <stdbool.h>
#include <stdint.h>

// Registers all that this loader knows of with `tracer`, by its functions zelTracerNAMERegisterCallback in `library`. How
// many it knows.
uint32_t levelzero_callbacks_register(void *library, void *tracer);
// Callbacks do nothing: for calls of ours on this thread, and in a fork's child.
void levelzero_callbacks_pause(bool is_paused);
void levelzero_callbacks_stop(void);

#endif
