// SPDX-License-Identifier: Apache-2.0
// Which chunks a file has, per run, series, part and column. The reader's; nobody else's.
#ifndef XSP_STORE_CATALOGUE_H
#define XSP_STORE_CATALOGUE_H

#include "store/reader.h"

// STATUS_INPUT where parts are missing, repeated, or disagree about their rows.
enum status catalogue_load(struct reader *reader, struct error *err) MUST_CHECK;
void catalogue_free(struct reader *reader); // with all cached columns

#endif
