// SPDX-License-Identifier: Apache-2.0
// Which chunks a file has, per run, series, part and column. The reader's; nobody else's.
#ifndef XSP_STORE_CATALOGUE_H
#define XSP_STORE_CATALOGUE_H

#include "store/reader.h"

// STATUS_INPUT where parts are missing, repeated, or disagree about their rows.
enum status catalogue_load(struct reader *reader, struct error *err) MUST_CHECK;
// Reads the chunks of one run anew: an import that correlates thousands of runs, one by one, changes one at a time.
enum status catalogue_load_run(struct reader *reader, int64_t run_id, struct error *err) MUST_CHECK;
void catalogue_free(struct reader *reader); // with all cached columns

#endif
