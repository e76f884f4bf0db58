// SPDX-License-Identifier: Apache-2.0
// Opens an .xsp file for the reading verbs. Prints nothing.
#include "correlate/correlate.h"
#include "programs/xsp/reader.h"

enum status reader_open(const char *path, struct store **ret_store, struct error *err)
{
  struct store *store = NULL;
  XSP_TRY(store_open(path, &store, err));
  enum status status = correlate_ensure(store, err);
  if (status != STATUS_OK) {
    store_close(store);
    return status;
  }
  *ret_store = store;
  return STATUS_OK;
}
