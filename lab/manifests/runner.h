// SPDX-License-Identifier: Apache-2.0
// A manifest's framework and library, and the runner's options that follow from it. For `xsp profile`
// and `xsp check`.
#ifndef XSP_MANIFESTS_RUNNER_H
#define XSP_MANIFESTS_RUNNER_H

#include "launch/launch.h"
#include "manifests/manifest.h"

// The predictor it names. Errors: STATUS_INPUT, with the line and the nearest name.
enum status manifest_predictor(const struct manifest *manifest, const struct predictor **ret_predictor,
                               struct error *err) MUST_CHECK;
// Opens the framework's library in a process of its own and compares its version with what the manifest wants. Errors:
// STATUS_SYSTEM, with what was found where.
enum status manifest_check_library(const struct manifest *manifest, const struct predictor *predictor,
                                   const char *library, struct probe_result *ret_result, struct error *err) MUST_CHECK;
// For runner_options, NULL-terminated. Those of `given` (the command line's) go before the manifest's.
const char *const *manifest_expectations(const struct manifest *manifest, struct arena *arena);
const char *const *manifest_inputs(const struct manifest *manifest, const char *const *given, struct arena *arena);
const char *const *manifest_dims(const struct manifest *manifest, const char *const *given, struct arena *arena);

#endif
