// SPDX-License-Identifier: Apache-2.0
// Shared by the fuzz targets of importers: a file in memory, and a sink that stores nothing but checks its input.
// Included by exactly one .c file of a program: it replaces the importers' own sink.
#ifndef XSP_FUZZ_IMPORT_FUZZ_H
#define XSP_FUZZ_IMPORT_FUZZ_H

#include "base/interner.h"
#include "importers/importer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FUZZ_RUNS 64

struct sink {
  struct interner texts;                       // id of import_string - 1
  int64_t run_count, run_id, experiment_count; // run_id: the current one
  uint32_t tracks[FUZZ_RUNS], traces[FUZZ_RUNS];
  bool has_numbered_tracks;
  uint64_t kept, skipped;
  uint32_t path_count, context_count;
};

// Errors of the importer, whatever the file holds.
static void fuzz_must(bool is_so, const char *what)
{
  if (is_so)
    return;
  fprintf(stderr, "an importer broke a rule: %s\n", what);
  abort();
}

static size_t fuzz_run(const struct import *import)
{
  fuzz_must(import->sink->run_id != 0, "no run has begun");
  return (size_t)(import->sink->run_id - 1) % FUZZ_RUNS;
}

static void fuzz_text(const struct import *import, uint32_t id)
{
  fuzz_must(id <= interner_count(&import->sink->texts), "no such text");
}

int64_t import_run(struct import *import, const struct store_run *run)
{
  bool is_later = run->experiment_id == IMPORT_EXPERIMENT_LATER;
  fuzz_must(is_later || (run->experiment_id >= 0 && run->experiment_id <= import->sink->experiment_count),
            "no such experiment");
  return import->sink->run_id = ++import->sink->run_count;
}

void import_use_run(struct import *import, int64_t run_id)
{
  fuzz_must(run_id >= 1 && run_id <= import->sink->run_count, "no such run");
  import->sink->run_id = run_id;
}

void import_run_set(struct import *import, const struct store_run *run)
{
  fuzz_must(run->experiment_id >= 0 && run->experiment_id <= import->sink->experiment_count, "no such experiment");
  fuzz_run(import);
}

void import_run_resolution(struct import *import, int64_t resolution_ns)
{
  (void)import, (void)resolution_ns;
}

void import_run_shift(struct import *import, int64_t offset_ns)
{
  (void)offset_ns;
  fuzz_run(import);
}

void import_run_own_pct(struct import *import, double own_pct)
{
  (void)own_pct;
  fuzz_run(import);
}

void import_run_note(struct import *import, int64_t run_id, const char *key, const char *value)
{
  fuzz_must(run_id >= 0 && run_id <= import->sink->run_count, "no such run");
  fuzz_must(key != NULL && value != NULL, "a note without a key or a value");
}

int64_t import_experiment(struct import *import, const struct store_experiment *experiment,
                          const struct store_system_value *system, size_t system_count)
{
  (void)experiment;
  for (size_t i = 0; i < system_count; i++)
    fuzz_must(system[i].key != NULL && (system[i].is_number || system[i].text != NULL),
              "a system fact without a value");
  return ++import->sink->experiment_count;
}

void import_experiment_model(struct import *import, int64_t experiment_id, const struct store_system_value *workload,
                             size_t count)
{
  fuzz_must(experiment_id > 0 && experiment_id <= import->sink->experiment_count, "an experiment that is not there");
  for (size_t i = 0; i < count; i++)
    fuzz_must(workload[i].key != NULL && (workload[i].is_number || workload[i].text != NULL),
              "a model fact without a value");
}

void import_framework(struct import *import, const char *name, const char *version)
{
  (void)import;
  (void)name;
  (void)version;
}

void import_system_text(struct import *import, const char *key, const char *text)
{
  (void)import;
  (void)text;
  fuzz_must(key != NULL && strlen(key) > 0, "a system fact without a key");
}

void import_system_number(struct import *import, const char *key, double number)
{
  (void)number;
  import_system_text(import, key, NULL);
}

void import_version(struct import *import, const char *format_version)
{
  (void)import;
  fuzz_must(format_version != NULL && strlen(format_version) < 4096, "no version");
}

void import_note(struct import *import, const char *format, ...)
{
  char text[1024];
  va_list values;
  (void)import;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
}

uint32_t import_string(struct import *import, const char *text, size_t length)
{
  return length == 0 ? 0 : interner_at(&import->sink->texts, text, length) + 1;
}

uint64_t import_text_bytes_most(const struct import *import)
{
  (void)import;
  return (uint64_t)1 << 30;
}

enum status import_too_many_texts(const struct import *import, struct error *err)
{
  (void)import;
  return error_set(err, STATUS_INPUT, "cannot import", "fuzz", NULL, "too many texts");
}

