// SPDX-License-Identifier: Apache-2.0
// Version constraints as Python's packages write them: ">=2.14,<3". Pure.
#ifndef XSP_MANIFESTS_VERSION_H
#define XSP_MANIFESTS_VERSION_H

#include <stdbool.h>
#include <stddef.h>

// Comparisons joined by ','; each one of >= <= > < == != ~= and a version: numbers joined by '.', maybe with aN, bN, rcN,
// .devN or .postN behind them.
bool version_constraint_is_valid(const char *constraint);
// `version` as a library or a package says it: what stands behind the numbers and is no such ending ("+cpu", "-20398-…") is
// not looked at. False where it does not begin with a number, too.
bool version_satisfies(const char *version, const char *constraint);
// "tensorflow-cpu==2.21.0": length of the name, 0 where that is none; *ret_constraint is what follows it, "" where nothing
// does.
size_t version_split_requirement(const char *requirement, const char **ret_constraint);

#endif
