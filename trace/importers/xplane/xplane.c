// SPDX-License-Identifier: Apache-2.0
// Files of the profiler of XLA, and so of JAX and TensorFlow (NAME.xplane.pb): recognises them and walks through an XSpace,
// its planes, their lines and events, once in each pass. Called by import_files.c. What events mean: events.c.
#include "importers/xplane/xplane.h"

#include "importers/import_wire.h"

// Numbers of fields in xplane.proto.
enum { SPACE_PLANES = 1, SPACE_ERRORS = 2, SPACE_WARNINGS = 3, SPACE_HOSTS = 4 };
enum { PLANE_ID = 1, PLANE_NAME = 2, PLANE_LINES = 3, PLANE_EVENT_NAMES = 4, PLANE_STAT_NAMES = 5, PLANE_STATS = 6 };
enum { LINE_ID = 1, LINE_NAME = 2, LINE_START = 3, LINE_EVENTS = 4, LINE_SHOWN_ID = 10, LINE_SHOWN_NAME = 11 };

// ---- fields ----------------------------------------------------------------------------------------------------------

struct field {
  uint64_t number, value; // value: of a number; of bytes their length, which are next in the file
  bool is_bytes;
};

// The next field of a message up to the offset `end`. False: that was the last.
static enum status next_field(struct xplane *x, uint64_t end, bool *ret_is_field, struct field *ret_field,
                              struct error *err)
{
  struct import *import = x->import;
  uint64_t key = 0;
  XSP_TRY(import_wire_need(import, WIRE_KEY_AND_LENGTH_BYTES, err));
  XSP_TRY(import_wire_check(import, end, err));
  bool is_end = end == WIRE_TO_THE_END ? import->input->at == import->input->end : import_wire_offset(import) == end;
  *ret_is_field = !is_end;
  if (is_end)
    return STATUS_OK;
  XSP_TRY(import_wire_number(import, &key, err));
  *ret_field = (struct field){.number = key >> 3, .is_bytes = (key & 7) == WIRE_BYTES};
  if (ret_field->number == 0)
    return import_broken(import, err, import_wire_offset(import), "a field has no number");
  if (ret_field->is_bytes)
    return import_wire_length(import, end, &ret_field->value, err);
  if ((key & 7) == WIRE_VARINT)
    return import_wire_number(import, &ret_field->value, err);
  return import_wire_skip(import, key, end, err);
}

// A field's bytes, in the window until the next field is read.
static enum status take(struct xplane *x, uint64_t length, struct slice *ret_bytes, struct error *err)
{
  struct input *input = x->import->input;
  XSP_TRY(import_wire_need_all(x->import, length, err));
  *ret_bytes = (struct slice){input->at, (size_t)length};
  input->at += length;
  return STATUS_OK;
}

enum status xplane_broken(const struct xplane *x, const char *problem, struct error *err)
{
  return import_broken(x->import, err, import_wire_offset(x->import), "%s",
                       problem != NULL ? problem : "a field is of another kind than in xplane.proto");
}

// ---- lines -----------------------------------------------------------------------------------------------------------

// Why a line's events are counted only; NULL: they are read. What repeats other lines, grouped by steps, modules or scopes, is no
// line of its own.
static const char *why_left_out(const struct xplane_line *line)
{
  static const char derived[] = "derived line";
  if (line->plane->kind != PLANE_DEVICE)
    return line->plane->kind == PLANE_HOST ? NULL : "of another plane";
  if (!line->plane->is_tpu)
    return slice_starts_with(line->name, "Stream #") ? NULL : derived;
  if (slice_starts_with(line->name, "Sparse Core"))
    return "of a SparseCore";
  return slice_is(line->name, "XLA Ops") || slice_is(line->name, "XLA Modules") ? NULL : derived;
}

static enum status read_line_field(struct xplane *x, struct xplane_line *line, const struct field *field,
                                   uint64_t *events, struct error *err)
{
  struct slice bytes;
  if (!field->is_bytes) {
    if ((field->number == LINE_ID || field->number == LINE_START) && *events > 0)
      return xplane_broken(x, "a line's head follows its events", err);
    if (field->number == LINE_SHOWN_ID && line->plane->kind == PLANE_THREADS) // guest/frameworks/jax/tracer_profile.c
      *map_at(&x->thread_at, map_number((uint64_t)line->id), NULL) = field->value;
    else if (field->number == LINE_ID)
      line->id = (int64_t)field->value;
    else if (field->number == LINE_START)
      line->timestamp_ns = (int64_t)field->value;
    return STATUS_OK;
  }
  if (field->number == LINE_EVENTS) {
    ++*events;
    if (x->pass == PASS_NAMES || why_left_out(line) != NULL)
      return import_wire_pass_over(x->import, field->value, err);
    XSP_TRY(take(x, field->value, &bytes, err));
    return xplane_read_event(x, line, bytes, err);
  }
  if (field->number != LINE_NAME && (field->number != LINE_SHOWN_NAME || line->name.length > 0))
    return import_wire_pass_over(x->import, field->value, err);
  XSP_TRY(take(x, field->value, &bytes, err));
  line->name = xplane_text(x, interner_at(&x->texts, bytes.data, bytes.length));
  return STATUS_OK;
}

