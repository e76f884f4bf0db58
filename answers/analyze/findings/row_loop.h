// SPDX-License-Identifier: Apache-2.0
// Whether the iterations of a loop in a program's source need each other: if not, one operator can take all of them at once.
#ifndef XSP_ANALYZE_FINDINGS_ROW_LOOP_H
#define XSP_ANALYZE_FINDINGS_ROW_LOOP_H

#include "base/slice.h"

// Whether `line` (from 1) of a Python source is in the body of a `for` that only appends to lists, writes elements, adds up, and
// assigns names that it does not read before. False: it is in none, or something else is in the body. `ret_first`: the loop's own line.
bool findings_loop_is_independent(struct slice source, int64_t line, int64_t *ret_first);
// Whether none of the comprehensions at `line` assigns something that a later iteration may read.
bool findings_comprehension_is_independent(struct slice source, int64_t line);

#endif
