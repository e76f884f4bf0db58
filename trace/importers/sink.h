// SPDX-License-Identifier: Apache-2.0
// What importers pour into (importer.h), and what import_files.c drives it by. Inside this room only.
#ifndef XSP_IMPORTERS_SINK_H
#define XSP_IMPORTERS_SINK_H

#include "importers/importer.h"

struct sink; // of one call of import_files

// `results` holds what sink_end hands out. threads: as in import_options. `place`: see import_into; NULL: runs of its own.
struct sink *sink_create(struct store *store, unsigned threads, const struct import_place *place,
                         struct arena *results);
// A file begins: fills in import->sink. import->input, options and importer are the caller's to set.
void sink_begin(struct sink *sink, struct import *import, const char *path);
// The importer is through with its file: waits until all is stored, writes runs and tracks, says what became of it.
enum status sink_end(struct sink *sink, struct import_file *ret_file, struct error *err) MUST_CHECK;
// After the last file: writes the experiments.
enum status sink_finish(struct sink *sink, struct error *err) MUST_CHECK;
void sink_free(struct sink *sink); // at any time; NULL is fine

#endif