// The events that are next, as far as they are whole in the window.
static enum status read_events(struct xplane *x, struct xplane_line *line, uint64_t end, uint64_t *events,
                               struct error *err)
{
  struct input *input = x->import->input;
  uint64_t left = end - import_wire_offset(x->import), length = 0;
  bool is_read = x->pass != PASS_NAMES && why_left_out(line) == NULL;
  const char *stop = left < (uint64_t)(input->end - input->at) ? input->at + left : input->end;
  while (input->at < stop && *input->at == (char)WIRE_KEY(LINE_EVENTS, WIRE_BYTES)) {
    struct wire wire = {input->at + 1, stop, NULL};
    if (!wire_varint(&wire, &length) || length > (uint64_t)(stop - wire.at))
      break;
    input->at = wire.at + length;
    ++*events;
    if (is_read)
      XSP_TRY(xplane_read_event(x, line, (struct slice){wire.at, (size_t)length}, err));
  }
  return STATUS_OK;
}

static enum status read_line(struct xplane *x, uint64_t end, struct error *err)
{
  struct xplane_line line = {.plane = &x->planes.items[x->plane], .compile_until_ns = INT64_MIN};
  struct field field;
  uint64_t events = 0;
  bool is_field = false;
  enum status status = STATUS_OK;
  do {
    if ((status = next_field(x, end, &is_field, &field, err)) == STATUS_OK && is_field &&
        (status = read_line_field(x, &line, &field, &events, err)) == STATUS_OK)
      status = read_events(x, &line, end, &events, err);
  } while (status == STATUS_OK && is_field);
  if (status == STATUS_OK && x->pass == PASS_SPANS && why_left_out(&line) != NULL)
    import_skip_many(x->import, why_left_out(&line), events);
  if (x->pass == PASS_SURVEY)
    xplane_survey_line_end(x);
  if (status == STATUS_OK && x->pass == PASS_SPANS)
    status = xplane_device_line_end(x, &line, err);
  vector_done(&line.open);
  vector_done(&line.started);
  map_done(&line.started_at);
  return status;
}

// ---- planes ----------------------------------------------------------------------------------------------------------

static enum status read_name_field(struct xplane *x, const struct field *field, struct error *err)
{
  struct slice bytes;
  XSP_TRY(take(x, field->value, &bytes, err));
  if (field->number == PLANE_NAME)
    xplane_name_plane(x, bytes);
  else if (field->number == PLANE_EVENT_NAMES)
    return xplane_add_event_name(x, wire_over(bytes.data, bytes.length), err);
  else if (field->number == PLANE_STAT_NAMES)
    return xplane_add_stat_name(x, wire_over(bytes.data, bytes.length), err);
  else if (field->number == PLANE_STATS)
    return xplane_plane_fact(x, wire_over(bytes.data, bytes.length), err);
  return STATUS_OK;
}

// Whether its lines are read in this pass.
static bool has_lines(const struct xplane *x)
{
  enum xplane_plane_kind kind = x->planes.items[x->plane].kind;
  if (x->pass != PASS_SURVEY)
    return (kind == PLANE_THREADS) == (x->pass == PASS_NAMES); // those of other planes are counted
  return kind == PLANE_HOST || kind == PLANE_DEVICE;
}

static enum status read_plane(struct xplane *x, uint64_t end, struct error *err)
{
  struct field field;
  bool is_field = false;
  if (x->pass == PASS_NAMES)
    vector_add(&x->planes)->process_id = STORE_NONE;
  for (;;) {
    XSP_TRY(next_field(x, end, &is_field, &field, err));
    if (!is_field)
      break;
    if (!field.is_bytes)
      continue;
    if (field.number == PLANE_LINES && has_lines(x))
      XSP_TRY(read_line(x, import_wire_offset(x->import) + field.value, err));
    else if (x->pass == PASS_NAMES && field.number != PLANE_LINES && field.number <= PLANE_STATS)
      XSP_TRY(read_name_field(x, &field, err));
    else
      XSP_TRY(import_wire_pass_over(x->import, field.value, err));
  }
  x->plane++;
  return STATUS_OK;
}

// What the profiler says of its own recording, and the machine's name.
static enum status read_remark(struct xplane *x, const struct field *field, struct error *err)
{
  struct slice bytes;
  XSP_TRY(take(x, field->value, &bytes, err));
  uint32_t text = interner_at(&x->texts, bytes.data, bytes.length);
  if (field->number == SPACE_HOSTS && bytes.length == 0)
    return STATUS_OK;
  if (field->number == SPACE_HOSTS) {
    if (x->host_count == 0)
      import_system_text(x->import, "host", xplane_text(x, text).data);
    x->host_count += x->host_count == 0 || text != x->host; // parts of one profile repeat it
    x->host = text;
  } else {
    import_note(x->import, "the profiler reported: %.500s", xplane_text(x, text).data);
  }
  return STATUS_OK;
}

