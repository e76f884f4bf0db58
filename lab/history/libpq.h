// SPDX-License-Identifier: Apache-2.0
// libpq, PostgreSQL's client, opened at run time: few users need it and the libraries that it brings. Inside this room only.
#ifndef XSP_HISTORY_LIBPQ_H
#define XSP_HISTORY_LIBPQ_H

#include "base/error.h"

#include <libpq-fe.h>

#define LIBPQ_FUNCTIONS(X)                                                                                             \
  X(connectdbParams)                                                                                                   \
  X(status)                                                                                                            \
  X(reset)                                                                                                             \
  X(finish)                                                                                                            \
  X(errorMessage)                                                                                                      \
  X(setNoticeProcessor)                                                                                                \
  X(host)                                                                                                              \
  X(db)                                                                                                                \
  X(execParams)                                                                                                        \
  X(resultStatus)                                                                                                      \
  X(resultErrorMessage)                                                                                                \
  X(cmdTuples)                                                                                                         \
  X(ntuples)                                                                                                           \
  X(getvalue)                                                                                                          \
  X(getisnull)                                                                                                         \
  X(getlength)                                                                                                         \
  X(clear)

struct libpq {
#define X(name) __typeof__(PQ##name) *name;
  LIBPQ_FUNCTIONS(X)
#undef X
};

// Errors: STATUS_SYSTEM where there is no libpq.
enum status libpq_open(struct libpq *ret_libpq, struct error *err) MUST_CHECK;

#endif
