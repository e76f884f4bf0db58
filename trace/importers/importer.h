// SPDX-License-Identifier: Apache-2.0
// What an importer is, and the sink that it pours into. One importer = one file = one static descriptor, listed in
// importers[] (importers.c). Inside this room only.
//
// An importer reads `import->input` from its beginning to its end and calls import_run, import_track, import_span and
// import_tag_…; it never touches the store, so that a second thread can write while it parses. Strings are interned here
// (ids of this import, not the store's). Spans keep the order in which they are handed over: "file order" in the rules.
#ifndef XSP_IMPORTERS_IMPORTER_H
#define XSP_IMPORTERS_IMPORTER_H

#include "base/slice.h"
#include "importers/import.h"
#include "importers/input.h"

#include <xsp/call_path.h>

struct import;

struct importer {
  const char *name;    // "kineto": the value of --format
  const char *summary; // "PyTorch profiler (Kineto) Chrome JSON"
  // How well the beginning of a file (decompressed, at most INPUT_HEAD_BYTES; `is_all`: the file is no longer) fits:
  // 0 not at all, 1 possible (a generic format), 2 likely, 3 certain, 4 xsp wrote it. The highest wins, ties by order of the table.
  int (*recognize)(struct slice head, bool is_all);
  enum status (*read)(struct import *import, struct error *err);
  // The format that files of this one describe: they have no times and make no run. They are given together with what they
  // describe, in the same order, and its importer reads them (description.h). NULL: they are traces.
  const char *describes;
};

extern const struct importer *const importers[]; // ends with NULL

struct import_description { // a file of the same call that describes this one
  const char *path;
  uint64_t events, kept; // for the account, by the importer: what it has, and what of it was found in the trace
};

struct import {
  struct input *input; // decompressed bytes
  const struct import_options *options;
  const struct import_given *given; // of this file
  const struct importer *importer;
  struct import_description *description; // NULL: nothing describes the file
  struct arena *arena;                    // lives until the import of this file ends
  struct sink *sink;                      // private to sink.c
};

// ---- runs
// Begins a run and returns its id; tracks, spans, tags and the like that follow belong to it. levels may be empty: then
// those are stored that the run's spans have.
// `run_id` and `experiment_id` of *run are ignored (the file's own experiment), unless the importer made experiments
// itself by import_experiment. Everything a run needs may be corrected later by import_run_set.
#define IMPORT_EXPERIMENT_LATER INT64_MAX // as experiment_id: import_run_set will say, at the file's end at the latest
int64_t import_run(struct import *import, const struct store_run *run);
void import_use_run(struct import *import, int64_t run_id); // goes on with one of this file's runs
void import_run_set(struct import *import, const struct store_run *run);
// Adds `offset_ns` to all times of the run once the file is read: for sources that say only at their end what their times
// count from. The last call counts. The importer knows that no time overflows.
void import_run_shift(struct import *import, int64_t offset_ns);
// For sources that carry whole experiments (OTLP). Others never call it: the driver makes the experiments of the call from
// import_framework, import_system… of its files, one for each system, named after its first file.
int64_t import_experiment(struct import *import, const struct store_experiment *experiment,
                          const struct store_system_value *system, size_t system_count);
// What such a source says of an experiment's model (table `workload`); the first file to say something is believed.
void import_experiment_model(struct import *import, int64_t experiment_id, const struct store_system_value *workload,
                             size_t count);
// For sources that were exported from here: xsp's own share, and what table `note` says of a run (run_id 0: of the file).
void import_run_own_pct(struct import *import, double own_pct);
void import_run_resolution(struct import *import, int64_t resolution_ns); // STORE_NOTE_RESOLUTION
void import_run_note(struct import *import, int64_t run_id, const char *key, const char *value);
// Facts for the driver's experiments. The first to say something about a key is believed; texts are copied. Files of
// different GPUs or processors (`gpu`, `cpu_model`) are different experiments.
void import_framework(struct import *import, const char *name, const char *version); // either may be NULL
void import_system_text(struct import *import, const char *key, const char *text);
void import_system_number(struct import *import, const char *key, double number);
void import_version(struct import *import, const char *format_version); // for the report
void import_note(struct import *import, const char *format, ...) __attribute__((format(printf, 2, 3))); // a sentence

