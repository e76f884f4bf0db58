// SPDX-License-Identifier: Apache-2.0
// Resources of OTLP as experiments and runs: one run per xsp.run within its experiment, else per distinct resource. The
// first resource of a run says what it is. Called by the decoders, once per group of spans.
#include "importers/otlp/join_private.h"

#include "base/sorted.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- experiments -----------------------------------------------------------------------------------------------------
static void put_part(struct buf *out, const char *text)
{
  buf_put(out, text != NULL ? "+" : "-", 1);
  buf_put(out, text != NULL ? text : "",
          text != NULL ? strlen(text) + 1 : 1); // with the zero: parts cannot run together
}

// The experiments of one name share the first slot: resources that say nothing of the system belong to its experiment.
static struct otlp_experiment **experiment_slot(struct otlp_model *model, const struct otlp_description *description,
                                                bool with_system)
{
  buf_clear(&model->text);
  put_part(&model->text, description->experiment.row.name);
  put_part(&model->text, description->experiment_id);
  buf_put(&model->text, &description->experiment.row.created_ns, sizeof description->experiment.row.created_ns);
  for (size_t i = 0; i < description->experiment.system_count && with_system; i++) {
    const struct store_system_value *value = &description->experiment.system[i];
    put_part(&model->text, value->key);
    put_part(&model->text, value->is_number ? NULL : value->text);
    buf_put(&model->text, &value->number, sizeof value->number);
  }
  uint32_t id = interner_at(&model->experiment_texts, model->text.data, model->text.length);
  OTLP_REACH(&model->experiments, id);
  return &model->experiments.items[id];
}

static void learn(const char **known, const char *text)
{
  if (*known == NULL)
    *known = text;
}

static enum status add_experiment(struct otlp_model *model, const struct otlp_description *description,
                                  struct otlp_experiment **ret_experiment, struct error *err)
{
  if (model->all_experiments.count == OTLP_EXPERIMENTS_MOST)
    return error_set(err, STATUS_INPUT, "cannot import", model->import->input->path, "importing parts of it",
                     "it has more than %u experiments", OTLP_EXPERIMENTS_MOST);
  struct otlp_experiment *experiment = arena_alloc(model->import->arena, sizeof *experiment);
  *experiment = description->experiment;
  *vector_add(&model->all_experiments) = experiment;
  *ret_experiment = experiment;
  return STATUS_OK;
}

static enum status find_experiment(struct otlp_model *model, const struct otlp_description *description,
                                   struct otlp_experiment **ret_experiment, struct error *err)
{
  struct otlp_experiment **exact = NULL;
  size_t first = (size_t)(experiment_slot(model, description, false) - model->experiments.items);
  struct otlp_experiment *experiment = model->experiments.items[first];
  if (description->experiment.system_count > 0 && experiment != NULL && experiment->system_count > 0) {
    exact = experiment_slot(model, description, true);
    experiment = *exact;
  }
  if (experiment == NULL) {
    XSP_TRY(add_experiment(model, description, &experiment, err));
    if (exact == NULL) // the first of its name
      model->experiments.items[first] = experiment;
  }
  if (description->experiment.system_count > 0 && experiment->system_count == 0) {
    experiment->system = description->experiment.system;
    experiment->system_count = description->experiment.system_count;
  }
  if (description->experiment.workload_count > 0 && experiment->workload_count == 0) {
    experiment->workload = description->experiment.workload;
    experiment->workload_count = description->experiment.workload_count;
  }
  if (experiment->system_count > 0 && description->experiment.system_count > 0)
    *experiment_slot(model, description, true) = experiment;
  learn(&experiment->row.workload, description->experiment.row.workload);
  learn(&experiment->row.framework, description->experiment.row.framework);
  learn(&experiment->row.framework_version, description->experiment.row.framework_version);
  learn(&experiment->row.command, description->experiment.row.command);
  learn(&experiment->row.xsp_version, description->experiment.row.xsp_version);
  if (experiment->row.created_ns == 0)
    experiment->row.created_ns = description->experiment.row.created_ns;
  *ret_experiment = experiment;
  return STATUS_OK;
}

// ---- runs ------------------------------------------------------------------------------------------------------------
// Of a note that several resources of a run have, the first counts.
static bool is_new_note(struct otlp_model *model, const struct otlp_run *run, int64_t of_run, struct slice key)
{
  uint32_t known = interner_count(&model->note_texts);
  buf_clear(&model->text);
  buf_put(&model->text, &run->number, sizeof run->number);
  buf_put(&model->text, &of_run, sizeof of_run);
  buf_put(&model->text, key.data, key.length);
  return interner_at(&model->note_texts, model->text.data, model->text.length) == known;
}

