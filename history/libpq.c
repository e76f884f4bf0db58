// SPDX-License-Identifier: Apache-2.0
// Finds the functions of libpq. Called by database.c.
#include "history/libpq.h"

#include "base/library.h"

#include <dlfcn.h>

enum status libpq_open(struct libpq *pq, struct error *err)
{
  static const char *const sonames[] = {"libpq.so.5", NULL};
  static const struct library_names names = {"pq", sonames, NULL, "apt-get install libpq5"};
  struct library library;
  XSP_TRY(library_open(&names, NULL, &library, err));
#define X(name) pq->name = (__typeof__(pq->name))dlsym(library.handle, "PQ" #name);
  LIBPQ_FUNCTIONS(X)
#undef X
#define X(name) || pq->name == NULL
  if (false LIBPQ_FUNCTIONS(X))
    return error_set(err, STATUS_SYSTEM, "cannot use library", library.path, names.advice,
                     "not a libpq: functions are missing");
#undef X
  return STATUS_OK;
}
