// SPDX-License-Identifier: Apache-2.0
// Opens the spans of a database like a file. Called by reader.c.
#ifndef XSP_PROGRAMS_XSP_DATABASE_STORE_H
#define XSP_PROGRAMS_XSP_DATABASE_STORE_H

#include "base/error.h"
#include "format/detail.h"

struct store;
// Fetches what `detail` needs into a file without a name, imports it, and says on stderr how much it is.
enum status database_store_open(const char *address, enum trace_detail detail, const char *layer_mode,
                                struct store **ret_store, struct error *err) MUST_CHECK;

#endif