// What a run's first resource says next to the numbers of its row. Attributes that are not xsp's are kept as notes.
static enum status take_notes(struct otlp_model *model, struct otlp_run *run, const struct otlp_attribute *attributes,
                              size_t count, struct error *err)
{
  const char *experiment = run->experiment->row.name;
  for (size_t i = 0; i < count; i++) {
    struct slice key = attributes[i].key;
    const struct otlp_value *value = &attributes[i].value;
    int64_t of_run = run->joined->run_id;
    bool are_tracks = slice_is(key, OTLP_TRACKS);
    if (otlp_key_begins(key, OTLP_FILE_NOTE_PREFIX)) {
      key = slice_after(key, strlen(OTLP_FILE_NOTE_PREFIX));
      of_run = 0;
    } else if (otlp_key_begins(key, OTLP_NOTE_PREFIX)) {
      key = slice_after(key, strlen(OTLP_NOTE_PREFIX));
    } else if ((are_tracks || slice_is(key, OTLP_LOGS)) && value->type == OTLP_TEXT) {
      XSP_TRY(import_otlp_take_list(model, run, value->text, are_tracks, err));
      continue;
    } else if (otlp_key_begins(key, "xsp.") || key.length == 0) {
      continue;
    }
    if (run->joined != run && !slice_is(key, "joined")) // facts about one process of several
      continue;
    if (!is_new_note(model, run, of_run, key))
      continue;
    const char *text;
    XSP_TRY(import_otlp_model_text(model, value, &text, err));
    if (slice_is(key, OTLP_SERVICE_NAME) && experiment != NULL && strcmp(text, experiment) == 0)
      continue; // the export put it there
    char *name = arena_copy(model->import->arena, key.data, key.length);
    import_run_note(model->import, of_run, name, text);
  }
  return STATUS_OK;
}

static void set_levels(struct otlp_model *model, const char *text, struct store_run *row)
{
  if (text == NULL || text[0] == 0)
    return;
  if (!level_set_parse(text, strlen(text), &row->levels)) {
    row->levels = (struct level_set){0};
    import_note(model->import, "\"%.40s\" is not a set of levels: those of the spans are used", text);
  }
}

static enum status add_run(struct otlp_model *model, const struct otlp_description *description,
                           struct otlp_experiment *experiment, struct otlp_run **ret_run, struct error *err)
{
  if (model->all_runs.count == OTLP_RUNS_MOST)
    return error_set(err, STATUS_INPUT, "cannot import", model->import->input->path, "importing parts of it",
                     "it has more than %u runs (a resource without xsp.run is a run)", OTLP_RUNS_MOST);
  struct otlp_run *run = arena_alloc(model->import->arena, sizeof *run);
  run->row = description->row;
  run->row.experiment_id = IMPORT_EXPERIMENT_LATER;
  run->number = (uint32_t)model->all_runs.count;
  run->is_numbered = description->run != NULL;
  run->own_pct = description->own_pct;
  run->clock = description->clock != NULL     ? description->clock
               : description->host_id != NULL ? description->host_id
                                              : description->host;
  run->name = description->service;
  run->joined = run;
  run->experiment = experiment;
  run->ids_are_unique = description->ids_are_unique;
  run->span_base = description->span_base;
  run->trace = description->trace;
  set_levels(model, description->levels, &run->row);
  const char *layer = description->row.layer;
  bool is_layer = layer != NULL &&
                  (strcmp(layer, "outermost") == 0 || strcmp(layer, "innermost") == 0 || strcmp(layer, "module") == 0);
  run->row.layer = is_layer ? layer : NULL;
  *vector_add(&model->all_runs) = run;
  *ret_run = run;
  return STATUS_OK;
}

// What a later resource of a run says: of a run that was sent while it went on, the first ones lack what its end shows.
static void learn_run(struct otlp_model *model, const struct otlp_description *description, struct otlp_run *run)
{
  struct store_run *row = &run->row;
  if (row->levels.mask == 0)
    set_levels(model, description->levels, row);
  if (row->dropped_count == 0)
    row->dropped_count = description->row.dropped_count;
  if (row->misused_count == 0)
    row->misused_count = description->row.misused_count;
  if (isnan(run->own_pct))
    run->own_pct = description->own_pct;
}

// What is known of a run that joined another, as a note of that.
static void note_joined(struct otlp_model *model, const struct otlp_run *source)
{
  struct arena *arena = model->import->arena;
  const struct otlp_experiment *experiment = source->experiment;
  const char *clock = import_otlp_join_clock_text(source, arena);
  const char *name = experiment->has_name ? experiment->row.name : source->name != NULL ? source->name : "a process";
  const char *text = arena_format(arena, "%s%s%s%s%s", name, experiment->row.framework != NULL ? ", " : "",
                                  experiment->row.framework != NULL ? experiment->row.framework : "",
                                  clock != NULL ? "; " : "", clock != NULL ? clock : "");
  import_run_note(model->import, source->joined->run_id, "joined", text);
  if (import_otlp_join_needs_word(source))
    import_note(model->import, "%s", text);
}

// The first resource of a run comes: begins the run that its spans go to, where that has not begun.
static enum status begin_run(struct otlp_model *model, struct otlp_run *source, const struct otlp_attribute *attributes,
                             size_t count, struct error *err)
{
  struct otlp_run *run = source->joined;
  source->has_begun = true;
  if (run->run_id == 0) {
    run->run_id = import_run(model->import, &run->row);
    run->experiment->is_used = true;
    if (run->span_base != 0)
      import_run_note(model->import, run->run_id, OTLP_NOTE_SPAN_BASE,
                      arena_format(model->import->arena, "%016" PRIx64, run->span_base));
  }
  import_use_run(model->import, run->run_id);
  if (source != run)
    note_joined(model, source);
  return take_notes(model, source, attributes, count, err);
}

