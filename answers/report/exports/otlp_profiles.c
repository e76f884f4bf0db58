// SPDX-License-Identifier: Apache-2.0
// OpenTelemetry's profiles (opentelemetry/proto/profiles/v1development), alpha: the samples of each run, one profile for each kind,
// with links to the spans of the exports otlp and otlp-proto. Samples of threads with one call path, thread and span are one
// Sample, with a value and a time each. Where a file has sums by call path only, so have its profiles.
#include "base/interner.h"
#include "base/scoped.h"
#include "base/sorted.h"
#include "base/wire_write.h"
#include "otlp/encode.h"
#include "report/exports/exports.h"
#include "report/exports/otlp_facts.h"
#include "report/exports/stacks.h"

#include <stdlib.h>
#include <string.h>

enum { DATA_RESOURCE_PROFILES = 1, DATA_DICTIONARY };
enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPE_PROFILES };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES };
enum { SCOPE_NAME = 1, SCOPE_VERSION };
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLES, PROFILE_TIME, PROFILE_DURATION };
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES, SAMPLE_LINK, SAMPLE_VALUES, SAMPLE_TIMES };
enum { MAPPING_FILENAME = 4 };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS, LOCATION_LINES };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_NAME = 1, FUNCTION_FILENAME = 3 };
enum { LINK_TRACE = 1, LINK_SPAN };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE };
enum { ANY_TEXT = 1, ANY_INT = 3 };
enum { STACK_LOCATIONS = 1 };
enum profile_table { // field numbers of ProfilesDictionary; place 0 of each table is an empty message
  TABLE_MAPPINGS = 1,
  TABLE_LOCATIONS,
  TABLE_FUNCTIONS,
  TABLE_LINKS,
  TABLE_STRINGS,
  TABLE_ATTRIBUTES,
  TABLE_STACKS,
  TABLES
};

struct one { // a sample; time_ns 0: a sum
  int64_t time_ns, value, span_id;
  uint32_t context_id, track_id;
  uint8_t kind; // of threads: enum sample_kind
};
struct profiles {
  struct store *store;
  struct stacks stacks;
  struct interner tables[TABLES]; // encoded messages, by place
  struct map stack_of;            // by call path: place + 1
  struct map trace_of;            // of the run: string of a span's trace, + 1, by its id
  struct otlp_facts facts;        // of the run
  struct buf out, entry;
};

// ---- the dictionary ----------------------------------------------------------------------------------------------------
// The place of what is in `entry`.
static uint64_t place_in(struct profiles *profiles, enum profile_table table)
{
  const struct buf *entry = &profiles->entry;
  return interner_at(&profiles->tables[table], entry->length == 0 ? "" : entry->data, entry->length);
}

static uint64_t string_of(struct profiles *profiles, const char *text)
{
  buf_clear(&profiles->entry);
  if (text != NULL)
    buf_utf8(&profiles->entry, text, strlen(text));
  return place_in(profiles, TABLE_STRINGS);
}

static uint64_t attribute_of(struct profiles *profiles, const char *key, const char *text, int64_t number)
{
  const uint64_t key_place = string_of(profiles, key);
  buf_clear(&profiles->entry);
  protobuf_varint(&profiles->entry, ATTRIBUTE_KEY, key_place);
  size_t value = protobuf_begin(&profiles->entry, ATTRIBUTE_VALUE);
  if (text == NULL) {
    protobuf_varint(&profiles->entry, ANY_INT, (uint64_t)number);
  } else {
    size_t inner = protobuf_begin(&profiles->entry, ANY_TEXT);
    buf_utf8(&profiles->entry, text, strlen(text));
    protobuf_end(&profiles->entry, inner);
  }
  protobuf_end(&profiles->entry, value);
  return place_in(profiles, TABLE_ATTRIBUTES);
}

