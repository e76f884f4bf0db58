// SPDX-License-Identifier: Apache-2.0
// pprof's profiles, of Go and many others, and those that xsp exported. A sample is a call path with a sum of each type of value:
// CPU time and waits become samples, the time of xsp's spans becomes spans (spans.h). See docs/importers.md.
#include "base/interner.h"
#include "format/level.h"
#include "importers/pprof/profile.h"
#include "importers/pprof/spans.h"

#include <inttypes.h>
#include <stdlib.h>

// ---- recognising -----------------------------------------------------------------------------------------------------
// A type of values: numbers in its fields 1 and 2, nothing else.
static bool is_type(const struct wire_field *message)
{
  struct wire wire = wire_inside(message);
  struct wire_field field;
  bool is_so = message->length > 0;
  while (wire_next(&wire, &field))
    is_so &= field.type == WIRE_VARINT && (field.number == 1 || field.number == 2);
  return is_so && wire.problem == NULL;
}

// Go writes the times before the types, others after them; then samples, mappings, locations, functions or texts, of which the
// last one may be cut.
static int recognize(struct slice head, bool is_all)
{
  struct wire wire = wire_over(head.data, head.length);
  struct wire_field field = {0};
  int types = 0;
  while (wire_next(&wire, &field)) {
    bool is_number = field.type == WIRE_VARINT && field.number >= 7 && field.number <= 14;
    bool is_named = (field.number == 1 || field.number == 11) && field.type == WIRE_BYTES && is_type(&field);
    if (!is_number && !is_named)
      break;
    types += field.number == 1;
  }
  return types > 0 && field.type == WIRE_BYTES && field.number >= 2 && field.number <= 6 ? 3 : 0;
}

// ---- what values are -------------------------------------------------------------------------------------------------
#define RUNS_MOST 1000
enum role { ROLE_NONE, ROLE_SAMPLE, ROLE_SPANS, ROLE_TIME, ROLE_INSTRUCTIONS };
struct value { // of each sample
  enum role role;
  enum sample_kind kind;
  int64_t unit_ns;
};
struct run {
  int64_t run_id, next_ns; // next: where the next sample begins
  uint32_t track_id;       // of samples; 0: none yet
  struct pprof_spans spans;
};
struct reading {
  struct import *import;
  struct pprof_profile profile;
  VECTOR(struct value) values;
  VECTOR(struct run) runs;
  struct interner run_labels; // in the order of `runs`
};

static int64_t unit_ns(struct slice unit)
{
  static const struct {
    const char *name;
    int64_t ns;
  } units[] = {{"nanoseconds", 1},        {"ns", 1},       {"microseconds", 1000},  {"us", 1000},
               {"milliseconds", 1000000}, {"ms", 1000000}, {"seconds", 1000000000}, {"s", 1000000000}};
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (slice_is(unit, units[i].name))
      return units[i].ns;
  return 0;
}

static int text_length(struct slice text)
{
  return (int)(text.length < 64 ? text.length : 64);
}

static enum sample_kind kind_of(struct slice type)
{
  if (slice_is(type, "delay") || slice_is(type, "contentions")) // of Go's profiles of locks
    return SAMPLE_LOCK;
  return slice_is(type, "wait") ? SAMPLE_SLEEP : SAMPLE_CPU;
}

static void read_own_types(struct reading *reading)
{
  static const enum role first[] = {ROLE_SPANS, ROLE_TIME};
  for (size_t i = 0; i < reading->profile.types.count; i++) {
    struct slice type = pprof_text(&reading->profile, reading->profile.types.items[i].type);
    bool is_count = slice_is(type, "samples");
    *vector_add(&reading->values) = (struct value){i < 2      ? first[i]
                                                   : is_count ? ROLE_INSTRUCTIONS
                                                              : ROLE_SAMPLE,
                                                   kind_of(type), 1};
  }
}

