// SPDX-License-Identifier: Apache-2.0
// Nsight Systems: what `nsys export --type sqlite` writes, schemas 2.9 to 3.25. Tables are there only where there was
// data, columns come and go between versions: each part asks for what the table has.
#include "importers/nsys/reader.h"

#include <math.h>
#include <string.h>

// ---- what all tables have in common ----------------------------------------------------------------------------------
enum status nsys_begin_span(struct nsys_reader *reader, struct import_scan *scan, size_t start_column,
                            size_t end_column, struct store_span *span, struct error *err)
{
  if (import_scan_type(scan, start_column) == IMPORT_NULL || import_scan_type(scan, end_column) == IMPORT_NULL) {
    import_skip(reader->import, import_scan_type(scan, start_column) == IMPORT_NULL ? "no start" : "no end");
    return STATUS_OK;
  }
  int64_t start = import_scan_int(scan, start_column, 0), end = import_scan_int(scan, end_column, 0);
  XSP_TRY(import_scan_check(scan, err));
  if (end < start) {
    import_skip(reader->import, "negative duration");
    return STATUS_OK;
  }
  int64_t last;
  if (__builtin_sub_overflow(end, start, &span->duration_ns) ||
      __builtin_add_overflow(start, reader->epoch_ns, &span->start_ns) ||
      __builtin_add_overflow(end, reader->epoch_ns, &last))
    return import_scan_broken(scan, err, "its time is beyond 64 bits of nanoseconds");
  span->span_id = reader->next_span_id++;
  return STATUS_OK;
}

enum status nsys_column_string(struct nsys_reader *reader, struct import_scan *scan, size_t column,
                               uint32_t *ret_string, struct error *err)
{
  *ret_string = 0;
  if (import_scan_type(scan, column) == IMPORT_NULL)
    return STATUS_OK;
  int64_t id = import_scan_int(scan, column, 0);
  XSP_TRY(import_scan_check(scan, err));
  return nsys_string(&reader->strings, id, ret_string, err);
}

enum status nsys_thread_track(struct nsys_reader *reader, int64_t global_tid, uint32_t *ret_track, struct error *err)
{
  struct nsys_key key = {global_tid, 0, 0};
  uint32_t name = 0;
  if (nsys_map_find(&reader->threads, key, ret_track))
    return STATUS_OK;
  struct store_track track = {
      .name = nsys_map_find(&reader->thread_names, key, &name) ? import_text(reader->import, name, NULL) : NULL,
      .host = reader->host,
      .process_id = (int64_t)((uint64_t)global_tid >> 24 & 0xffffff),
      .thread_id = global_tid & 0xffffff,
      .device_id = STORE_NONE,
      .stream_id = STORE_NONE,
  };
  XSP_TRY(import_track(reader->import, &track, ret_track, err));
  nsys_map_put(&reader->threads, key, *ret_track);
  return STATUS_OK;
}

enum status nsys_correlation(struct nsys_reader *reader, int64_t process, int64_t recorded, struct store_span *span,
                             struct error *err)
{
  if (recorded == 0)
    return STATUS_OK;
  import_tag_int(reader->import, span->span_id, reader->keys.recorded_correlation, recorded);
  if (recorded < 0 || recorded > UINT32_MAX) {
    reader->unusable_correlations++;
    return STATUS_OK;
  }
  struct nsys_key key = {process, 0, 0};
  uint32_t ordinal = 0;
  if (!nsys_map_find(&reader->processes, key, &ordinal)) {
    ordinal = (uint32_t)reader->processes.values.count;
    nsys_map_put(&reader->processes, key, ordinal);
  }
  span->correlation_id = (int64_t)((uint64_t)ordinal << 32 | (uint64_t)recorded);
  return STATUS_OK;
}

enum status nsys_add(struct nsys_reader *reader, struct import_scan *scan, const struct store_span *span,
                     struct error *err)
{
  XSP_TRY(import_scan_check(scan, err));
  return import_span(reader->import, span, err);
}

void nsys_tag(struct nsys_reader *reader, struct import_scan *scan, size_t column, int64_t span_id, uint32_t key)
{
  struct import *import = reader->import;
  enum import_type type = import_scan_type(scan, column);
  if (type == IMPORT_INTEGER)
    import_tag_int(import, span_id, key, import_scan_int(scan, column, 0));
  else if (type == IMPORT_REAL)
    import_tag_double(import, span_id, key, import_scan_real(scan, column));
  else if (type == IMPORT_TEXT)
    import_tag_text(import, span_id, key, import_repaired(import, import_scan_text(scan, column)));
}

// ---- what kind of database is it? ------------------------------------------------------------------------------------
static bool is_export(const struct import_database *database)
{
  return import_find_table(database, "META_DATA_EXPORT") != NULL ||
         import_find_table(database, "EXPORT_META_DATA") != NULL ||
         (import_find_table(database, "StringIds") != NULL &&
          (import_has_tables(database, "CUPTI_ACTIVITY_KIND_") || import_find_table(database, "NVTX_EVENTS") != NULL));
}

