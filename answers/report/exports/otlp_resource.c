// SPDX-License-Identifier: Apache-2.0
// The attributes of the resource of an exported run: its experiment, the run, and in the run's first request notes, tracks
// and messages without spans. Called by otlp.c, once per request.
#include "report/exports/otlp_facts.h"

#include "base/hex.h"
#include "otlp/attributes.h"

#include <math.h>

static void put_values(struct otlp_out *out, const char *prefix, const struct store_system_value *values, size_t count)
{
  for (size_t i = 0; i < count; i++)
    otlp_out_attribute(out, OTLP_RESOURCE_ATTRIBUTES, prefix, slice_of(values[i].key),
                       values[i].is_number ? otlp_value_of_double(values[i].number)
                                           : otlp_value_of_text(slice_of(values[i].text)));
}

static bool is_service_name(const struct otlp_facts *facts, const struct store_note *note)
{
  return note->run_id == facts->run->run_id && strcmp(note->key, OTLP_SERVICE_NAME) == 0 && note->value != NULL;
}

// The name that spans came with, else the experiment's. Keys of attributes are unique.
static const char *service_name(const struct otlp_facts *facts)
{
  for (size_t i = 0; i < facts->note_count; i++)
    if (is_service_name(facts, &facts->notes[i]))
      return facts->notes[i].value;
  return facts->experiment != NULL ? facts->experiment->name : NULL;
}

static void put_experiment(struct otlp_out *out, const struct otlp_facts *facts)
{
  const struct store_experiment *experiment = facts->experiment;
  otlp_put_text(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_SERVICE_NAME, service_name(facts));
  if (experiment == NULL)
    return;
  otlp_put_text(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_EXPERIMENT, experiment->name);
  otlp_put_int(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_EXPERIMENT_ID, experiment->experiment_id);
  otlp_put_text(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_WORKLOAD, experiment->workload);
  otlp_put_text(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_FRAMEWORK, experiment->framework);
  otlp_put_text(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_FRAMEWORK_VERSION, experiment->framework_version);
  otlp_put_text(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_COMMAND, experiment->command);
  otlp_put_int(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_CREATED, experiment->created_ns);
  otlp_put_text(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_XSP_VERSION, experiment->xsp_version);
  put_values(out, OTLP_SYSTEM_PREFIX, facts->system, facts->system_count);
  put_values(out, OTLP_MODEL_PREFIX, facts->workload, facts->workload_count);
}

static void put_run(struct otlp_out *out, const struct otlp_facts *facts)
{
  const struct store_run *run = facts->run;
  char levels[LEVEL_SET_TEXT_SIZE];
  level_set_format(run->levels, levels);
  otlp_put_int(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_RUN, run->run_id);
  if (!facts->run_goes_on || facts->has_levels)
    otlp_put_text(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_LEVELS, levels);
  if (run->batch_size > 0)
    otlp_put_int(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_BATCH_SIZE, run->batch_size);
  if (!facts->run_goes_on)
    otlp_put_int(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_DROPPED, run->dropped_count);
  if (run->misused_count != 0)
    otlp_put_int(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_MISUSED, run->misused_count);
  if (!isnan(run->own_pct))
    otlp_out_attribute(out, OTLP_RESOURCE_ATTRIBUTES, "", slice_of(OTLP_OWN_PCT), otlp_value_of_double(run->own_pct));
  otlp_put_text(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_EPOCH, run->epoch_is_unix ? "unix" : "trace");
  otlp_put_text(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_LAYER, run->layer);
  if (facts->has_own_trace) {
    char hex[33];
    *hex_encode(hex, facts->own_trace, sizeof facts->own_trace) = 0;
    otlp_put_text(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_TRACE_ID, hex);
  }
  if (facts->span_base != 0)
    otlp_put_int(out, OTLP_RESOURCE_ATTRIBUTES, OTLP_SPAN_BASE, (int64_t)facts->span_base);
  if (facts->has_many_traces)
    otlp_out_attribute(out, OTLP_RESOURCE_ATTRIBUTES, "", slice_of(OTLP_UNIQUE_IDS), otlp_value_of_bool(true));
}

