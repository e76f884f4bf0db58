// SPDX-License-Identifier: Apache-2.0
// Runs a generator's script in the active Python environment; the end of its output becomes part of an error. One at a
// time.
#ifndef XSP_MANIFESTS_GENERATOR_PROCESS_H
#define XSP_MANIFESTS_GENERATOR_PROCESS_H

#include "base/message.h"
#include "manifests/manifest.h"

// `arguments` begins with the script and ends with NULL; its last is where the result goes. SIGINT, SIGTERM and SIGHUP end the
// script, and are held until manifest_run_end. Errors: STATUS_SYSTEM, with the script's last line.
enum status manifest_run_python(const struct manifest *manifest, const char *const *arguments, message_fn message,
                                struct error *err) MUST_CHECK;
// Gives the signals back; one that came is raised again. Safe where nothing ran.
void manifest_run_end(void);

#endif