static enum status refuse(const struct import_database *database, struct error *err)
{
  static const struct {
    const char *prefix, *what, *advice;
  } others[] = {
      {"StringTable", "it is an nvprof database, which Nsight Systems replaced", "nsys profile, then nsys export"},
      {"rocpd_api", "it is a database of rocmProfileData (.rpd)", "rpd2tracing, and --format chrome"},
      {"rocpd_", "it is a rocpd database of rocprofv3", "--format rocpd"},
      {"xsp_", "it is an .xsp file already", "xsp info, or xsp analyze"},
      {"chunk", "it is an .xsp file already", "xsp info, or xsp analyze"},
  };
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (import_has_tables(database, others[i].prefix))
      return error_set(err, STATUS_INPUT, "cannot import", database->path, others[i].advice, "%s", others[i].what);
  return error_set(err, STATUS_INPUT, "cannot import", database->path, "nsys export --type sqlite",
                   "it is an SQLite database, but not an export of Nsight Systems%s%s",
                   database->table_count > 0 ? ": its first table is " : ": it has no tables",
                   database->table_count > 0 ? database->tables[0].name : "");
}

// Any SQLite database: what it is shows only when it is open, and then there is a better sentence to say.
static int nsys_recognize(struct slice head, bool is_all)
{
  static const char magic[16] = "SQLite format 3";
  if (head.length < sizeof magic || memcmp(head.data, magic, sizeof magic) != 0)
    return 0;
  if (head.length > 72 && slice_starts_with(slice_after(head, 68), "XSP1"))
    return 0;
  return slice_contains(head, "StringIds") ? 3 : 1;
}

// ---- reading ---------------------------------------------------------------------------------------------------------
static void make_keys(struct nsys_reader *reader)
{
#define INTERN(name) reader->keys.name = import_string(reader->import, #name, sizeof #name - 1);
  NSYS_KEYS(INTERN)
#undef INTERN
  reader->keys.input_dims = import_word(reader->import, "Input Dims");
}

static void say_notes(struct nsys_reader *reader)
{
  struct import *import = reader->import;
  if (reader->strings.missing > 0)
    import_note(import, "%llu strings that events refer to are missing: they are named \"[string N missing]\"",
                (unsigned long long)reader->strings.missing);
  if (reader->unusable_correlations > 0)
    import_note(import, "%llu correlation ids exceed 32 bits: their events are not joined",
                (unsigned long long)reader->unusable_correlations);
  if (reader->unowned_executions > 0)
    import_note(import, "%llu executions name no process, and not exactly one calls with their correlation id",
                (unsigned long long)reader->unowned_executions);
  if (!reader->epoch_is_unix)
    import_note(import, "the file does not record when it was made: times count from its own zero");
}

static enum status read_parts(struct nsys_reader *reader, struct error *err)
{
  struct import *import = reader->import;
  if (!is_export(&reader->database))
    return refuse(&reader->database, err);
  make_keys(reader);
  XSP_TRY(nsys_strings_open(&reader->strings, import, &reader->database, err));
  XSP_TRY(nsys_read_facts(reader, err));
  struct store_run run = {.epoch_is_unix = reader->epoch_is_unix, .own_pct = NAN};
  import_run(import, &run);
  XSP_TRY(nsys_read_ranges(reader, err));
  XSP_TRY(nsys_read_stacks(reader, err));
  XSP_TRY(nsys_read_calls(reader, err));
  XSP_TRY(nsys_read_device(reader, err));
  XSP_TRY(nsys_read_names(reader, err));
  XSP_TRY(nsys_count_others(reader, err));
  if (reader->has_torch)
    import_framework(import, "pytorch", NULL);
  say_notes(reader);
  return STATUS_OK;
}

static enum status nsys_read(struct import *import, struct error *err)
{
  const char *path = NULL;
  XSP_TRY(input_as_file(import->input, &path, err));
  struct nsys_reader reader = {.import = import, .next_span_id = 1};
  XSP_TRY(import_database_open(&reader.database, path, import->input->path, "nsys export --type sqlite", import->arena,
                               err));
  reader.database.cancel = import->options->cancel;
  input_forget_file(import->input);
  enum status status = read_parts(&reader, err);
  struct nsys_map *maps[] = {&reader.threads,      &reader.stream_tracks, &reader.wait_tracks, &reader.processes,
                             &reader.thread_names, &reader.domains,       &reader.categories,  &reader.process_names,
                             &reader.stacks,       &reader.balances,      &reader.callers};
  for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++)
    nsys_map_done(maps[i]);
  nsys_strings_close(&reader.strings);
  import_database_close(&reader.database);
  return status;
}

const struct importer importer_nsys = {
    .name = "nsys",
    .summary = "Nsight Systems, exported by nsys export --type sqlite",
    .recognize = nsys_recognize,
    .read = nsys_read,
};