// The slot of the run that a resource belongs to.
static struct otlp_run **run_slot(struct otlp_model *model, const struct otlp_description *description,
                                  const struct otlp_experiment *experiment, uint32_t resource)
{
  buf_clear(&model->text);
  if (description->run != NULL) {
    buf_put(&model->text, "r", 1);
    buf_put(&model->text, &experiment, sizeof experiment);
    buf_put(&model->text, description->run, strlen(description->run));
  } else {
    buf_format(&model->text, "d%" PRIu32, resource);
  }
  uint32_t id = interner_at(&model->run_texts, model->text.data, model->text.length);
  OTLP_REACH(&model->runs, id);
  return &model->runs.items[id];
}

static enum status new_resource(struct otlp_model *model, uint32_t id, const struct otlp_attribute *attributes,
                                size_t count, struct otlp_resource **ret_resource, struct error *err)
{
  struct otlp_description description;
  struct otlp_experiment *experiment = NULL;
  XSP_TRY(import_otlp_read_resource(model, attributes, count, &description, err));
  XSP_TRY(find_experiment(model, &description, &experiment, err));
  struct otlp_resource *resource = arena_alloc(model->import->arena, sizeof *resource);
  struct otlp_run **slot = run_slot(model, &description, experiment, id);
  if (*slot == NULL)
    XSP_TRY(add_run(model, &description, experiment, slot, err));
  else
    learn_run(model, &description, *slot);
  *resource = (struct otlp_resource){.run = (*slot)->joined, .source = *slot, .process_id = STORE_NONE};
  for (size_t i = 0; i < count; i++)
    if (slice_is(attributes[i].key, OTLP_HOST_NAME))
      XSP_TRY(import_otlp_copy_text(model, &attributes[i].value, &resource->host, err));
    else if (slice_is(attributes[i].key, OTLP_PROCESS_PID) &&
             !otlp_value_int(&attributes[i].value, &resource->process_id))
      resource->process_id = STORE_NONE;
  const char *host = resource->host != NULL ? resource->host : "";
  resource->host_id = interner_at(&model->track_texts, host, strlen(host));
  *ret_resource = resource;
  return STATUS_OK;
}

// ---- which resource --------------------------------------------------------------------------------------------------
SORTED_BY(by_attribute_key, struct otlp_attribute *const,
          slice_compare((*a)->key, (*b)->key) ?: ORDER(*a, *b)) // then in the order of the file

// A text that is equal for resources with equal attributes, in whatever order they come.
static void write_canonical(struct otlp_model *model, const struct otlp_attribute *attributes, size_t count)
{
  const struct otlp_attribute **order SCOPED(scoped_free) =
      memory_new(count + 1, sizeof(const struct otlp_attribute *));
  for (size_t i = 0; i < count; i++)
    order[i] = &attributes[i];
  qsort(order, count, sizeof(const struct otlp_attribute *), by_attribute_key);
  buf_clear(&model->text);
  buf_put(&model->text, "r", 1); // no text is empty
  for (size_t i = 0; i < count; i++) {
    const struct otlp_value *value = &order[i]->value;
    bool has_text = value->type == OTLP_TEXT || value->type >= OTLP_BYTES;
    buf_put(&model->text, &order[i]->key.length, sizeof order[i]->key.length);
    buf_put(&model->text, order[i]->key.data, order[i]->key.length);
    buf_put(&model->text, &value->type, 1);
    if (has_text) {
      buf_put(&model->text, &value->text.length, sizeof value->text.length);
      buf_put(&model->text, value->text.data, value->text.length);
    } else {
      buf_put(&model->text, &value->integer, sizeof value->integer); // or the double's bits
    }
  }
}

enum status import_otlp_take_resource(void *context, const struct otlp_attribute *attributes, size_t count,
                                      struct error *err)
{
  struct otlp_model *model = context;
  XSP_TRY(otlp_check_texts(model, err));
  write_canonical(model, attributes, count);
  if (model->text.failed)
    return import_too_many_texts(model->import, err);
  uint32_t id = interner_at(&model->resource_texts, model->text.data, model->text.length);
  OTLP_REACH(&model->resources, id);
  struct otlp_resource **resource = &model->resources.items[id];
  if (*resource == NULL)
    XSP_TRY(new_resource(model, id, attributes, count, resource, err));
  model->resource = *resource;
  if (model->join != NULL && model->is_survey)
    return STATUS_OK;
  struct otlp_resource *known = *resource;
  if (!known->source->has_begun)
    XSP_TRY(begin_run(model, known->source, attributes, count, err));
  else if (!known->has_told)
    XSP_TRY(take_notes(model, known->source, attributes, count, err));
  known->has_told = true;
  import_use_run(model->import, model->resource->run->run_id);
  return STATUS_OK;
}
