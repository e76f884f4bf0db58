// SPDX-License-Identifier: Apache-2.0
// Levels that were asked for, and at which nothing was published.
#ifndef XSP_EXPERIMENT_ABSENT_LEVELS_H
#define XSP_EXPERIMENT_ABSENT_LEVELS_H

#include "base/message.h"
#include "store/store.h"

// Says of each level set which of its levels no run of it has a span at, with what may help, and notes it for the file. The model
// level counts as there: a program is one. Of files without spans (--aggregate) nothing is said.
enum status absent_levels_say(struct store *store, message_fn message, struct error *err) MUST_CHECK;

#endif
