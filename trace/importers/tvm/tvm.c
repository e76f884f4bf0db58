// SPDX-License-Identifier: Apache-2.0
// Reports of TVM's profiler (Report.json, of TVM 0.8 to 0.24): {"calls": [{"Name", "Duration (us)": {"microseconds"}, …}, …],
// "device_metrics": {"cpu0": {"Duration (us)": …}}, …}, one call of a model. There are no starts: calls are laid out one after the
// other. See docs/importers.md.
#include "base/vector.h"
#include "importers/json_document.h"
#include "importers/text_file.h"

static const char duration_key[] = "Duration (us)";

static int recognize(struct slice head, bool is_all)
{
  head = import_json_head(head);
  return slice_starts_with(head, "{") && slice_contains(head, "\"calls\"") && slice_contains(head, "\"Duration (us)\"")
             ? 3
             : 0;
}

struct reading { // `json` for the visitors
  struct import_json json;
  uint32_t track_id;
  int64_t last_span_id, placed_ns, total_ns, layer_count; // last_span_id: 1 is the model's
  bool has_calls;
  // Of the call that is read:
  uint32_t name;
  char duration_us[64];
  struct store_tag metric; // type 0: none
  VECTOR(struct store_tag) tags;
};

// "tvmgen_default_fused_nn_conv2d_add_3" is of type "nn_conv2d_add".
static struct slice type_of(struct slice name)
{
  static const char *const prefixes[] = {"tvmgen_default_", "vm_mod_", "fused_"};
  struct slice type = name;
  size_t digits = 0;
  for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
    if (slice_starts_with(type, prefixes[i]))
      type = slice_after(type, strlen(prefixes[i]));
  while (digits < type.length && memchr("0123456789", type.data[type.length - 1 - digits], 10) != NULL)
    digits++;
  if (digits > 0 && digits + 1 < type.length && type.data[type.length - 1 - digits] == '_')
    type.length -= digits + 1;
  return type.length > 0 ? type : name;
}

// ---- calls -----------------------------------------------------------------------------------------------------------
static bool take_duration(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  if (strcmp(key, "microseconds") == 0 && reader->event == JSON_NUMBER && reader->length < sizeof reading->duration_us)
    memcpy(reading->duration_us, reader->text, reader->length + 1);
  return true;
}

// The value of another metric: {"microseconds": 12.3}, {"count": 1}, {"percent": 10.3} or {"ratio": 2}.
static bool take_value(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  if (strcmp(key, "percent") != 0 && !import_json_value(reading->json.import, reader, &reading->metric))
    reading->metric.type = 0;
  return true;
}

static bool take_metric(void *context, struct json_reader *reader, const char *key)
{
  static const char *const renamed[][2] = {
      {"Argument Shapes", "input_shape"}, {"Count", "count"}, {"Device", "device"}};
  struct reading *reading = context;
  struct import *import = reading->json.import;
  struct store_tag *tag = &reading->metric;
  *tag = (struct store_tag){0};
  if (strcmp(key, "Name") == 0 && reader->event == JSON_STRING) {
    reading->name = import_string(import, reader->text, reader->length);
  } else if (reader->event == JSON_OBJECT) {
    if (!json_each(reader, strcmp(key, duration_key) == 0 ? take_duration : take_value, reading))
      return false;
  } else if (!import_json_value(import, reader, tag)) {
    tag->type = 0;
  }
  if (tag->type == 0 || *key == 0)
    return true;
  for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++)
    if (strcmp(key, renamed[i][0]) == 0)
      key = renamed[i][1];
  tag->key = import_word(import, key);
  *vector_add(&reading->tags) = *tag;
  return true;
}

