// SPDX-License-Identifier: Apache-2.0
// What there is to recover, for `xsp recover` without arguments.
#ifndef XSP_PROGRAMS_XSP_RECOVER_LIST_H
#define XSP_PROGRAMS_XSP_RECOVER_LIST_H

#include "base/error.h"

#include <stdbool.h>

// Prints the caller's sessions, and the unfinished files in the working folder, as a table.
enum status recover_list(bool is_json, struct error *err) MUST_CHECK;

#endif
