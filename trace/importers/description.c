// SPDX-License-Identifier: Apache-2.0
// Opens the files of a call: those that make runs, and those that describe them. Called by import_files.c and by importers of
// formats that have descriptions.
#include "importers/importer.h"

enum status import_open_input(const char *path, const struct import_options *options, struct input *ret_input,
                              struct error *err)
{
  uint64_t limit_bytes = options->limit_bytes == 0 ? IMPORT_LIMIT_DEFAULT : options->limit_bytes;
  XSP_TRY(input_open(path, limit_bytes, ret_input, err));
  ret_input->cancel = options->cancel;
  return STATUS_OK;
}

enum status import_description_open(const struct import *import, struct input *ret_input, struct import *ret_import,
                                    struct error *err)
{
  *ret_input = (struct input){0};
  *ret_import = *import;
  ret_import->input = ret_input;
  return import_open_input(import->description->path, import->options, ret_input, err);
}