static enum status walk(struct xplane *x, enum xplane_pass pass, struct error *err)
{
  struct field field;
  bool is_field = false;
  x->pass = pass;
  x->plane = 0;
  XSP_TRY(input_rewind(x->import->input, err));
  for (;;) {
    XSP_TRY(next_field(x, WIRE_TO_THE_END, &is_field, &field, err));
    if (!is_field)
      return STATUS_OK;
    if (!field.is_bytes)
      continue;
    if (field.number == SPACE_PLANES)
      XSP_TRY(read_plane(x, import_wire_offset(x->import) + field.value, err));
    else if (pass == PASS_NAMES && field.number <= SPACE_HOSTS)
      XSP_TRY(read_remark(x, &field, err));
    else
      XSP_TRY(import_wire_pass_over(x->import, field.value, err));
  }
}

// ---- the file --------------------------------------------------------------------------------------------------------

// XSpaces that follow each other are one: each ends with the plane that has its start.
static void spread_starts(struct xplane *x)
{
  int64_t start_ns = 0;
  for (size_t i = x->planes.count; i-- > 0;) {
    struct xplane_plane *plane = &x->planes.items[i];
    start_ns = plane->start_ns != 0 ? plane->start_ns : start_ns;
    plane->start_ns = start_ns;
  }
}

static enum status read_passes(struct xplane *x, struct error *err)
{
  XSP_TRY(walk(x, PASS_NAMES, err));
  xplane_names_end(x);
  xplane_modules_end(x);
  spread_starts(x);
  (void)import_run(x->import, &(struct store_run){.epoch_is_unix = x->has_start});
  xplane_events_start(x);
  enum status status = walk(x, PASS_SURVEY, err);
  if (status == STATUS_NO) {
    xplane_survey_restart(x);
    status = walk(x, PASS_SURVEY, err);
  }
  XSP_TRY(status);
  xplane_survey_end(x);
  XSP_TRY(xplane_add_runs(x, err));
  XSP_TRY(walk(x, PASS_SPANS, err));
  xplane_add_turns(x);
  xplane_compilations_end(x);
  return STATUS_OK;
}

static enum status read_file(struct import *import, struct error *err)
{
  struct xplane x = {.import = import};
  enum status status = read_passes(&x, err);
  for (size_t i = 0; i < x.planes.count; i++) {
    xplane_numbers_done(&x.planes.items[i].events);
    xplane_numbers_done(&x.planes.items[i].stats);
  }
  vector_done(&x.string_of);
  vector_done(&x.planes);
  vector_done(&x.event_names);
  vector_done(&x.stat_names);
  vector_done(&x.modules);
  vector_done(&x.module_order);
  vector_done(&x.instructions);
  vector_done(&x.known);
  vector_done(&x.control_names);
  vector_done(&x.runs);
  vector_done(&x.steps);
  vector_done(&x.controls);
  vector_done(&x.ends);
  vector_done(&x.starts);
  vector_done(&x.start_bases);
  vector_done(&x.control_order);
  vector_done(&x.bodies);
  vector_done(&x.functions);
  vector_done(&x.compilations);
  map_done(&x.group_at);
  map_done(&x.module_at);
  map_done(&x.instruction_at);
  map_done(&x.run_at);
  map_done(&x.end_at);
  map_done(&x.body_at);
  map_done(&x.thread_at);
  map_done(&x.track_at);
  map_done(&x.function_at);
  interner_done(&x.texts);
  return status;
}

// A first plane with its number and one of the names that XLA gives. Of a damaged length, the next key tells.
static int recognize(struct slice head, bool is_all)
{
  static const char *const names[] = {"/host:", "/device:", "Task Environment", "#Chip"};
  struct wire wire = wire_over(head.data, head.length);
  struct wire_field plane, field;
  (void)wire_next(&wire, &plane);
  if (!wire_is(&plane, SPACE_PLANES, WIRE_BYTES))
    return 0;
  struct wire inside = wire_over(plane.bytes, plane.bytes == NULL ? 0 : plane.length);
  while (wire_next(&inside, &field) && field.number <= PLANE_NAME)
    if (wire_is(&field, PLANE_NAME, WIRE_BYTES))
      for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (slice_starts_with((struct slice){field.bytes, field.length}, names[i]))
          return 3;
  return 0;
}

const struct importer importer_xplane = {
    .name = "xplane",
    .summary = "profiles of XLA: JAX and TensorFlow (.xplane.pb)",
    .recognize = recognize,
    .read = read_file,
};
