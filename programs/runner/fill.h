// SPDX-License-Identifier: Apache-2.0
// Values of inputs that were not given: by a rule, or from the input's name and type. The same on every machine.
#ifndef XSP_PROGRAMS_RUNNER_FILL_H
#define XSP_PROGRAMS_RUNNER_FILL_H

#include "frameworks/frameworks.h"
#include "manifests/expect.h"

#include <stdint.h>

// Why the rule cannot fill this type; NULL: it can.
const char *fill_rule_problem(const struct fill_rule *rule, enum tensor_type type);
void tensor_fill(struct tensor *tensor, const struct fill_rule *rule, uint64_t seed);

#endif
