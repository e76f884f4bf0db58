// SPDX-License-Identifier: Apache-2.0
// For unit tests: asserts STATUS_OK and prints the error's line otherwise. Include cmocka.h before.
#ifndef XSP_TESTS_SUPPORT_EXPECT_H
#define XSP_TESTS_SUPPORT_EXPECT_H

#include "base/error.h"

// Fails with `what` and the error's line unless `status` is OK.
static inline void expect_ok(const char *what, enum status status, const struct error *err)
{
  if (status != STATUS_OK) {
    char line[2048];
    error_line(err, line, sizeof line);
    fail_msg("%s: %s", what, line);
  }
}

// ok(store_commit(store, &err), &err): if the test owns the error.
#define ok(expression, error) expect_ok(#expression, (expression), (error))

// OK(store_commit(store, err)): the expression is given an `err` of its own.
#define OK(expression)                                                                                                 \
  do {                                                                                                                 \
    struct error error_ = {0};                                                                                         \
    struct error *err = &error_;                                                                                       \
    expect_ok(#expression, (expression), err);                                                                         \
  } while (0)

#endif