// The values of a file of others that are read: CPU time before the file's default, this before the last time in it, this before
// numbers of samples that each stand for a period of time.
static size_t choose_type(const struct pprof_profile *profile, int64_t *ret_unit_ns)
{
  size_t chosen = SIZE_MAX;
  int best = 0;
  *ret_unit_ns = 0;
  for (size_t i = 0; i < profile->types.count; i++) {
    struct slice type = pprof_text(profile, profile->types.items[i].type);
    int64_t ns = unit_ns(pprof_text(profile, profile->types.items[i].unit)), period_ns;
    bool is_default = profile->default_type > 0 && (uint64_t)profile->default_type == profile->types.items[i].type;
    bool is_periodic = ns == 0 && slice_is(type, "samples") && profile->period_count > 0 &&
                       !__builtin_mul_overflow(profile->period_count,
                                               unit_ns(pprof_text(profile, profile->period.unit)), &period_ns) &&
                       period_ns > 0;
    int rank = ns > 0 ? slice_is(type, "cpu") ? 4 : is_default ? 3 : 2 : is_periodic ? 1 : 0;
    if (rank < best || rank == 0)
      continue;
    best = rank;
    chosen = i;
    *ret_unit_ns = ns > 0 ? ns : period_ns;
  }
  return chosen;
}

// What analyses would take for CPU time, and what is left out.
static void note_types(const struct reading *reading, size_t chosen)
{
  const struct pprof_profile *profile = &reading->profile;
  struct buf others SCOPED(buf_done) = {0};
  struct slice unit = pprof_text(profile, profile->types.items[chosen].unit);
  uint64_t counted = unit_ns(unit) > 0 ? profile->types.items[chosen].type : profile->period.type;
  struct slice type = pprof_text(profile, counted);
  if (reading->values.items[chosen].kind == SAMPLE_CPU && !slice_is(type, "cpu"))
    import_note(reading->import,
                "its times are of \"%.*s\", which may have waits in them: its samples count as CPU time",
                text_length(type), type.data);
  for (size_t i = 0; i < profile->types.count && others.length < 200; i++) {
    type = pprof_text(profile, profile->types.items[i].type);
    if (i != chosen && !slice_is(pprof_text(profile, profile->types.items[i].unit), "count")) {
      buf_format(&others, "%s", others.length > 0 ? ", " : "");
      buf_utf8(&others, type.data, (size_t)text_length(type));
    }
  }
  if (others.length > 0)
    import_note(reading->import, "other values of its samples are not read: %s", others.data);
}

static enum status read_types(struct reading *reading, struct error *err)
{
  const struct pprof_profile *profile = &reading->profile;
  int64_t ns;
  if (profile->is_own) {
    read_own_types(reading);
    return STATUS_OK;
  }
  size_t chosen = choose_type(profile, &ns);
  struct slice type = pprof_text(profile, profile->types.count > 0 ? profile->types.items[0].type : 0);
  if (chosen == SIZE_MAX)
    return import_broken(reading->import, err, 0, "it has no time, only %.*s; a profile of CPU time or of locks has",
                         text_length(type), type.data);
  for (size_t i = 0; i < profile->types.count; i++)
    *vector_add(&reading->values) = (struct value){.role = ROLE_NONE};
  type = pprof_text(profile, profile->types.items[chosen].type);
  reading->values.items[chosen] = (struct value){ROLE_SAMPLE, kind_of(type), ns};
  note_types(reading, chosen);
  return STATUS_OK;
}

