// SPDX-License-Identifier: Apache-2.0
// Opens libmicrohttpd. Called once by server.c.
#include "http/microhttpd.h"

#include "base/library.h"

#include <stddef.h>

static const char *const sonames[] = {"libmicrohttpd.so.12", NULL};
static const struct library_names names = {
    .name = "microhttpd",
    .sonames = sonames,
    .advice = "apt-get install libmicrohttpd12, or --library microhttpd=PATH",
};

enum status microhttpd_open(const char *given, struct microhttpd *ret_functions, struct error *err)
{
  struct library library;
  XSP_TRY(library_open(&names, given, &library, err));
  static const struct library_function wanted[] = {
#define X(name) {#name, offsetof(struct microhttpd, name), false},
      MICROHTTPD_FUNCTIONS(X)
#undef X
  };
  return library_functions(&library, "cannot use library", "a libmicrohttpd", names.advice, wanted,
                           sizeof wanted / sizeof *wanted, ret_functions, err);
}