// ---- spans
// Interned text of this import; 0: empty.
uint32_t import_string(struct import *import, const char *text, size_t length);
static inline uint32_t import_slice(struct import *import, struct slice text)
{
  return import_string(import, text.data, text.length);
}
static inline uint32_t import_word(struct import *import, const char *text)
{
  return import_string(import, text, strlen(text));
}
// How many bytes of different texts one file may ask for, here or in an importer's own tables: a quarter of --limit-bytes, at
// least 1 GiB; and what is said where they are more.
uint64_t import_text_bytes_most(const struct import *import);
enum status import_too_many_texts(const struct import *import, struct error *err);
// Returns the text of an id of this import; "" for 0. Valid until the import ends.
const char *import_text(const struct import *import, uint32_t string, size_t *ret_length);
#define IMPORT_NO_PLACE                                                                                                \
  {                                                                                                                    \
    .process_id = STORE_NONE, .thread_id = STORE_NONE, .device_id = STORE_NONE, .stream_id = STORE_NONE                \
  } // of a struct store_track
// A new track; `run_id` and `track_id` of *track are filled in: numbers from 1 in each run.
enum status import_track(struct import *import, const struct store_track *track, uint32_t *ret_track_id,
                         struct error *err) MUST_CHECK;
// One whose source numbers its tracks: track_id is *track's own, >= 1 and new in the run. For all tracks of a run or none.
enum status import_numbered_track(struct import *import, const struct store_track *track, struct error *err) MUST_CHECK;
void import_track_name(struct import *import, uint32_t track_id, const char *name); // known later only
void import_track_process(struct import *import, uint32_t track_id, const char *host, int64_t process_id); // the same
void import_track_rank(struct import *import, uint32_t track_id, const struct store_rank *rank);           // the same
// span_id >= 1, unique in the run, chosen by the importer (count up from 1 where the source has no ids of its own).
// name, category, tracer are ids of import_string; trace_id of import_trace. tracer 0: the importer's name.
#define IMPORT_NO_TRACER UINT32_MAX // really none
enum status import_span(struct import *import, const struct store_span *span, struct error *err) MUST_CHECK;
enum status import_trace(struct import *import, const char *text, uint32_t *ret_trace_id, struct error *err) MUST_CHECK;
// Tags may come before or after their span. key and text are ids of import_string. Failures show in the next import_span.
void import_tag(struct import *import, const struct store_tag *tag);
void import_tag_int(struct import *import, int64_t span_id, uint32_t key, int64_t value);
void import_tag_double(struct import *import, int64_t span_id, uint32_t key, double value);
void import_tag_text(struct import *import, int64_t span_id, uint32_t key, uint32_t text);
// As import_tag_text of import_string, for values of which a file may have as many as events (shapes, grids): looked up a
// few dozen at a time, so that the waits for memory overlap.
void import_tag_bytes(struct import *import, int64_t span_id, uint32_t key, const char *text, size_t length);
enum status import_log(struct import *import, int64_t span_id, int64_t time_ns, const char *message, size_t length,
                       struct error *err) MUST_CHECK;

