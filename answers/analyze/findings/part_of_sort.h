// SPDX-License-Identifier: Apache-2.0
// Whether a program's source takes one part of what it sorts, at its beginning or end, and nothing else.
#ifndef XSP_ANALYZE_FINDINGS_PART_OF_SORT_H
#define XSP_ANALYZE_FINDINGS_PART_OF_SORT_H

#include "base/slice.h"

// Of the sort at `line` (from 1) of a Python source. An index at the call counts, `.sort()[0][:, :k]`, or else the names that the line
// assigns it to: each is used in its function with one index alone. False: something else is used, or the form is not known.
bool findings_takes_part(struct slice source, int64_t line);

#endif