static uint64_t location_of(struct profiles *profiles, const struct store_frame *frame)
{
  const uint64_t file = string_of(profiles, frame->file), module = string_of(profiles, frame->module);
  const uint64_t name = string_of(profiles, frame->name != NULL ? frame->name : "?");
  buf_clear(&profiles->entry);
  if (module != 0)
    protobuf_varint(&profiles->entry, MAPPING_FILENAME, module);
  const uint64_t mapping = place_in(profiles, TABLE_MAPPINGS);
  buf_clear(&profiles->entry);
  protobuf_varint(&profiles->entry, FUNCTION_NAME, name);
  protobuf_varint(&profiles->entry, FUNCTION_FILENAME, file);
  const uint64_t function = place_in(profiles, TABLE_FUNCTIONS);
  buf_clear(&profiles->entry);
  protobuf_varint(&profiles->entry, LOCATION_MAPPING, mapping);
  protobuf_varint(&profiles->entry, LOCATION_ADDRESS, (uint64_t)frame->address);
  size_t line = protobuf_begin(&profiles->entry, LOCATION_LINES);
  protobuf_varint(&profiles->entry, LINE_FUNCTION, function);
  protobuf_varint(&profiles->entry, LINE_LINE, (uint64_t)frame->line);
  protobuf_end(&profiles->entry, line);
  return place_in(profiles, TABLE_LOCATIONS);
}

static uint64_t stack_of(struct profiles *profiles, uint32_t context_id)
{
  const struct store_call_paths *paths = &profiles->stacks.file;
  uint64_t locations[STACKS_DEPTH_MOST], *place = map_at(&profiles->stack_of, map_number(context_id), NULL);
  size_t depth = 0;
  if (*place != 0)
    return *place - 1;
  for (int64_t id = context_id; id > 0 && depth < STACKS_DEPTH_MOST; id = paths->contexts[id - 1].parent_id)
    locations[depth++] = location_of(profiles, &paths->frames[paths->contexts[id - 1].frame_id - 1]);
  buf_clear(&profiles->entry);
  for (size_t i = 0; i < depth; i++)
    protobuf_varint(&profiles->entry, STACK_LOCATIONS, locations[i]);
  *place = place_in(profiles, TABLE_STACKS) + 1;
  return *place - 1;
}

// 0: the span is none of the file's.
static uint64_t link_of(struct profiles *profiles, int64_t span_id)
{
  const uint64_t *trace = map_find(&profiles->trace_of, map_number((uint64_t)span_id));
  uint8_t trace_bytes[16], span_bytes[8];
  const char *text;
  if (trace == NULL)
    return 0;
  otlp_facts_trace(&profiles->facts, (uint32_t)(*trace - 1), trace_bytes, &text);
  otlp_facts_span_id(&profiles->facts, span_id, span_bytes);
  buf_clear(&profiles->entry);
  protobuf_bytes(&profiles->entry, LINK_TRACE, trace_bytes, sizeof trace_bytes);
  protobuf_bytes(&profiles->entry, LINK_SPAN, span_bytes, sizeof span_bytes);
  return place_in(profiles, TABLE_LINKS);
}

static void put_dictionary(struct profiles *profiles)
{
  size_t dictionary = protobuf_begin(&profiles->out, DATA_DICTIONARY);
  for (enum profile_table table = 1; table < TABLES; table++)
    for (uint32_t i = 0; i < interner_count(&profiles->tables[table]); i++) {
      struct slice entry = interner_text(&profiles->tables[table], i);
      protobuf_bytes(&profiles->out, table, entry.data, entry.length);
    }
  protobuf_end(&profiles->out, dictionary);
}

// ---- samples -----------------------------------------------------------------------------------------------------------
static int compare_groups(const struct one *a, const struct one *b)
{
  return RISING(context_id) ?: RISING(span_id) ?: RISING(track_id) ?: RISING(kind);
}

SORTED_BY(compare_samples, struct one, compare_groups(a, b) ?: RISING(time_ns))

static void put_thread(struct profiles *profiles, const struct one *one)
{
  const struct store_track *track = otlp_facts_track(&profiles->facts, one->track_id);
  if (track != NULL && track->thread_id != STORE_NONE)
    protobuf_varint(&profiles->out, SAMPLE_ATTRIBUTES, attribute_of(profiles, "thread.id", NULL, track->thread_id));
  if (track != NULL && track->name != NULL)
    protobuf_varint(&profiles->out, SAMPLE_ATTRIBUTES, attribute_of(profiles, "thread.name", track->name, 0));
  if (one->kind > SAMPLE_CPU)
    protobuf_varint(&profiles->out, SAMPLE_ATTRIBUTES,
                    attribute_of(profiles, "xsp.wait", sample_kind_name(one->kind), 0));
}

