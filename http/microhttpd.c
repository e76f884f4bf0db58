// SPDX-License-Identifier: Apache-2.0
// Opens libmicrohttpd. Called once by serve.c.
#include "http/microhttpd.h"

#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

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
  const struct {
    const char *name;
    void *place;
  } wanted[] = {
#define X(name) {#name, &ret_functions->name},
      MICROHTTPD_FUNCTIONS(X)
#undef X
  };
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    void *function = dlsym(library.handle, wanted[i].name);
    if (function == NULL)
      return error_set(err, STATUS_SYSTEM, "cannot use library", library.path, names.advice, "it has no %s",
                       wanted[i].name);
    memcpy(wanted[i].place, &function, sizeof function);
  }
  return STATUS_OK;
}
