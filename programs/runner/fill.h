// SPDX-License-Identifier: Apache-2.0
// Values of inputs that nobody gave: by a rule, or from the input's name and type. The same on every machine.
#ifndef XSP_PROGRAMS_RUNNER_FILL_H
#define XSP_PROGRAMS_RUNNER_FILL_H

#include "frameworks/common/predictor.h"

#include <stdint.h>

enum fill_kind { RULE_DEFAULT, RULE_CONSTANT, RULE_UNIFORM, RULE_INTEGERS };
struct fill_rule {
  enum fill_kind kind;
  double low, high; // uniform: low up to high, exclusive; integers: both inclusive; constant: low
};

// Why the rule cannot fill this type; NULL: it can.
const char *fill_rule_problem(const struct fill_rule *rule, enum tensor_type type);
void tensor_fill(struct tensor *tensor, const struct fill_rule *rule, uint64_t seed);

#endif
