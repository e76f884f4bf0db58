// SPDX-License-Identifier: Apache-2.0
// Reads the attributes of a resource: what they say about its experiment and its run. Called by runs.c, once per distinct
// resource.
#include "importers/otlp/model.h"

#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>

// ---- texts -----------------------------------------------------------------------------------------------------------
enum status import_otlp_model_text(struct otlp_model *model, const struct otlp_value *value, const char **ret_text,
                                   struct error *err)
{
  buf_clear(&model->text);
  const char *problem = otlp_value_text(value, model->unknown, &model->text);
  if (problem != NULL)
    return import_broken(model->import, err, input_offset(model->import->input, model->import->input->at), "%s",
                         problem);
  if (model->text.failed)
    return import_too_many_texts(model->import, err);
  *ret_text = model->text.data != NULL ? model->text.data : "";
  return STATUS_OK;
}

enum status import_otlp_copy_text(struct otlp_model *model, const struct otlp_value *value, const char **ret_text,
                                  struct error *err)
{
  const char *text;
  XSP_TRY(import_otlp_model_text(model, value, &text, err));
  *ret_text = arena_copy(model->import->arena, text, strlen(text));
  return STATUS_OK;
}

// ---- reading a resource ----------------------------------------------------------------------------------------------
static enum status read_text_attribute(struct otlp_model *model, const struct otlp_attribute *attribute,
                                       struct otlp_description *description, bool *ret_is_known, struct error *err)
{
  const struct {
    const char *key;
    const char **text;
  } texts[] = {
      {OTLP_EXPERIMENT, &description->experiment.row.name},
      {OTLP_EXPERIMENT_ID, &description->experiment_id},
      {OTLP_RUN, &description->run},
      {OTLP_LEVELS, &description->levels},
      {OTLP_LAYER, &description->row.layer},
      {OTLP_WORKLOAD, &description->experiment.row.workload},
      {OTLP_FRAMEWORK, &description->experiment.row.framework},
      {OTLP_FRAMEWORK_VERSION, &description->experiment.row.framework_version},
      {OTLP_COMMAND, &description->experiment.row.command},
      {OTLP_XSP_VERSION, &description->experiment.row.xsp_version},
      {OTLP_TRACE_ID, &description->trace},
      {OTLP_NOTE_PREFIX "boot_id", &description->clock},
      {OTLP_HOST_ID, &description->host_id},
      {OTLP_HOST_NAME, &description->host},
      {OTLP_SERVICE_NAME, &description->service},
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    if (slice_is(attribute->key, texts[i].key)) {
      *ret_is_known = true;
      return import_otlp_copy_text(model, &attribute->value, texts[i].text, err);
    }
  return STATUS_OK;
}

static void read_number_attribute(const struct otlp_attribute *attribute, struct otlp_description *description)
{
  int64_t number = 0;
  if (slice_is(attribute->key, OTLP_OWN_PCT) && attribute->value.type == OTLP_DOUBLE)
    description->own_pct = attribute->value.real;
  else if (slice_is(attribute->key, OTLP_EPOCH))
    description->row.epoch_is_unix = attribute->value.type != OTLP_TEXT || !slice_is(attribute->value.text, "trace");
  else if (!otlp_value_int(&attribute->value, &number))
    return;
  else if (slice_is(attribute->key, OTLP_BATCH_SIZE))
    description->row.batch_size = number > 0 ? number : 0;
  else if (slice_is(attribute->key, OTLP_DROPPED))
    description->row.dropped_count = number > 0 ? number : 0;
  else if (slice_is(attribute->key, OTLP_MISUSED))
    description->row.misused_count = number > 0 ? number : 0;
  else if (slice_is(attribute->key, OTLP_CREATED))
    description->experiment.row.created_ns = number;
  else if (slice_is(attribute->key, OTLP_SPAN_BASE))
    description->span_base = number > 0 ? (uint64_t)number : 0;
  else if (slice_is(attribute->key, OTLP_UNIQUE_IDS))
    description->ids_are_unique = number != 0;
}

static enum status read_value(struct otlp_model *model, const struct otlp_attribute *attribute, size_t prefix,
                              struct store_system_value *ret_value, struct error *err)
{
  const struct otlp_value *value = &attribute->value;
  ret_value->key = arena_copy(model->import->arena, attribute->key.data + prefix, attribute->key.length - prefix);
  ret_value->is_number =
      value->type == OTLP_INT || value->type == OTLP_BOOL || (value->type == OTLP_DOUBLE && isfinite(value->real));
  if (!ret_value->is_number)
    return import_otlp_copy_text(model, value, &ret_value->text, err);
  ret_value->number = value->type == OTLP_DOUBLE ? value->real : (double)value->integer;
  return STATUS_OK;
}

SORTED_BY(by_key, struct store_system_value, strcmp(a->key, b->key))

// Attributes with this prefix, stripped, sorted, deduplicated.
static enum status read_values(struct otlp_model *model, const struct otlp_attribute *attributes, size_t count,
                               const char *prefix, struct store_system_value **ret_values, size_t *ret_count,
                               struct error *err)
{
  size_t found = 0, kept = 0;
  for (size_t i = 0; i < count; i++)
    found += otlp_key_begins(attributes[i].key, prefix);
  struct store_system_value *values = arena_alloc_array(model->import->arena, found + 1, sizeof *values);
  found = 0;
  for (size_t i = 0; i < count; i++)
    if (otlp_key_begins(attributes[i].key, prefix))
      XSP_TRY(read_value(model, &attributes[i], strlen(prefix), &values[found++], err));
  qsort(values, found, sizeof *values, by_key);
  for (size_t i = 0; i < found; i++)
    if (kept == 0 || strcmp(values[kept - 1].key, values[i].key) != 0)
      values[kept++] = values[i];
  *ret_values = values;
  *ret_count = kept;
  return STATUS_OK;
}

enum status import_otlp_read_resource(struct otlp_model *model, const struct otlp_attribute *attributes, size_t count,
                                      struct otlp_description *description, struct error *err)
{
  *description = (struct otlp_description){.row = {.epoch_is_unix = true, .own_pct = NAN}, .own_pct = NAN};
  struct otlp_experiment *experiment = &description->experiment;
  XSP_TRY(
      read_values(model, attributes, count, OTLP_SYSTEM_PREFIX, &experiment->system, &experiment->system_count, err));
  XSP_TRY(read_values(model, attributes, count, OTLP_MODEL_PREFIX, &experiment->workload, &experiment->workload_count,
                      err));
  for (size_t i = 0; i < count; i++) {
    bool is_known = false;
    XSP_TRY(read_text_attribute(model, &attributes[i], description, &is_known, err));
    if (!is_known)
      read_number_attribute(&attributes[i], description);
  }
  experiment->has_name = experiment->row.name != NULL;
  return STATUS_OK;
}
