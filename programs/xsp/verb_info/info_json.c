// SPDX-License-Identifier: Apache-2.0
// xsp info --json. Called by verb_info.c.
#include "programs/xsp/verb_info/info_json.h"
#include "base/json_write.h"

#include <stdlib.h>
#include <string.h>

const char *info_note(const struct info_file *file, int64_t run_id, const char *key)
{
  for (size_t i = 0; i < file->note_count; i++)
    if (file->notes[i].run_id == run_id && strcmp(file->notes[i].key, key) == 0)
      return file->notes[i].value;
  return NULL;
}

static void json_levels(struct json_writer *json, struct level_set levels)
{
  json_member_array(json, "levels");
  for (unsigned level = 0; level < XSP_LEVEL_COUNT; level++)
    if (levels.mask & XSP_LEVEL_MASK(level))
      json_string(json, level_name(level));
  json_array_end(json);
}

static void json_notes(struct json_writer *json, const struct info_file *file, int64_t run_id)
{
  json_member_array(json, "notes");
  for (size_t i = 0; i < file->note_count; i++)
    if (file->notes[i].run_id == run_id) {
      json_object(json);
      json_member_string(json, "key", file->notes[i].key);
      json_member_string(json, "value", file->notes[i].value);
      json_object_end(json);
    }
  json_array_end(json);
}

// `xsp run --resolve`: how many parents were ambiguous before a serialised execution was asked, and are still.
static void json_resolved(struct json_writer *json, const struct info_file *file, int64_t run_id)
{
  const char *before = info_note(file, run_id, "ambiguous_before");
  const char *after = info_note(file, run_id, "ambiguous_after");
  if (before == NULL || after == NULL)
    return;
  json_member_object(json, "resolved");
  json_member_int(json, "before", strtoll(before, NULL, 10));
  json_member_int(json, "after", strtoll(after, NULL, 10));
  json_object_end(json);
}

static void json_run(struct json_writer *json, const struct info_file *file, const struct info_run *info)
{
  const struct store_run *run = info->run;
  json_object(json);
  json_member_int(json, "run_id", run->run_id);
  json_levels(json, run->levels);
  json_member_bool(json, "metrics", run->levels.metrics);
  json_member_bool(json, "serial", run->levels.serial);
  json_key(json, "batch_size");
  run->batch_size > 0 ? json_int(json, run->batch_size) : json_null(json);
  json_member_int(json, "observations", (int64_t)info->observation_count);
  json_member_int(json, "warmup_observations", (int64_t)info->warmup_count);
  json_member_object(json, "spans");
  for (unsigned level = 0; level < XSP_LEVEL_COUNT; level++)
    if (info->spans_by_level[level] > 0)
      json_member_int(json, level_name(level), (int64_t)info->spans_by_level[level]);
  json_object_end(json);
  json_member_int(json, "samples", (int64_t)info->sample_count);
  json_member_int(json, "dropped", run->dropped_count);
  json_member_int(json, "misused", run->misused_count);
  json_member_int(json, "open", (int64_t)info->open_count);
  json_member_object(json, "parents");
  for (unsigned i = 1; i <= BASIS_COUNT; i++) // BASIS_NONE, which is 0, comes last
    json_member_int(json, basis_name(i % BASIS_COUNT), (int64_t)info->parents[i % BASIS_COUNT]);
  json_object_end(json);
  json_member_string(json, "epoch", run->epoch_is_unix ? "unix" : "trace");
  json_member_string(json, "layer", run->layer);
  json_member_double(json, "own_pct", run->own_pct);
  json_member_int(json, "tracks", (int64_t)info->track_count);
  json_resolved(json, file, run->run_id);
  json_notes(json, file, run->run_id);
  json_object_end(json);
}

static void json_values(struct json_writer *json, const char *key, const struct store_system_value *values,
                        size_t count)
{
  json_member_object(json, key);
  for (size_t i = 0; i < count; i++) {
    json_key(json, values[i].key);
    if (!values[i].is_number)
      json_string(json, values[i].text);
    else
      json_double(json, values[i].number);
  }
  json_object_end(json);
}

static void json_experiment(struct json_writer *json, const struct info_file *file, const struct info_experiment *info)
{
  const struct store_experiment *experiment = info->experiment;
  json_object(json);
  json_member_int(json, "experiment_id", experiment->experiment_id);
  json_member_string(json, "name", experiment->name);
  json_member_string(json, "workload", experiment->workload);
  json_member_string(json, "framework", experiment->framework);
  json_member_string(json, "framework_version", experiment->framework_version);
  json_member_string(json, "command", experiment->command);
  json_member_int(json, "created_ns", experiment->created_ns);
  json_member_string(json, "xsp_version", experiment->xsp_version);
  json_values(json, "system", info->system, info->system_count);
  json_values(json, "model", info->workload, info->workload_count);
  json_member_array(json, "runs");
  for (size_t i = 0; i < info->run_count; i++)
    json_run(json, file, &info->runs[i]);
  json_array_end(json);
  json_object_end(json);
}

void info_print_json(const struct info_file *file, struct buf *out)
{
  struct json_writer json;
  json_start(&json, out);
  json_object(&json);
  json_member_object(&json, "file");
  json_member_int(&json, "format_version", file->format_version);
  json_member_string(&json, "path", file->path);
  json_key(&json, "size_bytes");
  file->size_bytes >= 0 ? json_int(&json, file->size_bytes) : json_null(&json);
  json_notes(&json, file, 0);
  json_object_end(&json);
  json_member_array(&json, "experiments");
  for (size_t i = 0; i < file->experiment_count; i++)
    json_experiment(&json, file, &file->experiments[i]);
  json_array_end(&json);
  json_object_end(&json);
  buf_text(out, "\n");
}