// Of one group, all with times or all without: what has none has no timestamps, and its sum is one value.
static void put_sample(struct profiles *profiles, const struct one *ones, size_t count)
{
  struct buf *out = &profiles->out;
  size_t sample = protobuf_begin(out, PROFILE_SAMPLES);
  protobuf_varint(out, SAMPLE_STACK, stack_of(profiles, ones->context_id));
  put_thread(profiles, ones);
  protobuf_varint(out, SAMPLE_LINK, link_of(profiles, ones->span_id));
  uint64_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    sum += (uint64_t)ones[i].value;
    if (ones[i].time_ns > 0 || i == count - 1)
      protobuf_varint(out, SAMPLE_VALUES, ones[i].time_ns > 0 ? (uint64_t)ones[i].value : sum);
  }
  for (size_t i = 0; i < count && ones[i].time_ns > 0; i++)
    protobuf_fixed64(out, SAMPLE_TIMES, (uint64_t)ones[i].time_ns);
  protobuf_end(out, sample);
}

static void put_profile(struct profiles *profiles, enum stacks_sampled which, struct one *ones, size_t count)
{
  struct buf *out = &profiles->out;
  int64_t first_ns = INT64_MAX, last_ns = 0;
  if (count == 0)
    return;
  for (size_t i = 0; i < count; i++) {
    first_ns = ones[i].time_ns < first_ns ? ones[i].time_ns : first_ns;
    last_ns = ones[i].time_ns > last_ns ? ones[i].time_ns : last_ns;
  }
  size_t profile = protobuf_begin(out, SCOPE_PROFILES_PROFILES);
  size_t type = protobuf_begin(out, PROFILE_SAMPLE_TYPE);
  protobuf_varint(out, VALUE_TYPE, string_of(profiles, stacks_sampled_kinds[which].type));
  protobuf_varint(out, VALUE_UNIT, string_of(profiles, stacks_sampled_kinds[which].unit));
  protobuf_end(out, type);
  if (first_ns > 0) {
    protobuf_fixed64(out, PROFILE_TIME, (uint64_t)first_ns);
    protobuf_varint(out, PROFILE_DURATION, (uint64_t)(last_ns - first_ns));
  }
  qsort(ones, count, sizeof *ones, compare_samples);
  for (size_t first = 0, end; first < count; first = end) {
    bool has_times = ones[first].time_ns > 0;
    for (end = first + 1;
         end < count && compare_groups(&ones[first], &ones[end]) == 0 && (ones[end].time_ns > 0) == has_times;)
      end++;
    put_sample(profiles, ones + first, end - first);
  }
  protobuf_end(out, profile);
}

// ---- runs --------------------------------------------------------------------------------------------------------------
// Those of threads as they were taken; else what call paths add up to.
static size_t list_samples(const struct profiles *profiles, enum stacks_sampled which,
                           const struct store_samples *samples, struct arena *arena, struct one **ret_ones)
{
  const struct stacks_weights *sums = &profiles->stacks.sampled[which];
  size_t count = 0;
  *ret_ones = arena_alloc_array(arena, samples->count + sums->rows.count + 1, sizeof **ret_ones);
  for (size_t i = 0; i < samples->count && which != STACKS_INSTRUCTIONS; i++)
    if ((samples->kind[i] == SAMPLE_CPU) == (which == STACKS_CPU_TIME))
      (*ret_ones)[count++] = (struct one){samples->time_ns[i],    samples->duration_ns[i], samples->span_id[i],
                                          samples->context_id[i], samples->track_id[i],    samples->kind[i]};
  for (size_t i = 0; i < sums->rows.count && (samples->count == 0 || which == STACKS_INSTRUCTIONS); i++)
    if (sums->rows.items[i].run_id == profiles->facts.run->run_id)
      (*ret_ones)[count++] =
          (struct one){.value = sums->rows.items[i].exclusive_sum, .context_id = sums->rows.items[i].context_id};
  return count;
}