// ---- samples ---------------------------------------------------------------------------------------------------------
// The run of a sample's label "run", such as "M/L batch 4".
static enum status find_run(struct reading *reading, const struct pprof_sample *sample, struct run **ret_run,
                            struct error *err)
{
  static const char batch[] = " batch ";
  struct slice label = reading->profile.is_own ? pprof_text_of(sample, "run") : slice_of("");
  uint32_t number = interner_at(&reading->run_labels, label.data, label.length);
  if (number == reading->runs.count) {
    struct store_run run = {.epoch_is_unix = reading->profile.time_ns > 0};
    const char *space = label.length > 0 ? memmem(label.data, label.length, batch, strlen(batch)) : NULL;
    size_t levels = space != NULL ? (size_t)(space - label.data) : label.length;
    if (number == RUNS_MOST)
      return pprof_broken(&reading->profile, sample->start, "it has too many runs", err);
    if (!level_set_parse(label.data, levels, &run.levels))
      run.levels = (struct level_set){0};
    if (space != NULL &&
        (!slice_int64(slice_after(label, levels + strlen(batch)), &run.batch_size) || run.batch_size < 0))
      run.batch_size = 0;
    *vector_add(&reading->runs) = (struct run){.run_id = import_run(reading->import, &run),
                                               .next_ns = reading->profile.time_ns > 0 ? reading->profile.time_ns : 0};
  }
  *ret_run = &reading->runs.items[number];
  import_use_run(reading->import, (*ret_run)->run_id);
  return STATUS_OK;
}

// Its call path, from the outermost frame in; *ret_node: of its spans.
static bool find_path(struct reading *reading, const struct pprof_sample *sample, struct run *run, uint32_t *ret_path,
                      uint32_t *ret_node)
{
  const struct pprof_profile *profile = &reading->profile;
  uint32_t path = 0, node = PPROF_AT_THE_TOP;
  for (size_t i = sample->locations.count; i-- > 0;) {
    const uint64_t *place = map_find(&profile->location_of, map_number(sample->locations.items[i]));
    if (place == NULL)
      return false;
    const struct pprof_location *location = &profile->locations.items[*place - 1];
    for (size_t at = location->count; at-- > 0;) {
      const struct pprof_frame *frame = &profile->frames.items[location->first + at];
      uint32_t next = import_path(reading->import, path, frame->kind, frame->name, frame->module);
      if (next == 0) // without a name, or too deep
        continue;
      path = next;
      if (profile->is_own)
        node = pprof_node_at(&run->spans, node, path, frame->function);
    }
  }
  *ret_path = path;
  *ret_node = node;
  return true;
}

static enum status add_sample(struct reading *reading, struct run *run, const struct value *value, int64_t count,
                              uint32_t path, struct error *err)
{
  struct import *import = reading->import;
  struct import_sample sample = {.path = path, .kind = (uint8_t)value->kind};
  struct store_track track = IMPORT_NO_PLACE;
  track.name = "samples";
  if (__builtin_mul_overflow(count, value->unit_ns, &sample.duration_ns) ||
      __builtin_add_overflow(run->next_ns, sample.duration_ns, &run->next_ns))
    return import_broken(import, err, 0, "its times add up to more than 64 bits of nanoseconds");
  if (run->track_id == 0)
    XSP_TRY(import_track(import, &track, &run->track_id, err));
  sample.track_id = run->track_id;
  sample.time_ns = run->next_ns; // samples are one after the other
  import_sample(import, &sample);
  return STATUS_OK;
}

static enum status too_many(const struct reading *reading, struct error *err)
{
  return import_broken(reading->import, err, 0, "its values add up to more than 64 bits");
}

static enum status take_value(struct reading *reading, struct run *run, size_t i, int64_t count, uint32_t path,
                              struct pprof_node *node, struct error *err)
{
  const struct value *value = &reading->values.items[i];
  int64_t *const sums[] = {
      [ROLE_SPANS] = &node->count, [ROLE_TIME] = &node->own_ns, [ROLE_INSTRUCTIONS] = &node->samples};
  if (value->role == ROLE_SAMPLE)
    return add_sample(reading, run, value, count, path, err);
  if (__builtin_add_overflow(*sums[value->role], count, sums[value->role]))
    return too_many(reading, err);
  return STATUS_OK;
}

