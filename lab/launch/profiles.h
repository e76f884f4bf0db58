// SPDX-License-Identifier: Apache-2.0
// Profiles that a framework's own profiler wrote into a session's folder: JAX's (guest/frameworks/jax). Private.
#ifndef XSP_LAUNCH_PROFILES_H
#define XSP_LAUNCH_PROFILES_H

#include "base/arena.h"
#include "base/error.h"
#include "store/store.h"

// Adds those in `folder` to the run. One that cannot be read is left out; *ret_why then says why, in `arena`; else NULL.
enum status launch_profiles_add(const char *folder, struct store *store, const struct store_run *run,
                                struct arena *arena, const char **ret_why, struct error *err) MUST_CHECK;

#endif