static void put_resource(struct profiles *profiles)
{
  struct otlp_out resource;
  size_t place = protobuf_begin(&profiles->out, RESOURCE_PROFILES_RESOURCE);
  otlp_out_init(&resource, false, &profiles->out);
  otlp_facts_put_resource(&resource, &profiles->facts, false, false);
  otlp_out_done(&resource);
  protobuf_end(&profiles->out, place);
}

static enum status put_run(struct profiles *profiles, struct arena *arena, struct error *err)
{
  const int64_t run_id = profiles->facts.run->run_id;
  struct store_samples samples;
  struct store_spans spans;
  struct one *ones;
  XSP_TRY(otlp_facts_load(profiles->store, &profiles->facts, arena, err));
  XSP_TRY(store_load_samples(profiles->store, run_id, arena, &samples, err));
  XSP_TRY(store_load_spans(profiles->store, run_id, STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_TRACE_ID), arena, &spans,
                           err));
  for (size_t i = 0; i < spans.count; i++)
    *map_at(&profiles->trace_of, map_number((uint64_t)spans.span_id[i]), NULL) = spans.trace_id[i] + UINT64_C(1);
  size_t resource = protobuf_begin(&profiles->out, DATA_RESOURCE_PROFILES);
  put_resource(profiles);
  size_t scope_profiles = protobuf_begin(&profiles->out, RESOURCE_PROFILES_SCOPE_PROFILES);
  size_t scope = protobuf_begin(&profiles->out, SCOPE_PROFILES_SCOPE);
  protobuf_bytes(&profiles->out, SCOPE_NAME, "xsp", strlen("xsp"));
  protobuf_bytes(&profiles->out, SCOPE_VERSION, XSP_VERSION, strlen(XSP_VERSION));
  protobuf_end(&profiles->out, scope);
  for (enum stacks_sampled which = 0; which < STACKS_SAMPLED; which++) {
    size_t count = list_samples(profiles, which, &samples, arena, &ones);
    put_profile(profiles, which, ones, count);
  }
  protobuf_end(&profiles->out, scope_profiles);
  protobuf_end(&profiles->out, resource);
  return STATUS_OK;
}

static enum status put_runs(struct profiles *profiles, struct export_file *file, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_run *runs;
  struct store_experiment *experiments;
  size_t run_count = 0, experiment_count = 0;
  for (enum profile_table table = 1; table < TABLES; table++)
    (void)interner_at(&profiles->tables[table], "", 0);
  XSP_TRY(store_runs(profiles->store, &arena, &runs, &run_count, err));
  XSP_TRY(store_experiments(profiles->store, &arena, &experiments, &experiment_count, err));
  for (size_t i = 0; i < run_count; i++) {
    struct arena run_arena SCOPED(arena_done) = {0};
    profiles->facts = (struct otlp_facts){.run = &runs[i]};
    for (size_t j = 0; j < experiment_count; j++)
      if (experiments[j].experiment_id == runs[i].experiment_id)
        profiles->facts.experiment = &experiments[j];
    XSP_TRY(put_run(profiles, &run_arena, err));
    export_file_put(file, &profiles->out);
    map_done(&profiles->trace_of);
  }
  put_dictionary(profiles);
  export_file_put(file, &profiles->out);
  return STATUS_OK;
}

static void profiles_done(struct profiles *profiles)
{
  stacks_done(&profiles->stacks);
  for (enum profile_table table = 1; table < TABLES; table++)
    interner_done(&profiles->tables[table]);
  map_done(&profiles->trace_of);
  map_done(&profiles->stack_of);
  buf_done(&profiles->out);
  buf_done(&profiles->entry);
}

static enum status write_profiles(struct store *store, const char *path, const struct report_export_options *options,
                                  struct error *err)
{
  (void)options; // stacks, not spans
  struct export_file file;
  struct profiles profiles SCOPED(profiles_done) = {.store = store};
  XSP_TRY(stacks_open(store, &profiles.stacks, err));
  XSP_TRY(stacks_load_samples(&profiles.stacks, err));
  XSP_TRY(export_file_open(path, &file, err));
  return export_file_close(&file, put_runs(&profiles, &file, err));
}

const struct report_export report_export_otlp_profiles = {
    .name = "otlp-profiles",
    .summary = "samples as OpenTelemetry's profiles (alpha), with links to the spans of otlp",
    .extension = "otlp-profiles",
    .write = write_profiles,
};
