// SPDX-License-Identifier: Apache-2.0
// Errors: a status plus, where the caller gave somewhere to put it, the one line a person needs.
//
// The depth says what failed and why; the caller that knows more adds the rest. `err` may always be NULL.
#ifndef XSP_BASE_ERROR_H
#define XSP_BASE_ERROR_H

#include <stddef.h>

// X(name, exit status, meaning): the only list of statuses. Exit statuses are documented in docs/exit-status.md.
#define STATUS_LIST(X)                                                                                                 \
  X(OK, 0, "done")                                                                                                     \
  X(NO, 1, "the answer is no")                                                                                         \
  X(USE, 2, "wrong use")                                                                                               \
  X(INPUT, 2, "input that is missing, unreadable or broken")                                                           \
  X(SYSTEM, 3, "the environment failed")                                                                               \
  X(MEMORY, 3, "out of memory")

enum status {
#define X(name, code, meaning) STATUS_##name,
  STATUS_LIST(X)
#undef X
};

struct error {
  enum status status;
  char what[160];   // what was being done, or what is wrong: "cannot open model"
  char where[512];  // file, offset, option; may be empty
  char why[512];    // the reason
  char advice[256]; // what to try; may be empty
};

// Fills *err (if not NULL) and returns `status`, so that `return error_set(...)` reads well.
// `where` and `advice` may be NULL. `why_format` is printf-like. Text is cut, never overrun.
__attribute__((format(printf, 6, 7))) enum status error_set(struct error *err, enum status status, const char *what,
                                                            const char *where, const char *advice,
                                                            const char *why_format, ...);
// As error_set with errno's text after `what`. The status is `status`, but STATUS_MEMORY for ENOMEM, and STATUS_SYSTEM where no
// more files can be opened: that says nothing about this one.
enum status error_set_errno(struct error *err, enum status status, const char *what, const char *where,
                            const char *advice);
void error_prefix(struct error *err, const char *prefix); // puts text in front of `what`
// Writes `xsp: WHAT: WHERE: WHY; try: ADVICE` without a newline; control bytes and invalid UTF-8 are escaped (\xNN).
// Returns the length written (< size).
size_t error_line(const struct error *err, char *line, size_t size);
int status_exit_code(enum status status);

#define XSP_TRY(expression)                                                                                            \
  do {                                                                                                                 \
    enum status try_status_ = (expression);                                                                            \
    if (try_status_ != STATUS_OK)                                                                                      \
      return try_status_;                                                                                              \
  } while (0)

#define MUST_CHECK __attribute__((warn_unused_result))

#endif
