// SPDX-License-Identifier: Apache-2.0
// oneDNN's verbose log, also among a program's own output: primitives as kernels, their creation and partitions of its graph
// API as library spans. Forms of MKL-DNN 0.18 to oneDNN 3.13. See docs/importers.md.
//
//      onednn_verbose[,v1][,TIMESTAMP][,primitive|,graph],OPERATION,field,field,…,MILLISECONDS
#include "importers/text_file.h"

#include <stdio.h>

#define FIELDS_MOST 16
#define MILLISECONDS 3 // as a power of ten of µs

// What stands where after the operation: of a primitive since DNNL 1.0; before, without engine and attributes. The last field
// is the time.
static const char *const primitive_fields[] = {
    "engine", "primitive", "implementation", "prop_kind", "memory_descriptors", "attributes", "auxiliary", "problem"};
static const char *const old_fields[] = {"primitive",          "implementation", "prop_kind",
                                         "memory_descriptors", "auxiliary",      "problem"};
static const char *const graph_fields[] = {"engine",      "partition",      "partition_kind",
                                           "operators",   "data_formats",   "logical_tensors",
                                           "fpmath_mode", "implementation", "backend"};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

struct form {
  const char *const *keys;
  size_t count;
  size_t name, kind; // of which fields the name is made: "KIND NAME"
};
static const struct form primitive_form = {primitive_fields, COUNT(primitive_fields), 2, 1};
static const struct form old_form = {old_fields, COUNT(old_fields), 1, 0};
static const struct form graph_form = {graph_fields, COUNT(graph_fields), 3, 2};

enum timing { TIMING_UNKNOWN, TIMING_STAMPED, TIMING_PLACED };
struct reading {
  struct import *import;
  enum timing timing;
  int64_t last_span_id;
  int64_t placed_ns;  // where the next span without a timestamp begins
  uint32_t tracks[2]; // of executions, of creations; 0: not made yet
};
struct line {         // one of oneDNN's
  struct slice stamp; // empty: none
  bool is_graph;
  struct slice operation;
  struct slice fields[FIELDS_MOST];
  size_t count;
};

// ---- lines -----------------------------------------------------------------------------------------------------------
// What comes after the marker, wherever in the line it stands: a program's own output may end without a line end.
static bool after_marker(struct slice text, struct slice *ret_rest)
{
  static const char *const markers[] = {"onednn_verbose,", "dnnl_verbose,", "mkldnn_verbose,"};
  for (size_t i = 0; text.length > 0 && i < COUNT(markers); i++) {
    const char *at = memmem(text.data, text.length, markers[i], strlen(markers[i]));
    if (at == NULL)
      continue;
    *ret_rest = slice_after(text, (size_t)(at - text.data) + strlen(markers[i]));
    return true;
  }
  return false;
}

static int recognize(struct slice head, bool is_all)
{
  struct slice rest;
  if (!after_marker(head, &rest))
    return 0;
  return slice_starts_with(head, "onednn_verbose,") || slice_starts_with(head, "dnnl_verbose,") ? 3 : 2;
}

static bool is_version(struct slice field)
{
  int64_t number;
  return field.length > 1 && field.data[0] == 'v' && slice_int64(slice_after(field, 1), &number);
}

static struct line split(struct slice rest)
{
  struct line line = {0};
  struct slice field;
  bool has_field = slice_cut(&rest, ',', &field);
  if (has_field && is_version(field))
    has_field = slice_cut(&rest, ',', &field);
  if (has_field && field.length > 0 && field.data[0] >= '0' && field.data[0] <= '9') {
    line.stamp = field;
    has_field = slice_cut(&rest, ',', &field);
  }
  line.is_graph = has_field && slice_is(field, "graph");
  if (line.is_graph || (has_field && slice_is(field, "primitive")))
    has_field = slice_cut(&rest, ',', &field);
  line.operation = has_field ? field : slice_of("");
  while (line.count < FIELDS_MOST && slice_cut(&rest, ',', &field))
    line.fields[line.count++] = field;
  return line;
}

// ---- facts about the machine -----------------------------------------------------------------------------------------
// "info,oneDNN v3.13.3 (commit …)", "info,cpu,runtime:OpenMP,nthr:2", "info,cpu,isa:Intel AVX2"
static void read_info(struct reading *reading, const struct line *line)
{
  char text[160];
  for (size_t i = 0; i < line->count; i++) {
    struct slice field = line->fields[i];
    snprintf(text, sizeof text, "%.*s", field.length < sizeof text ? (int)field.length : (int)sizeof text - 1,
             field.data);
    char *version = strstr(text, "DNN v"), *end;
    int64_t threads;
    if (i == 0 && version != NULL) {
      version += strlen("DNN v");
      if ((end = strchr(version, ' ')) != NULL)
        *end = 0;
      import_version(reading->import, version);
      import_system_text(reading->import, "onednn_version", version);
    } else if (text_begins_with(text, "isa:")) {
      import_system_text(reading->import, "onednn_isa", text + strlen("isa:"));
    } else if (slice_starts_with(field, "nthr:") && slice_int64(slice_after(field, strlen("nthr:")), &threads)) {
      import_system_number(reading->import, "onednn_threads", (double)threads);
    }
  }
}