const char *import_text(const struct import *import, uint32_t string, size_t *ret_length)
{
  fuzz_text(import, string);
  struct slice text = string == 0 ? slice_of("") : interner_text(&import->sink->texts, string - 1);
  if (ret_length != NULL)
    *ret_length = text.length;
  return text.data;
}

uint32_t import_path(struct import *import, uint32_t caller, enum xsp_frame_kind kind, uint32_t name, uint32_t module)
{
  fuzz_must(caller <= import->sink->path_count && kind < XSP_FRAME_KINDS, "a path of no caller or kind");
  fuzz_text(import, name);
  fuzz_text(import, module);
  return name == 0 && module == 0 ? 0 : ++import->sink->path_count;
}

void import_span_path(struct import *import, int64_t span_id, uint32_t path)
{
  fuzz_must(fuzz_run(import) < FUZZ_RUNS && span_id >= 1, "a path of no span");
  fuzz_must(path <= import->sink->path_count, "no such path");
}

uint32_t import_context(struct import *import, uint32_t caller, const struct store_frame *frame)
{
  fuzz_must(caller <= import->sink->context_count && frame->kind < XSP_FRAME_KINDS, "a path of no caller or kind");
  fuzz_must(import->sink->kept == 0, "a path after the first span");
  return ++import->sink->context_count;
}

void import_sample(struct import *import, const struct import_sample *sample)
{
  fuzz_must(sample->duration_ns >= 0, "a sample of negative duration");
  fuzz_must(sample->path <= import->sink->path_count, "no such path");
  fuzz_must(sample->track_id >= 1 && sample->track_id <= import->sink->tracks[fuzz_run(import)],
            "a sample on no track");
  import->sink->kept++;
}

enum status import_track(struct import *import, const struct store_track *track, uint32_t *ret_track_id,
                         struct error *err)
{
  (void)err;
  (void)(track->name != NULL && strlen(track->name));
  *ret_track_id = ++import->sink->tracks[fuzz_run(import)];
  return STATUS_OK;
}

enum status import_numbered_track(struct import *import, const struct store_track *track, struct error *err)
{
  (void)err;
  fuzz_run(import);
  fuzz_must(track->track_id >= 1, "a track's id below 1");
  import->sink->has_numbered_tracks = true;
  return STATUS_OK;
}

void import_track_name(struct import *import, uint32_t track_id, const char *name)
{
  fuzz_must(track_id >= 1 && track_id <= import->sink->tracks[fuzz_run(import)] && name != NULL,
            "no such track to name");
}

void import_track_rank(struct import *import, uint32_t track_id, const struct store_rank *rank)
{
  (void)rank;
  fuzz_must(track_id >= 1 && track_id <= import->sink->tracks[fuzz_run(import)], "a rank of no track");
}

void import_track_process(struct import *import, uint32_t track_id, const char *host, int64_t process_id)
{
  (void)host;
  (void)process_id;
  fuzz_must(track_id >= 1 && track_id <= import->sink->tracks[fuzz_run(import)], "no such track to place");
}

enum status import_span(struct import *import, const struct store_span *span, struct error *err)
{
  (void)err;
  size_t run = fuzz_run(import);
  int64_t end_ns = 0;
  fuzz_must(span->span_id >= 1, "a span's id below 1");
  fuzz_must(span->duration_ns >= 0, "a span of negative duration");
  fuzz_must(!__builtin_add_overflow(span->start_ns, span->duration_ns, &end_ns), "a span that ends beyond 64 bits");
  fuzz_must(span->level < XSP_LEVEL_COUNT && span->kind <= XSP_KIND_EXECUTION, "no such level or kind");
  fuzz_must(import->sink->has_numbered_tracks || span->track_id <= import->sink->tracks[run],
            "a span on no such track");
  fuzz_must(span->trace_id <= import->sink->traces[run], "a span of no such trace");
  fuzz_must(span->context_id <= import->sink->context_count, "a span of no such path");
  fuzz_text(import, span->name);
  fuzz_text(import, span->category);
  fuzz_text(import, span->tracer == IMPORT_NO_TRACER ? 0 : span->tracer);
  import->sink->kept++;
  return STATUS_OK;
}

enum status import_trace(struct import *import, const char *text, uint32_t *ret_trace_id, struct error *err)
{
  (void)err;
  fuzz_must(text != NULL, "a trace without a text");
  *ret_trace_id = ++import->sink->traces[fuzz_run(import)];
  return STATUS_OK;
}

void import_tag_int(struct import *import, int64_t span_id, uint32_t key, int64_t value)
{
  (void)value;
  fuzz_run(import);
  fuzz_must(span_id >= 1 && key != 0, "a tag without a span or a key");
  fuzz_text(import, key);
}

void import_tag_double(struct import *import, int64_t span_id, uint32_t key, double value)
{
#ifndef FUZZ_ANY_NUMBER // a format that has infinities and NaN of its own
  fuzz_must(value - value == 0, "a tag that is no finite number");
#else
  (void)value;
#endif
  import_tag_int(import, span_id, key, 0);
}