static enum status put_call(struct reading *reading, struct error *err)
{
  struct import *import = reading->json.import;
  struct import_decimal zero = {slice_of("0"), 0}, duration = {slice_of(reading->duration_us), 0};
  struct store_span span = {.span_id = ++reading->last_span_id, .recorded_parent_id = 1, .kind = XSP_KIND_SYNC};
  size_t length;
  const char *name = import_text(import, reading->name, &length);
  struct slice text = {name, length};
  bool has_times, is_builtin = slice_starts_with(text, "vm.builtin.") || slice_starts_with(text, "VM::");
  XSP_TRY(import_decimal_times(import, zero, duration, &span, &has_times, err));
  if (!has_times)
    return STATUS_OK;
  reading->has_calls = true;
  for (size_t i = 0; i < reading->tags.count; i++) {
    reading->tags.items[i].span_id = span.span_id;
    import_tag(import, &reading->tags.items[i]);
  }
  span.start_ns = reading->placed_ns;
  span.track_id = reading->track_id;
  span.name = reading->name;
  span.flags = STORE_SPAN_PLACED;
  span.level = is_builtin ? XSP_LEVEL_LIBRARY : XSP_LEVEL_LAYER;
  if (__builtin_add_overflow(reading->placed_ns, span.duration_ns, &reading->placed_ns))
    return import_broken(import, err, input_offset(import->input, import->input->at),
                         "the times of all calls are beyond 64 bits of nanoseconds");
  if (!is_builtin) {
    import_tag_int(import, span.span_id, import_word(import, "layer_index"), reading->layer_count++);
    import_tag_text(import, span.span_id, import_word(import, "layer_type"), import_slice(import, type_of(text)));
  }
  return import_span(import, &span, err);
}

static bool take_call(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  reading->name = 0;
  reading->duration_us[0] = 0;
  reading->tags.count = 0;
  return reader->event == JSON_OBJECT && json_each(reader, take_metric, reading) &&
         import_json_ok(&reading->json, put_call(reading, reading->json.err));
}

// ---- the whole call, by device ---------------------------------------------------------------------------------------
static bool take_total(void *context, struct json_reader *reader, const char *key)
{
  return strcmp(key, duration_key) != 0 || reader->event != JSON_OBJECT || json_each(reader, take_duration, context);
}

static bool take_device(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  struct import_decimal zero = {slice_of("0"), 0};
  struct store_span span = {0};
  bool has_times;
  reading->duration_us[0] = 0;
  if (reader->event != JSON_OBJECT || !json_each(reader, take_total, reading))
    return reader->event != JSON_ERROR;
  struct import_decimal total = {slice_of(reading->duration_us), 0};
  if (!import_json_ok(&reading->json,
                      import_decimal_times(reading->json.import, zero, total, &span, &has_times, reading->json.err)))
    return false;
  if (has_times && span.duration_ns > reading->total_ns)
    reading->total_ns = span.duration_ns;
  return true;
}

static bool take_top(void *context, struct json_reader *reader, const char *key)
{
  if (key != NULL && strcmp(key, "calls") == 0)
    return json_each(reader, take_call, context);
  return key == NULL || strcmp(key, "device_metrics") != 0 || json_each(reader, take_device, context);
}

static enum status read_report(struct reading *reading, struct error *err)
{
  struct import *import = reading->json.import;
  struct store_track track = IMPORT_NO_PLACE;
  track.name = "TVM";
  import_run(import, &(struct store_run){0});
  import_framework(import, "tvm", NULL);
  XSP_TRY(import_track(import, &track, &reading->track_id, err));
  XSP_TRY(import_json_each(&reading->json, take_top, reading, err));
  if (!reading->has_calls)
    return STATUS_OK;
  import_note(import, "the file has no starts: calls are one after the other");
  struct store_span model = {.span_id = 1,
                             .duration_ns =
                                 reading->total_ns > reading->placed_ns ? reading->total_ns : reading->placed_ns,
                             .track_id = reading->track_id,
                             .name = import_word(import, "call"),
                             .level = XSP_LEVEL_MODEL,
                             .kind = XSP_KIND_SYNC,
                             .flags = STORE_SPAN_PLACED};
  return import_span(import, &model, err);
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.json.import = import, .last_span_id = 1};
  enum status status = read_report(&reading, err);
  vector_done(&reading.tags);
  return status;
}

const struct importer importer_tvm = {
    .name = "tvm",
    .summary = "report of TVM's profiler, as JSON",
    .recognize = recognize,
    .read = read_file,
};