static enum status take_sample(void *context, const struct pprof_sample *sample, struct error *err)
{
  struct reading *reading = context;
  struct pprof_node none = {0};
  struct run *run = NULL;
  uint32_t path = 0, node = PPROF_AT_THE_TOP;
  XSP_TRY(find_run(reading, sample, &run, err));
  if (!find_path(reading, sample, run, &path, &node))
    return pprof_broken(&reading->profile, sample->start, "a sample is at a location that is not in the file", err);
  bool has_node = node != PPROF_AT_THE_TOP, has_sample = false;
  bool is_known = has_node && pprof_node_is_span(&run->spans.nodes.items[node]);
  size_t taken = 0;
  for (size_t i = 0; i < reading->values.count; i++) {
    int64_t count = (int64_t)sample->values.items[i];
    enum role role = reading->values.items[i].role;
    if (role == ROLE_NONE || count <= 0 || (!has_node && role != ROLE_SAMPLE))
      continue;
    int64_t stands_for = 1;
    if (role == ROLE_SPANS)
      stands_for = pprof_take_labels(reading->import, &run->spans, &run->spans.nodes.items[node], sample);
    if (__builtin_mul_overflow(count, stands_for, &count))
      return too_many(reading, err);
    XSP_TRY(take_value(reading, run, i, count, path, has_node ? &run->spans.nodes.items[node] : &none, err));
    has_sample |= role == ROLE_SAMPLE;
    taken++;
  }
  if (taken == 0)
    import_skip(reading->import, "without a value above 0");
  else if (is_known && !has_sample)
    import_joined(reading->import);
  return STATUS_OK;
}

// ---- the file's end --------------------------------------------------------------------------------------------------
// The program as a span around all that its samples stand for.
static enum status put_program(struct reading *reading, const struct run *run, struct error *err)
{
  const struct pprof_profile *profile = &reading->profile;
  struct slice path = pprof_text(profile, profile->main_module);
  const char *slash = path.length > 0 ? memrchr(path.data, '/', path.length) : NULL;
  struct slice name = slash != NULL ? slice_after(path, (size_t)(slash - path.data) + 1) : path;
  int64_t start_ns = profile->time_ns > 0 ? profile->time_ns : 0, sum_ns = run->next_ns - start_ns;
  struct store_span span = {.span_id = 1,
                            .track_id = run->track_id,
                            .level = XSP_LEVEL_APPLICATION,
                            .kind = XSP_KIND_SYNC,
                            .category = import_word(reading->import, "process"),
                            .name = import_slice(reading->import, name.length > 0 ? name : slice_of("program")),
                            .start_ns = start_ns,
                            .duration_ns = profile->duration_ns > sum_ns ? profile->duration_ns : sum_ns};
  if (__builtin_add_overflow(start_ns, span.duration_ns, &start_ns))
    span.duration_ns = sum_ns;
  return import_span(reading->import, &span, err);
}

static enum status put_runs(struct reading *reading, struct error *err)
{
  struct import *import = reading->import;
  for (size_t i = 0; i < reading->runs.count; i++) {
    struct run *run = &reading->runs.items[i];
    import_use_run(import, run->run_id);
    if (reading->profile.is_own)
      XSP_TRY(pprof_spans_put(import, &run->spans, err));
    else if (run->track_id != 0)
      XSP_TRY(put_program(reading, run, err));
  }
  import_note(import, "a profile has sums, no times: %s",
              reading->profile.is_own ? "each chain of names is one span " STORE_NOTE_SUMS
                                        ", laid out within the one above it"
                                      : "its samples are laid out one after the other");
  return STATUS_OK;
}

static enum status read_profile(struct reading *reading, struct error *err)
{
  XSP_TRY(pprof_profile_read(&reading->profile, err));
  XSP_TRY(read_types(reading, err));
  XSP_TRY(pprof_each_sample(&reading->profile, take_sample, reading, err));
  return put_runs(reading, err);
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.import = import, .profile.import = import};
  enum status status = read_profile(&reading, err);
  for (size_t i = 0; i < reading.runs.count; i++)
    pprof_spans_done(&reading.runs.items[i].spans);
  pprof_profile_done(&reading.profile);
  vector_done(&reading.values);
  vector_done(&reading.runs);
  interner_done(&reading.run_labels);
  return status;
}

const struct importer importer_pprof = {
    .name = "pprof",
    .summary = "pprof's profiles, of Go and others, also those that xsp exported",
    .recognize = recognize,
    .read = read_file,
};