// ---- spans -----------------------------------------------------------------------------------------------------------
// The log names no thread.
static enum status find_track(struct reading *reading, bool is_creation, uint32_t *ret_track_id, struct error *err)
{
  struct store_track track = IMPORT_NO_PLACE;
  track.name = is_creation ? "oneDNN, creation" : "oneDNN";
  if (reading->tracks[is_creation] == 0)
    XSP_TRY(import_track(reading->import, &track, &reading->tracks[is_creation], err));
  *ret_track_id = reading->tracks[is_creation];
  return STATUS_OK;
}

static enum status take_times(struct reading *reading, const struct line *line, struct store_span *span,
                              bool *ret_is_ok, struct error *err)
{
  bool is_stamped = line->stamp.length > 0;
  if (reading->timing == TIMING_UNKNOWN)
    reading->timing = is_stamped ? TIMING_STAMPED : TIMING_PLACED;
  *ret_is_ok = is_stamped == (reading->timing == TIMING_STAMPED);
  if (!*ret_is_ok) {
    import_skip(reading->import, is_stamped ? "with a timestamp, unlike others" : "without a timestamp, unlike others");
    return STATUS_OK;
  }
  struct import_decimal start = {is_stamped ? line->stamp : slice_of("0"), MILLISECONDS};
  struct import_decimal duration = {line->fields[line->count - 1], MILLISECONDS};
  XSP_TRY(import_decimal_times(reading->import, start, duration, span, ret_is_ok, err));
  if (!*ret_is_ok || is_stamped)
    return STATUS_OK;
  span->flags |= STORE_SPAN_PLACED;
  span->start_ns = reading->placed_ns;
  if (__builtin_add_overflow(reading->placed_ns, span->duration_ns, &reading->placed_ns))
    return import_broken(reading->import, err, input_offset(reading->import->input, reading->import->input->at),
                         "the times up to here are beyond 64 bits of nanoseconds");
  return STATUS_OK;
}

static uint32_t make_name(struct reading *reading, const struct line *line, const struct form *form, bool is_creation)
{
  struct slice kind = line->fields[form->kind], name = line->fields[form->name];
  struct buf text SCOPED(buf_done) = {0};
  if (is_creation)
    buf_text(&text, line->is_graph ? "compile " : "create ");
  buf_put(&text, kind.data, kind.length);
  if (!is_creation && name.length > 0) {
    buf_text(&text, " ");
    buf_put(&text, name.data, name.length);
  }
  return import_string(reading->import, text.data, text.length);
}

static enum status read_operation(struct reading *reading, const struct line *line, const struct form *form,
                                  bool is_creation, struct error *err)
{
  struct import *import = reading->import;
  bool is_kernel = !is_creation && !line->is_graph, is_ok;
  struct store_span span = {.level = is_kernel ? XSP_LEVEL_KERNEL : XSP_LEVEL_LIBRARY, .kind = XSP_KIND_SYNC};
  XSP_TRY(take_times(reading, line, &span, &is_ok, err));
  if (!is_ok)
    return STATUS_OK;
  span.span_id = ++reading->last_span_id;
  span.category = import_word(import, is_kernel ? "kernel" : is_creation ? "create" : "graph");
  span.name = make_name(reading, line, form, is_creation);
  XSP_TRY(find_track(reading, is_creation, &span.track_id, err));
  for (size_t i = 0; i < form->count; i++)
    if (line->fields[i].length > 0 && !slice_is(line->fields[i], "undef"))
      import_tag_bytes(import, span.span_id, import_word(import, form->keys[i]), line->fields[i].data,
                       line->fields[i].length);
  struct slice cache = line->operation, operation;
  if (slice_cut(&cache, ':', &operation) && cache.length > 0)
    import_tag_text(import, span.span_id, import_word(import, "cache"), import_slice(import, cache));
  return import_span(import, &span, err);
}

static enum status read_line(void *context, struct buf *text, struct error *err)
{
  struct reading *reading = context;
  struct slice rest;
  if (!after_marker((struct slice){text->data, text->length}, &rest)) {
    import_skip(reading->import, "not a line of oneDNN");
    return STATUS_OK;
  }
  struct line line = split(rest);
  bool is_creation = slice_starts_with(line.operation, "create") || slice_is(line.operation, "compile");
  const struct form *form = line.is_graph                      ? &graph_form
                            : line.count == old_form.count + 1 ? &old_form
                                                               : &primitive_form;
  if (slice_is(line.operation, "info")) {
    read_info(reading, &line);
    import_skip(reading->import, "about the machine or the log");
  } else if ((is_creation || slice_starts_with(line.operation, "exec")) && line.count == form->count + 1) {
    return read_operation(reading, &line, form, is_creation, err);
  } else {
    import_skip(reading->import, "another message, or a line that is not whole");
  }
  return STATUS_OK;
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.import = import};
  struct store_run run = {.run_id = import_run(import, &(struct store_run){0})};
  XSP_TRY(import_each_line(import, read_line, &reading, err));
  run.epoch_is_unix = reading.timing == TIMING_STAMPED;
  import_run_set(import, &run);
  if (reading.timing == TIMING_PLACED)
    import_note(import, "the log has durations only: primitives are one after the other; record it with "
                        "ONEDNN_VERBOSE_TIMESTAMP=1");
  if (reading.timing == TIMING_STAMPED)
    import_note(import,
                "oneDNN prints times in steps of 0.244 us, and names no threads: all primitives are on one track");
  return STATUS_OK;
}

const struct importer importer_onednn = {
    .name = "onednn",
    .summary = "oneDNN's verbose log (ONEDNN_VERBOSE), also within a program's output",
    .recognize = recognize,
    .read = read_file,
};
