// SPDX-License-Identifier: Apache-2.0
// Agents, as the verbs `agent` and `evaluate` print and use them.
#ifndef XSP_PROGRAMS_XSP_AGENTS_H
#define XSP_PROGRAMS_XSP_AGENTS_H

#include "programs/xsp/verb.h"
#include "report/report.h"

#include <signal.h>

// `xsp agent --list`: the agents and the models of --registry, as two tables.
enum status agents_print(const struct invocation *invocation, enum report_format format, struct error *err) MUST_CHECK;
// `xsp evaluate MODEL… --registry URL`: evaluates on agents and prints a row for each.
enum status agents_evaluate(const struct invocation *invocation, enum report_format format,
                            const volatile sig_atomic_t *interrupted, struct error *err) MUST_CHECK;

#endif