// ---- call paths
// The number of a path in this file: the frame `name`, of the library or executable `module` (ids of import_string; 0: not
// known), called from `caller` (0: it is the outermost). Equal arguments give the equal number. A name other than a
// framework's may be "file.py(12): function". 0: the path would have more than XSP_CALL_PATH_FRAMES frames, or the frame has neither.
uint32_t import_path(struct import *import, uint32_t caller, enum xsp_frame_kind kind, uint32_t name, uint32_t module);
// The path of a span of the current run, at any time before the file's end, where ids of spans count up from 1 in the order
// of import_span.
void import_span_path(struct import *import, int64_t span_id, uint32_t path);
// The same for sources that know paths before their first span: for context_id of spans. `caller`: of import_context, too.
uint32_t import_context(struct import *import, uint32_t caller, const struct store_frame *frame);

// ---- samples
// What a thread of the current run did at one time; `path` is a number of import_path, 0: not known. Counts as an event that is
// kept. Stored at the file's end: 40 bytes each until then.
struct import_sample {
  int64_t time_ns, duration_ns; // not negative: the CPU time that it stands for, or all of a wait
  uint32_t track_id, path;
  uint8_t kind; // enum sample_kind
};
void import_sample(struct import *import, const struct import_sample *sample);

// ---- accounts: events == kept + skipped. import_span counts as kept and as an event by itself.
void import_skip(struct import *import, const char *reason); // one event; `reason` is static text
void import_skip_many(struct import *import, const char *reason, uint64_t count);
void import_joined(struct import *import); // one event that became part of a span with another event

// ---- opening (description.c)
// Opens a file of the call within its limits.
enum status import_open_input(const char *path, const struct import_options *options, struct input *ret_input,
                              struct error *err) MUST_CHECK;

// ---- recognizing
// Without a byte order mark and white space before the JSON.
static inline struct slice import_json_head(struct slice head)
{
  if (slice_starts_with(head, "\xef\xbb\xbf"))
    head = slice_after(head, 3);
  while (head.length > 0 && memchr(" \t\r\n", head.data[0], 4) != NULL)
    head = slice_after(head, 1);
  return head;
}

// ---- failing
// STATUS_INPUT: "cannot import: FILE, byte N: WHY; try: …". `offset` counts decompressed bytes.
__attribute__((format(printf, 4, 5))) enum status import_broken(const struct import *import, struct error *err,
                                                                uint64_t offset, const char *format, ...);

// ---- foreign.c: files that no importer takes but that people try
struct foreign_format {
  const char *what;   // "it is an ELF program or library"
  const char *advice; // what to do instead; NULL: none in particular
};
// By the beginning of the file, else by the end of its name. NULL: not known either. Pure.
const struct foreign_format *foreign_recognise(const char *path, struct slice head, bool is_all);

// The importers, in the order of help and of equal claims: what is more particular comes first.
#define IMPORTERS(X)                                                                                                   \
  X(kineto)                                                                                                            \
  X(onnxruntime)                                                                                                       \
  X(nsys)                                                                                                              \
  X(otlp)                                                                                                              \
  X(otlp_proto)                                                                                                        \
  X(otlp_journal)                                                                                                      \
  X(loadgen)                                                                                                           \
  X(rocprof)                                                                                                           \
  X(rocpd)                                                                                                             \
  X(perfetto)                                                                                                          \
  X(pprof)                                                                                                             \
  X(etdump)                                                                                                            \
  X(iree)                                                                                                              \
  X(tvm)                                                                                                               \
  X(cntk)                                                                                                              \
  X(proton)                                                                                                            \
  X(caffe)                                                                                                             \
  X(nvprof)                                                                                                            \
  X(onednn)                                                                                                            \
  X(tf_timeline)                                                                                                       \
  X(tf_metadata)                                                                                                       \
  X(tensorrt)                                                                                                          \
  X(tensorrt_layers)                                                                                                   \
  X(ncu)                                                                                                               \
  X(xplane)                                                                                                            \
  X(perf)                                                                                                              \
  X(horovod)                                                                                                           \
  X(chakra)                                                                                                            \
  X(chrome)

#define DECLARE(name) extern const struct importer importer_##name;
IMPORTERS(DECLARE)
#undef DECLARE

#endif