void import_tag_text(struct import *import, int64_t span_id, uint32_t key, uint32_t text)
{
  fuzz_text(import, text);
  import_tag_int(import, span_id, key, 0);
}

void import_tag(struct import *import, const struct store_tag *tag)
{
  if (tag->type == STORE_DOUBLE)
    import_tag_double(import, tag->span_id, tag->key, tag->value.real);
  else if (tag->type == STORE_TEXT)
    import_tag_text(import, tag->span_id, tag->key, tag->value.string);
  else
    import_tag_int(import, tag->span_id, tag->key, tag->value.integer);
}

void import_tag_bytes(struct import *import, int64_t span_id, uint32_t key, const char *text, size_t length)
{
  import_tag_text(import, span_id, key, import_string(import, text, length));
}

enum status import_log(struct import *import, int64_t span_id, int64_t time_ns, const char *message, size_t length,
                       struct error *err)
{
  (void)err;
  (void)span_id;
  (void)time_ns;
  fuzz_run(import);
  fuzz_must(message != NULL || length == 0, "a log without a message");
  return STATUS_OK;
}

void import_skip_many(struct import *import, const char *reason, uint64_t count)
{
  fuzz_must(reason != NULL && strlen(reason) > 0, "a skip without a reason");
  import->sink->skipped += count;
}

void import_skip(struct import *import, const char *reason)
{
  import_skip_many(import, reason, 1);
}

void import_joined(struct import *import)
{
  import->sink->kept++;
}

enum status import_broken(const struct import *import, struct error *err, uint64_t offset, const char *format, ...)
{
  char why[sizeof err->why];
  va_list values;
  (void)import;
  (void)offset;
  va_start(values, format);
  vsnprintf(why, sizeof why, format, values);
  va_end(values);
  return error_set(err, STATUS_INPUT, "cannot import", "fuzz", NULL, "%s", why);
}

// Imports the file at `path`, first as its recognizer sees it. `description`: of the file that describes it; NULL: none.
static void fuzz_import_both(const struct importer *importer, const char *model_range, const char *path,
                             const char *description)
{
  const struct import_options options = {.model_range = model_range};
  struct input input = {0};
  struct arena arena = {0};
  struct sink sink = {0};
  struct error err = {0};
  struct import_description described = {.path = description};
  struct import import = {.input = &input,
                          .options = &options,
                          .importer = importer,
                          .description = description != NULL ? &described : NULL,
                          .arena = &arena,
                          .sink = &sink};
  if (input_open(path, 1 << 20, &input, &err) == STATUS_OK) {
    (void)importer->recognize(input_head(&input), input.is_last);
    if (importer->read(&import, &err) != STATUS_OK)
      fuzz_must(err.what[0] != 0 && err.why[0] != 0, "a failure without a reason");
  }
  input_close(&input);
  interner_done(&sink.texts);
  arena_done(&arena);
}

static inline void fuzz_import_path(const struct importer *importer, const char *model_range, const char *path)
{
  fuzz_import_both(importer, model_range, path, NULL);
}

// A file that is only in memory: its descriptor, and the path that opens it again.
static int fuzz_file(const uint8_t *data, size_t size, char path[64])
{
  int file = memfd_create("xsp-fuzz", MFD_CLOEXEC);
  fuzz_must(file >= 0 && write(file, data, size) == (ssize_t)size, "no memory for the file");
  snprintf(path, 64, "/proc/self/fd/%d", file);
  return file;
}

// Imports such a file.
static inline void fuzz_import(const struct importer *importer, const char *model_range, const uint8_t *data,
                               size_t size)
{
  char path[64];
  int file = fuzz_file(data, size, path);
  fuzz_import_path(importer, model_range, path);
  close(file);
}

// A file with a name, for SQLite: it follows the links of /proc, whose targets have none.
static inline void fuzz_name_path(char path[64])
{
  snprintf(path, 64, "/dev/shm/xsp-fuzz-%d", (int)getpid());
}

static inline void fuzz_write(const char *path, const uint8_t *data, size_t size)
{
  FILE *file = fopen(path, "wb");
  fuzz_must(file != NULL && (size == 0 || fwrite(data, 1, size, file) == size) && fclose(file) == 0,
            "no room for the file");
}

// Imports a trace with `data` as its description.
static inline void fuzz_import_described(const struct importer *importer, const char *trace, const uint8_t *data,
                                         size_t size)
{
  char trace_path[64], path[64];
  int file = fuzz_file(data, size, path), trace_file = fuzz_file((const uint8_t *)trace, strlen(trace), trace_path);
  fuzz_import_both(importer, NULL, trace_path, path);
  close(trace_file);
  close(file);
}

#endif
