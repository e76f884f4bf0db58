// SPDX-License-Identifier: Apache-2.0
// Finds the functions of libpq. Called by database.c.
#include "history/libpq.h"

#include "base/library.h"

#include <stddef.h>

enum status libpq_open(struct libpq *pq, struct error *err)
{
  static const char *const sonames[] = {"libpq.so.5", NULL};
  static const struct library_names names = {"pq", sonames, NULL, "apt-get install libpq5"};
  struct library library;
  XSP_TRY(library_open(&names, NULL, &library, err));
  static const struct library_function wanted[] = {
#define X(name) {"PQ" #name, offsetof(struct libpq, name), false},
      LIBPQ_FUNCTIONS(X)
#undef X
  };
  return library_functions(&library, "cannot use library", "a libpq", names.advice, wanted,
                           sizeof wanted / sizeof *wanted, pq, err);
}
