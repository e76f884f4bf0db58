// SPDX-License-Identifier: Apache-2.0
// Version constraints, written as Python's packages write them, ">=2.14,<3", or as ranges of semantic versions, "^1.x". Pure.
#ifndef XSP_MANIFESTS_VERSION_H
#define XSP_MANIFESTS_VERSION_H

#include <stdbool.h>
#include <stddef.h>

// Comparisons joined by ','; each is one of >= <= > < == != ~= and a version: numbers joined by '.', with an optional ending
// aN, bN, rcN, .devN (before the release of these numbers) or .postN (after it). Or a range: ^1.2.3 (from 1.2.3, with the same first
// part that is not 0), ~1.2.3 (from 1.2.3, a 1.2), 1.2, 1.2.x or 1.2.* (a 1.2), * (any).
bool version_constraint_is_valid(const char *constraint);
// `version` as a library or a package reports it. Versions of equal numbers before their release are equal, whatever their
// endings; other endings ("+cpu", "-20398-…") are ignored. False for a version that does not begin with a number.
bool version_satisfies(const char *version, const char *constraint);
// "tensorflow-cpu==2.21.0", without ranges: length of the name, 0 if it is malformed; *ret_constraint is the rest, maybe "".
size_t version_split_requirement(const char *requirement, const char **ret_constraint);

#endif
