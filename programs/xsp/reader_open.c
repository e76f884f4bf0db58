// SPDX-License-Identifier: Apache-2.0
// Opens an .xsp file for the reading verbs. Prints nothing.
#include "correlate/correlate.h"
#include "programs/xsp/reader.h"

#include <sys/stat.h>

enum status reader_open(const char *path, struct store **ret_store, struct error *err)
{
  struct store *store = NULL;
  struct stat facts;
  if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode))
    return error_set(err, STATUS_INPUT, "cannot open trace", path,
                     "a file in it; only T8 to T11 of xsp analyze take folders", "it is a directory");
  XSP_TRY(store_open(path, &store, err));
  enum status status = correlate_ensure(store, err);
  if (status != STATUS_OK) {
    store_close(store);
    return status;
  }
  *ret_store = store;
  return STATUS_OK;
}
