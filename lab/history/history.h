// SPDX-License-Identifier: Apache-2.0
// Evaluations and latencies of many files over time: read from .xsp files or a PostgreSQL database, chosen, judged, printed as tables or
// published as a static site. Front door of history. One thread.
#ifndef XSP_HISTORY_HISTORY_H
#define XSP_HISTORY_HISTORY_H

#include "analyze/analyze.h"
#include "base/message.h"
#include "base/vector.h"
#include "store/store.h"

// ---- records ---------------------------------------------------------------------------------------------------------
// X(name): what a record holds for, as text. Columns of the database too: see HISTORY_VERSION in database.c.
#define HISTORY_FACTS(X)                                                                                               \
  X(kind) /* "evaluation" or "profile" */                                                                              \
  X(model)                                                                                                             \
  X(model_version)                                                                                                     \
  X(model_sha256)                                                                                                      \
  X(framework)                                                                                                         \
  X(framework_version)                                                                                                 \
  X(host)                                                                                                              \
  X(cpu)                                                                                                               \
  X(gpu)                                                                                                               \
  X(data_set)                                                                                                          \
  X(levels)                                                                                                            \
  X(file) /* name, without its folder */

struct history_record {           // an evaluated model, or a model at one batch size
  const char *id;                 // of its content: a checksum, equal for the same measurement in any file
  int64_t created_ns;             // Unix epoch; 0: unknown
  int64_t batch;                  // 0: unknown
#define X(name) const char *name; // NULL: unknown
  HISTORY_FACTS(X)
#undef X
  const char *path;                         // of the file that it was read from; NULL: a database
  const struct store_system_value *figures; // by key: those of table `evaluation`, or those that A1 has
  size_t figure_count;
};
struct history { // starts as {0}; history_done frees it and all its records
  struct arena arena;
  VECTOR(struct history_record) records;
};
void history_done(struct history *history);

// Adds the records of a correlated store. Texts become valid UTF-8. `in_depth`: with figures that only the tables of depth and frameworks
// and rooflines have, which need all layers and kernels of the file.
enum status history_read(struct history *history, struct store *store, bool in_depth, struct error *err) MUST_CHECK;
double history_number(const struct history_record *record, const char *key);     // a figure; NaN: unknown, or a text
const char *history_fact(const struct history_record *record, const char *name); // NULL: unknown, or no such fact

// ---- selection -------------------------------------------------------------------------------------------------------
struct history_selection {   // NULL and 0: any
  const char *model;         // a name; * and ? match any characters; in any case
  const char *version;       // of the model: a constraint, ">=1.0", or a version
  const char *framework;     // "onnxruntime", "onnxruntime>=1.20"
  const char *system, *data; // a part of the host's, CPU's or GPU's name, of the data set's; in any case
  int64_t since_ns, until_ns;
};
// STATUS_USE: a constraint is malformed.
enum status history_selection_check(const struct history_selection *selection, struct error *err) MUST_CHECK;
// "2026-11-26", "2026-11-26T10:00", "2026-11-26T10:00:00", UTC, with or without Z. `is_end`: the last moment of it.
bool history_parse_time(const char *text, bool is_end, int64_t *ret_ns);
bool history_matches(const struct history_record *record, const struct history_selection *selection);
// Leaves the records that match, each once, in order of time.
void history_select(struct history *history, const struct history_selection *selection);

// ---- answers ---------------------------------------------------------------------------------------------------------
struct history_request {
  // Facts that a series has in common, "model,host"; NULL: model, version, framework, host and data set. Kind, batch size and levels
  // always are.
  const char *by;
  struct series_limits limits;
  size_t limit;     // of the list: only the latest ones, which are judged against all; 0: all
  const char *sort; // a column; NULL: the table's own order
  // What others are relative to: of the table of systems a host (NULL: the first by name), of that of frameworks a framework (NULL: the
  // one with most models).
  const char *base;
  bool for_programs; // all columns
};
enum history_table_kind {
  HISTORY_LIST,
  HISTORY_SERIES,
  HISTORY_ACCURACY,
  HISTORY_LATENCY,
  HISTORY_SYSTEMS,
  HISTORY_MODELS,
  HISTORY_DEPTH,
  HISTORY_FRAMEWORKS
};
// STATUS_USE: a name of history_request.by is no fact. NULL is fine.
enum status history_by_check(const char *by, struct error *err) MUST_CHECK;
bool history_table_find(const char *name, enum history_table_kind *ret_kind); // "list", "series", …
// Of selected records; lives in `arena`. STATUS_USE: request->by names no fact, request->base no host or framework, or
// request->sort no column.
enum status history_table(const struct history *history, enum history_table_kind kind,
                          const struct history_request *request, struct arena *arena, struct table *ret_table,
                          struct error *err) MUST_CHECK;

#define HISTORY_PLOTS "accuracy, throughput, roofline, systems, batches or time"
// Appends a plot as SVG. STATUS_USE: there is no such plot; STATUS_NO: no record has its figures.
enum status history_plot(const struct history *history, const char *name, const struct history_request *request,
                         struct buf *out, struct error *err) MUST_CHECK;

// ---- PostgreSQL ------------------------------------------------------------------------------------------------------
bool history_is_address(const char *text); // begins with postgresql:// or postgres://

struct history_database;
// Connects. `may_create`: makes the schema xsp where the database has none. STATUS_SYSTEM: there is no libpq or no connection;
// STATUS_INPUT: there is no schema, or one of another version.
enum status history_database_open(const char *address, bool may_create, struct history_database **ret_database,
                                  struct error *err) MUST_CHECK;
void history_database_close(struct history_database *database); // NULL is fine
// Stores the records of a file in one transaction: all or none. *ret_new: how many the database did not have. A connection that
// was lost is made anew once.
enum status history_database_put(struct history_database *database, const struct history *history, size_t *ret_new,
                                 struct error *err) MUST_CHECK;
// Adds the records of the selection's time.
enum status history_database_read(struct history_database *database, const struct history_selection *selection,
                                  struct history *history, struct error *err) MUST_CHECK;

// ---- the site (lab/history/site/) ----------------------------------------------------------------------------------------
struct site; // that is being written, in a folder inside its own
// Makes the folder if it is not there. STATUS_USE: another process publishes there, or it is not a folder.
enum status history_site_open(const char *folder, struct site **ret_site, struct error *err) MUST_CHECK;
// Writes the report page of a correlated file, which has records of the history.
enum status history_site_add_report(struct site *site, struct store *store, size_t max_spans,
                                    struct error *err) MUST_CHECK;
// Writes the other pages of a history that is not empty, moves all of them to their places, and removes those of earlier calls that
// are no more. Until the move the old site is as it was; files of others stay in any case. *ret_pages: their number.
enum status history_site_publish(struct site *site, const struct history *history,
                                 const struct history_request *request, size_t *ret_pages,
                                 struct error *err) MUST_CHECK;
void history_site_close(struct site *site); // removes what was not moved; NULL is fine

#endif
