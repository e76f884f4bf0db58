// SPDX-License-Identifier: Apache-2.0
// Resources of OTLP as experiments and runs: one run per xsp.run within its experiment, else per distinct resource. The
// first resource of a run says what it is. Called by the decoders, once per group of spans.
#include "importers/otlp/model.h"
#include "otlp/json.h"
#include "otlp/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// What a resource says. Texts live in the import's arena.
struct said {
  struct otlp_experiment experiment;
  const char *experiment_id, *run, *levels, *trace;
  struct store_run row;
  double own_pct;
  bool ids_are_unique;
};

// ---- texts and numbers -----------------------------------------------------------------------------------------------
bool otlp_value_int(const struct otlp_value *value, int64_t *ret_number)
{
  switch (value->type) {
  case OTLP_INT:
  case OTLP_BOOL:
    *ret_number = value->integer;
    return true;
  case OTLP_DOUBLE:
    if (!(fabs(value->real) < 9.2e18) || value->real != trunc(value->real))
      return false;
    *ret_number = (int64_t)value->real;
    return true;
  case OTLP_TEXT:
    return otlp_read_number(value->text, ret_number) == OTLP_WHOLE;
  default:
    return false;
  }
}

enum status otlp_model_text(struct otlp_model *model, const struct otlp_value *value, const char **ret_text,
                            struct error *err)
{
  buf_clear(&model->text);
  const char *problem = otlp_value_text(value, &model->text);
  if (problem != NULL)
    return import_broken(model->import, err, input_offset(model->import->input, model->import->input->at), "%s",
                         problem);
  if (model->text.failed)
    return import_too_many_texts(model->import, err);
  *ret_text = model->text.data != NULL ? model->text.data : "";
  return STATUS_OK;
}

static enum status keep_text(struct otlp_model *model, const struct otlp_value *value, const char **ret_text,
                             struct error *err)
{
  const char *text;
  XSP_TRY(otlp_model_text(model, value, &text, err));
  *ret_text = arena_copy(model->import->arena, text, strlen(text));
  return STATUS_OK;
}

static bool key_is(struct otlp_text key, const char *name)
{
  return key.length == strlen(name) && memcmp(key.at, name, key.length) == 0;
}

static bool key_begins(struct otlp_text key, const char *prefix)
{
  return key.length > strlen(prefix) && memcmp(key.at, prefix, strlen(prefix)) == 0;
}