// ---- what only the first request of a run has, and notes of one that goes on -------------------------------------------
static void put_notes(struct otlp_out *out, const struct otlp_facts *facts, bool with_file_notes)
{
  for (size_t i = 0; i < facts->note_count; i++) {
    const struct store_note *note = &facts->notes[i];
    bool is_foreign = strchr(note->key, '.') != NULL && strncmp(note->key, "xsp.", 4) != 0; // a resource's attribute
    const char *prefix = note->run_id == 0 ? OTLP_FILE_NOTE_PREFIX : is_foreign ? "" : OTLP_NOTE_PREFIX;
    bool is_repeated = note->run_id == 0 && !with_file_notes;
    bool is_of_this_file = strcmp(note->key, "import") == 0; // its origin, which another file does not share
    bool is_attribute = note->run_id != 0 && strcmp(note->key, OTLP_NOTE_SPAN_BASE) == 0; // put_run has it
    if (!is_repeated && !is_of_this_file && !is_attribute && !is_service_name(facts, note))
      otlp_out_attribute(out, OTLP_RESOURCE_ATTRIBUTES, prefix, slice_of(note->key),
                         otlp_value_of_text(slice_of(note->value != NULL ? note->value : "")));
  }
}

static void put_number(struct json_writer *json, const char *key, int64_t number)
{
  if (number != STORE_NONE)
    json_member_int(json, key, number);
}

static void put_string(struct json_writer *json, const char *key, const char *text)
{
  if (text != NULL)
    json_member_string(json, key, text);
}

// An attribute whose text is a JSON list; none where the list is empty.
static void put_list(struct otlp_out *out, const char *key, struct json_writer *json)
{
  json_array_end(json);
  out->buf->failed |= json->out->failed;
  if (json->out->length > strlen("[]"))
    otlp_put_text(out, OTLP_RESOURCE_ATTRIBUTES, key, json->out->data);
  buf_clear(json->out);
  json_start(json, json->out);
  json_array(json);
}

static void put_tracks_and_messages(struct otlp_out *out, const struct otlp_facts *facts)
{
  struct buf text SCOPED(buf_done) = {0};
  struct json_writer json;
  json_start(&json, &text);
  json_array(&json);
  for (size_t i = 0; i < facts->track_count; i++) {
    const struct store_track *track = &facts->tracks[i];
    if (facts->track_is_used[i])
      continue;
    json_object(&json);
    put_number(&json, "track", track->track_id);
    put_string(&json, "name", track->name);
    put_string(&json, "host", track->host);
    put_string(&json, "clock", track->clock);
    put_number(&json, "process_id", track->process_id);
    put_number(&json, "thread_id", track->thread_id);
    put_number(&json, "device_id", track->device_id);
    put_number(&json, "stream_id", track->stream_id);
    put_number(&json, "rank", track->rank.rank);
    put_number(&json, "local_rank", track->rank.local_rank);
    put_number(&json, "world_size", track->rank.world_size);
    json_object_end(&json);
  }
  put_list(out, OTLP_TRACKS, &json);
  for (size_t i = 0; i < facts->log_count && facts->logs[i].span_id == 0; i++) {
    json_object(&json);
    put_number(&json, "time_ns", facts->logs[i].time_ns);
    json_key(&json, "message");
    json_string_n(&json, facts->logs[i].message.data, facts->logs[i].message.length);
    json_object_end(&json);
  }
  put_list(out, OTLP_LOGS, &json);
}

void otlp_facts_put_resource(struct otlp_out *out, const struct otlp_facts *facts, bool is_first, bool with_file_notes)
{
  otlp_out_list(out, OTLP_RESOURCE_ATTRIBUTES);
  put_experiment(out, facts);
  put_run(out, facts);
  if (is_first || facts->run_goes_on)
    put_notes(out, facts, with_file_notes);
  if (is_first)
    put_tracks_and_messages(out, facts);
  otlp_out_list_end(out);
}
