// SPDX-License-Identifier: Apache-2.0
// The target of a request, "/files/a.xsp?top=3" or "http://localhost/files/a.xsp?top=3", in decoded parts. Pure; any thread.
#ifndef XSP_HTTP_TARGET_H
#define XSP_HTTP_TARGET_H

#include <stddef.h>

#define TARGET_BYTES_MOST ((size_t)8192)
#define TARGET_SEGMENTS_MOST 12u
#define TARGET_PARAMETERS_MOST 32u

struct target_parameter {
  const char *name, *value; // without "=": an empty value
};
struct target {
  char *text;                                 // owned: what the others point to
  const char *authority;                      // of the second form: counts in place of the header Host. NULL: none
  const char *segments[TARGET_SEGMENTS_MOST]; // "/" has one, which is empty; "/a/" has "a" and an empty one
  size_t segment_count;
  struct target_parameter parameters[TARGET_PARAMETERS_MOST]; // names are unique
  size_t parameter_count;
};
enum target_result { TARGET_DONE, TARGET_BROKEN, TARGET_TOO_LONG };

// Splits first, then decodes %XX (and + in parameters), so that an encoded slash separates nothing. BROKEN: not a path, a bad
// escape, a control byte, malformed UTF-8, a parameter that is there twice. The caller frees by target_done, whatever the result.
enum target_result target_parse(const char *text, struct target *ret_target);
const char *target_value(const struct target *target, const char *name); // of a parameter; NULL: absent
void target_done(struct target *target);

#endif