// ---- reading a resource ----------------------------------------------------------------------------------------------
static enum status read_text_attribute(struct otlp_model *model, const struct otlp_attribute *attribute,
                                       struct said *said, bool *ret_is_known, struct error *err)
{
  const struct {
    const char *key;
    const char **text;
  } texts[] = {
      {OTLP_EXPERIMENT, &said->experiment.row.name},
      {OTLP_EXPERIMENT_ID, &said->experiment_id},
      {OTLP_RUN, &said->run},
      {OTLP_LEVELS, &said->levels},
      {OTLP_LAYER, &said->row.layer},
      {OTLP_WORKLOAD, &said->experiment.row.workload},
      {OTLP_FRAMEWORK, &said->experiment.row.framework},
      {OTLP_FRAMEWORK_VERSION, &said->experiment.row.framework_version},
      {OTLP_COMMAND, &said->experiment.row.command},
      {OTLP_XSP_VERSION, &said->experiment.row.xsp_version},
      {OTLP_TRACE_ID, &said->trace},
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    if (key_is(attribute->key, texts[i].key)) {
      *ret_is_known = true;
      return keep_text(model, &attribute->value, texts[i].text, err);
    }
  return STATUS_OK;
}

static void read_number_attribute(const struct otlp_attribute *attribute, struct said *said)
{
  int64_t number = 0;
  if (key_is(attribute->key, OTLP_OWN_PCT) && attribute->value.type == OTLP_DOUBLE)
    said->own_pct = attribute->value.real;
  else if (key_is(attribute->key, OTLP_EPOCH))
    said->row.epoch_is_unix = attribute->value.type != OTLP_TEXT || !otlp_text_is(attribute->value.text, "trace");
  else if (!otlp_value_int(&attribute->value, &number))
    return;
  else if (key_is(attribute->key, OTLP_BATCH_SIZE))
    said->row.batch_size = number > 0 ? number : 0;
  else if (key_is(attribute->key, OTLP_DROPPED))
    said->row.dropped_count = number > 0 ? number : 0;
  else if (key_is(attribute->key, OTLP_MISUSED))
    said->row.misused_count = number > 0 ? number : 0;
  else if (key_is(attribute->key, OTLP_CREATED))
    said->experiment.row.created_ns = number;
  else if (key_is(attribute->key, OTLP_UNIQUE_IDS))
    said->ids_are_unique = number != 0;
}

static enum status read_value(struct otlp_model *model, const struct otlp_attribute *attribute, size_t prefix,
                              struct store_system_value *ret_value, struct error *err)
{
  const struct otlp_value *value = &attribute->value;
  ret_value->key = arena_copy(model->import->arena, attribute->key.at + prefix, attribute->key.length - prefix);
  ret_value->is_number =
      value->type == OTLP_INT || value->type == OTLP_BOOL || (value->type == OTLP_DOUBLE && isfinite(value->real));
  if (!ret_value->is_number)
    return keep_text(model, value, &ret_value->text, err);
  ret_value->number = value->type == OTLP_DOUBLE ? value->real : (double)value->integer;
  return STATUS_OK;
}

static int by_key(const void *a, const void *b)
{
  const struct store_system_value *left = a, *right = b;
  return strcmp(left->key, right->key);
}

// The attributes that begin so, without that, by key; of equal keys one.
static enum status read_values(struct otlp_model *model, const struct otlp_attribute *attributes, size_t count,
                               const char *prefix, struct store_system_value **ret_values, size_t *ret_count,
                               struct error *err)
{
  size_t found = 0, kept = 0;
  for (size_t i = 0; i < count; i++)
    found += key_begins(attributes[i].key, prefix);
  struct store_system_value *values = arena_alloc_array(model->import->arena, found + 1, sizeof *values);
  found = 0;
  for (size_t i = 0; i < count; i++)
    if (key_begins(attributes[i].key, prefix))
      XSP_TRY(read_value(model, &attributes[i], strlen(prefix), &values[found++], err));
  qsort(values, found, sizeof *values, by_key);
  for (size_t i = 0; i < found; i++)
    if (kept == 0 || strcmp(values[kept - 1].key, values[i].key) != 0)
      values[kept++] = values[i];
  *ret_values = values;
  *ret_count = kept;
  return STATUS_OK;
}

static enum status read_resource(struct otlp_model *model, const struct otlp_attribute *attributes, size_t count,
                                 struct said *said, struct error *err)
{
  *said = (struct said){.row = {.epoch_is_unix = true, .own_pct = NAN}, .own_pct = NAN};
  struct otlp_experiment *experiment = &said->experiment;
  XSP_TRY(
      read_values(model, attributes, count, OTLP_SYSTEM_PREFIX, &experiment->system, &experiment->system_count, err));
  XSP_TRY(read_values(model, attributes, count, OTLP_MODEL_PREFIX, &experiment->workload, &experiment->workload_count,
                      err));
  for (size_t i = 0; i < count; i++) {
    bool is_known = false;
    XSP_TRY(read_text_attribute(model, &attributes[i], said, &is_known, err));
    if (!is_known)
      read_number_attribute(&attributes[i], said);
  }
  experiment->has_name = experiment->row.name != NULL;
  return STATUS_OK;
}

// ---- experiments -----------------------------------------------------------------------------------------------------
static void put_part(struct buf *out, const char *text)
{
  buf_put(out, text != NULL ? "+" : "-", 1);
  buf_put(out, text != NULL ? text : "",
          text != NULL ? strlen(text) + 1 : 1); // with the zero: parts cannot run together
}

// The experiments of one name share the first slot: resources that say nothing of the system belong to its experiment.
static struct otlp_experiment **experiment_slot(struct otlp_model *model, const struct said *said, bool with_system)
{
  buf_clear(&model->text);
  put_part(&model->text, said->experiment.row.name);
  put_part(&model->text, said->experiment_id);
  for (size_t i = 0; i < said->experiment.system_count && with_system; i++) {
    const struct store_system_value *value = &said->experiment.system[i];
    put_part(&model->text, value->key);
    put_part(&model->text, value->is_number ? NULL : value->text);
    buf_put(&model->text, &value->number, sizeof value->number);
  }
  uint32_t id = texts_intern(&model->experiment_texts, model->text.data, model->text.length);
  OTLP_REACH(&model->experiments, id);
  return &model->experiments.items[id];
}

static void learn(const char **known, const char *text)
{
  if (*known == NULL)
    *known = text;
}

static enum status add_experiment(struct otlp_model *model, const struct said *said,
                                  struct otlp_experiment **ret_experiment, struct error *err)
{
  if (model->all_experiments.count == OTLP_EXPERIMENTS_MOST)
    return error_set(err, STATUS_INPUT, "cannot import", model->import->input->path, "importing parts of it",
                     "it has more than %u experiments", OTLP_EXPERIMENTS_MOST);
  struct otlp_experiment *experiment = arena_alloc(model->import->arena, sizeof *experiment);
  *experiment = said->experiment;
  *vector_add(&model->all_experiments) = experiment;
  *ret_experiment = experiment;
  return STATUS_OK;
}

static enum status find_experiment(struct otlp_model *model, const struct said *said,
                                   struct otlp_experiment **ret_experiment, struct error *err)
{
  struct otlp_experiment **exact = NULL;
  size_t first = (size_t)(experiment_slot(model, said, false) - model->experiments.items);
  struct otlp_experiment *experiment = model->experiments.items[first];
  if (said->experiment.system_count > 0 && experiment != NULL && experiment->system_count > 0) {
    exact = experiment_slot(model, said, true);
    experiment = *exact;
  }
  if (experiment == NULL) {
    XSP_TRY(add_experiment(model, said, &experiment, err));
    if (exact == NULL) // the first of its name
      model->experiments.items[first] = experiment;
  }
  if (said->experiment.system_count > 0 && experiment->system_count == 0) {
    experiment->system = said->experiment.system;
    experiment->system_count = said->experiment.system_count;
  }
  if (said->experiment.workload_count > 0 && experiment->workload_count == 0) {
    experiment->workload = said->experiment.workload;
    experiment->workload_count = said->experiment.workload_count;
  }
  if (experiment->system_count > 0 && said->experiment.system_count > 0)
    *experiment_slot(model, said, true) = experiment;
  learn(&experiment->row.workload, said->experiment.row.workload);
  learn(&experiment->row.framework, said->experiment.row.framework);
  learn(&experiment->row.framework_version, said->experiment.row.framework_version);
  learn(&experiment->row.command, said->experiment.row.command);
  learn(&experiment->row.xsp_version, said->experiment.row.xsp_version);
  if (experiment->row.created_ns == 0)
    experiment->row.created_ns = said->experiment.row.created_ns;
  *ret_experiment = experiment;
  return STATUS_OK;
}

// ---- runs ------------------------------------------------------------------------------------------------------------
// What a run's first resource says beside the numbers of its row. Attributes that are not xsp's are kept as notes.
static enum status take_notes(struct otlp_model *model, struct otlp_run *run, const struct otlp_attribute *attributes,
                              size_t count, struct error *err)
{
  const char *experiment = run->experiment->row.name;
  for (size_t i = 0; i < count; i++) {
    struct otlp_text key = attributes[i].key;
    const struct otlp_value *value = &attributes[i].value;
    int64_t of_run = run->run_id;
    if (key_begins(key, OTLP_FILE_NOTE_PREFIX)) {
      key.at += strlen(OTLP_FILE_NOTE_PREFIX);
      key.length -= strlen(OTLP_FILE_NOTE_PREFIX);
      of_run = 0;
    } else if (key_begins(key, OTLP_NOTE_PREFIX)) {
      key.at += strlen(OTLP_NOTE_PREFIX);
      key.length -= strlen(OTLP_NOTE_PREFIX);
    } else if (key_is(key, OTLP_TRACKS) && value->type == OTLP_TEXT) {
      XSP_TRY(otlp_take_tracks(model, run, value->text, err));
      continue;
    } else if (key_is(key, OTLP_LOGS) && value->type == OTLP_TEXT) {
      XSP_TRY(otlp_take_logs(model, run, value->text, err));
      continue;
    } else if (key_begins(key, "xsp.") || key.length == 0) {
      continue;
    }
    const char *text;
    XSP_TRY(otlp_model_text(model, value, &text, err));
    if (key_is(key, OTLP_SERVICE_NAME) && experiment != NULL && strcmp(text, experiment) == 0)
      continue; // the export put it there
    char *name = arena_copy(model->import->arena, key.at, key.length);
    XSP_TRY(import_run_note(model->import, of_run, name, text, err));
  }
  return STATUS_OK;
}

static void set_levels(struct otlp_model *model, const char *text, struct store_run *row)
{
  if (text == NULL || text[0] == 0)
    return;
  if (!level_set_parse(text, strlen(text), &row->levels)) {
    row->levels = (struct level_set){0};
    import_note(model->import, "\"%.40s\" is no set of levels: those of the spans are taken", text);
  }
}

static enum status add_run(struct otlp_model *model, const struct said *said, struct otlp_experiment *experiment,
                           struct otlp_run **ret_run, struct error *err)
{
  if (model->all_runs.count == OTLP_RUNS_MOST)
    return error_set(err, STATUS_INPUT, "cannot import", model->import->input->path, "importing parts of it",
                     "it has more than %u runs (a resource without xsp.run is a run)", OTLP_RUNS_MOST);
  struct otlp_run *run = arena_alloc(model->import->arena, sizeof *run);
  run->row = said->row;
  run->row.experiment_id = IMPORT_EXPERIMENT_LATER;
  run->experiment = experiment;
  run->ids_are_unique = said->ids_are_unique;
  run->trace = said->trace;
  set_levels(model, said->levels, &run->row);
  const char *layer = said->row.layer;
  bool is_layer = layer != NULL &&
                  (strcmp(layer, "outermost") == 0 || strcmp(layer, "innermost") == 0 || strcmp(layer, "module") == 0);
  run->row.layer = is_layer ? layer : NULL;
  XSP_TRY(import_run(model->import, &run->row, &run->run_id, err));
  import_run_own_pct(model->import, run->run_id, said->own_pct);
  *vector_add(&model->all_runs) = run;
  *ret_run = run;
  return STATUS_OK;
}

// The slot of the run that a resource belongs to.
static struct otlp_run **run_slot(struct otlp_model *model, const struct said *said,
                                  const struct otlp_experiment *experiment, uint32_t resource)
{
  buf_clear(&model->text);
  if (said->run != NULL) {
    buf_put(&model->text, "r", 1);
    buf_put(&model->text, &experiment, sizeof experiment);
    buf_put(&model->text, said->run, strlen(said->run));
  } else {
    buf_format(&model->text, "d%" PRIu32, resource);
  }
  uint32_t id = texts_intern(&model->run_texts, model->text.data, model->text.length);
  OTLP_REACH(&model->runs, id);
  return &model->runs.items[id];
}

static enum status new_resource(struct otlp_model *model, uint32_t id, const struct otlp_attribute *attributes,
                                size_t count, struct otlp_resource **ret_resource, struct error *err)
{
  struct said said;
  struct otlp_experiment *experiment = NULL;
  XSP_TRY(read_resource(model, attributes, count, &said, err));
  XSP_TRY(find_experiment(model, &said, &experiment, err));
  struct otlp_resource *resource = arena_alloc(model->import->arena, sizeof *resource);
  struct otlp_run **slot = run_slot(model, &said, experiment, id);
  *resource = (struct otlp_resource){.run = *slot, .process_id = STORE_NONE};
  if (*slot == NULL) {
    XSP_TRY(add_run(model, &said, experiment, &resource->run, err));
    *slot = resource->run;
    XSP_TRY(take_notes(model, resource->run, attributes, count, err));
  }
  for (size_t i = 0; i < count; i++)
    if (key_is(attributes[i].key, OTLP_HOST_NAME))
      XSP_TRY(keep_text(model, &attributes[i].value, &resource->host, err));
    else if (key_is(attributes[i].key, OTLP_PROCESS_PID) &&
             !otlp_value_int(&attributes[i].value, &resource->process_id))
      resource->process_id = STORE_NONE;
  const char *host = resource->host != NULL ? resource->host : "";
  resource->host_id = texts_intern(&model->track_texts, host, strlen(host));
  *ret_resource = resource;
  return STATUS_OK;
}

// ---- which resource --------------------------------------------------------------------------------------------------
static int by_attribute_key(const void *a, const void *b)
{
  const struct otlp_attribute *left = *(const struct otlp_attribute *const *)a;
  const struct otlp_attribute *right = *(const struct otlp_attribute *const *)b;
  size_t shorter = left->key.length < right->key.length ? left->key.length : right->key.length;
  int difference = shorter > 0 ? memcmp(left->key.at, right->key.at, shorter) : 0;
  if (difference != 0)
    return difference;
  if (left->key.length != right->key.length)
    return left->key.length < right->key.length ? -1 : 1;
  return left < right ? -1 : left > right; // in the order of the file
}

// A text that is equal for resources with equal attributes, in whatever order they come.
static void write_canonical(struct otlp_model *model, const struct otlp_attribute *attributes, size_t count)
{
  const struct otlp_attribute **order = memory_new(count + 1, sizeof(const struct otlp_attribute *));
  for (size_t i = 0; i < count; i++)
    order[i] = &attributes[i];
  qsort(order, count, sizeof(const struct otlp_attribute *), by_attribute_key);
  buf_clear(&model->text);
  buf_put(&model->text, "r", 1); // no text is empty
  for (size_t i = 0; i < count; i++) {
    const struct otlp_value *value = &order[i]->value;
    bool has_text = value->type == OTLP_TEXT || value->type >= OTLP_BYTES;
    buf_put(&model->text, &order[i]->key.length, sizeof order[i]->key.length);
    buf_put(&model->text, order[i]->key.at, order[i]->key.length);
    buf_put(&model->text, &value->type, 1);
    if (has_text) {
      buf_put(&model->text, &value->text.length, sizeof value->text.length);
      buf_put(&model->text, value->text.at, value->text.length);
    } else {
      buf_put(&model->text, &value->integer, sizeof value->integer); // or the double's bits
    }
  }
  free(order);
}

enum status otlp_take_resource(void *context, const struct otlp_attribute *attributes, size_t count, struct error *err)
{
  struct otlp_model *model = context;
  XSP_TRY(otlp_check_texts(model, err));
  write_canonical(model, attributes, count);
  if (model->text.failed)
    return import_too_many_texts(model->import, err);
  uint32_t id = texts_intern(&model->resource_texts, model->text.data, model->text.length);
  OTLP_REACH(&model->resources, id);
  struct otlp_resource **resource = &model->resources.items[id];
  if (*resource == NULL)
    XSP_TRY(new_resource(model, id, attributes, count, resource, err));
  model->resource = *resource;
  return STATUS_OK;
}
