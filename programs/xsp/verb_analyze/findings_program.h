// SPDX-License-Identifier: Apache-2.0
// Runs a finding that is a Python program.
#ifndef XSP_PROGRAMS_XSP_FINDINGS_PROGRAM_H
#define XSP_PROGRAMS_XSP_FINDINGS_PROGRAM_H

#include "base/child.h"
#include "base/error.h"

// `python3 -m xsp.findings PROGRAM TRACE`, in the active Python environment: what it prints is `text`, which the caller frees, also
// after an error. Its stderr is ours. STATUS_INPUT where it fails. One that prints more than 16 MiB, or runs longer than
// `timeout_s` (0: for ever), is killed with its process group.
enum status findings_program_run(const char *program, const char *trace, unsigned timeout_s, struct child_text *text,
                                 struct error *err) MUST_CHECK;

#endif
