// SPDX-License-Identifier: Apache-2.0
// Experiments of a call of import: those that importers make (OTLP), and the call's own, which all other files belong to.
// Files of different systems are experiments of their own, because analyses pool the runs of one. Called by importers and
// sink.c, which writes them in the end.
#include "importers/sink_private.h"

#include "base/clock.h"
#include "base/slice.h"

#include <string.h>

// ---- those of importers ----------------------------------------------------------------------------------------------
static bool same_value(const struct store_system_value *a, const struct store_system_value *b)
{
  return a->is_number == b->is_number && (a->is_number ? a->number == b->number : texts_equal(a->text, b->text));
}

static bool same_system(const struct sink_experiment *known, const struct store_system_value *system, size_t count)
{
  bool is_same = known->system_count == count;
  for (size_t i = 0; i < count && is_same; i++)
    is_same = texts_equal(known->system[i].key, system[i].key) && same_value(&known->system[i], &system[i]);
  return is_same;
}

static bool same_experiment(const struct store_experiment *a, const struct store_experiment *b)
{
  return texts_equal(a->name, b->name) && texts_equal(a->workload, b->workload) &&
         texts_equal(a->framework, b->framework) && texts_equal(a->framework_version, b->framework_version) &&
         texts_equal(a->command, b->command);
}

static const char *lasting(struct sink *sink, const char *text)
{
  return text == NULL ? NULL : arena_copy(&sink->lasting, text, strlen(text));
}

static struct store_system_value *copy_values(struct sink *sink, const struct store_system_value *values, size_t count)
{
  struct store_system_value *copies = arena_alloc_array(&sink->lasting, count + 1, sizeof *copies);
  for (size_t i = 0; i < count; i++) {
    copies[i] = values[i];
    copies[i].key = lasting(sink, values[i].key);
    copies[i].text = lasting(sink, values[i].text);
  }
  return copies;
}

// Rows are written by sink_finish. One that an earlier file of the call described alike is the same experiment; within
// one file the importer knows which are the same.
int64_t import_experiment(struct import *import, const struct store_experiment *experiment,
                          const struct store_system_value *system, size_t system_count)
{
  struct sink *sink = import->sink;
  for (size_t i = 0; i < sink->experiments.count; i++) {
    struct sink_experiment *known = &sink->experiments.items[i];
    if (known->file != sink->file && same_experiment(&known->row, experiment) &&
        same_system(known, system, system_count)) {
      known->file = sink->file;
      return known->row.experiment_id;
    }
  }
  struct sink_experiment *entry = vector_add(&sink->experiments);
  *entry = (struct sink_experiment){.row = *experiment,
                                    .system = copy_values(sink, system, system_count),
                                    .system_count = system_count,
                                    .file = sink->file};
  struct store_experiment *row = &entry->row;
  row->experiment_id = sink->next_experiment_id++;
  const char **texts[] = {&row->name,    &row->workload,   &row->framework, &row->framework_version,
                          &row->command, &row->xsp_version};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    *texts[i] = lasting(sink, *texts[i]);
  return row->experiment_id;
}

void import_experiment_model(struct import *import, int64_t experiment_id, const struct store_system_value *workload,
                             size_t count)
{
  struct sink *sink = import->sink;
  for (size_t i = 0; i < sink->experiments.count; i++) {
    struct sink_experiment *entry = &sink->experiments.items[i];
    if (entry->row.experiment_id != experiment_id || entry->workload_count > 0)
      continue;
    entry->workload = copy_values(sink, workload, count);
    entry->workload_count = count;
  }
}

// ---- the call's own ---------------------------------------------------------------------------------------------------
// Files in which one of these differs are of different systems. Other facts, such as versions, drivers and hosts, may differ
// among files that were measured alike.
static const char *const system_keys[] = {"gpu", "cpu_model"};

static const struct store_system_value *find_fact(const struct sink_facts *facts, const char *key)
{
  for (size_t i = 0; i < facts->system.count; i++)
    if (strcmp(facts->system.items[i].key, key) == 0)
      return &facts->system.items[i];
  return NULL;
}

// Of one file, the first to say something about a key is believed.
static void add_fact(struct import *import, struct sink_facts *facts, const struct store_system_value *value)
{
  if (find_fact(facts, value->key) != NULL)
    return;
  if (facts->system.count == SINK_FACTS_MOST) {
    import_note(import, "more than %u facts about the system: \"%.40s\" is left out", SINK_FACTS_MOST, value->key);
    return;
  }
  struct store_system_value *fact = vector_add(&facts->system);
  *fact = *value;
  fact->key = lasting(import->sink, value->key);
  fact->text = lasting(import->sink, value->text);
}

void import_system_text(struct import *import, const char *key, const char *text)
{
  if (text != NULL)
    add_fact(import, &import->sink->file_facts, &(struct store_system_value){.key = key, .text = text});
}

void import_system_number(struct import *import, const char *key, double number)
{
  add_fact(import, &import->sink->file_facts,
           &(struct store_system_value){.key = key, .number = number, .is_number = true});
}

static void add_text(struct sink *sink, const char **known, const char *text)
{
  if (*known == NULL && text != NULL && text[0] != 0)
    *known = lasting(sink, text);
}

void import_framework(struct import *import, const char *name, const char *version)
{
  add_text(import->sink, &import->sink->file_facts.framework, name);
  add_text(import->sink, &import->sink->file_facts.framework_version, version);
}

// The fact in which a file is of another system than an experiment; NULL: there is none.
static const struct store_system_value *other_system(const struct sink_facts *facts, const struct sink_facts *file)
{
  for (size_t i = 0; i < sizeof system_keys / sizeof system_keys[0]; i++) {
    const struct store_system_value *known = find_fact(facts, system_keys[i]), *said = find_fact(file, system_keys[i]);
    if (known != NULL && said != NULL && !same_value(known, said))
      return said;
  }
  return NULL;
}

// The name of the file, without the ending of a journal, which becomes a file of the same name.
static const char *own_name(struct sink *sink)
{
  struct slice name = slice_of(basename(sink->path));
  if (slice_ends_with(name, ".journal"))
    name.length -= strlen(".journal");
  return arena_copy(&sink->lasting, name.data, name.length);
}

// The experiment of the file's system; a new one where it is the first file of its system.
static struct sink_own *find_own(struct sink *sink)
{
  const struct store_system_value *other = NULL;
  for (size_t i = 0; i < sink->own.count; i++) {
    const struct store_system_value *said = other_system(&sink->own.items[i].facts, &sink->file_facts);
    if (said == NULL)
      return &sink->own.items[i];
    other = said;
  }
  if (other != NULL)
    import_note(sink->import, "it is of another system: its %s is %s; its run is in an experiment of its own",
                other->key, other->text != NULL ? other->text : "another");
  struct sink_own *own = vector_add(&sink->own);
  own->experiment_id = sink->next_experiment_id++;
  own->name = own_name(sink);
  return own;
}

static void take_text(struct sink *sink, const char *key, const char **known, const char *text)
{
  if (*known != NULL && text != NULL && strcmp(*known, text) != 0)
    import_note(sink->import, "its %s is %s; that of an earlier file, %s, is used for all", key, text, *known);
  add_text(sink, known, text);
}

// What is said of the file's own runs, once it is read. The first file to say something is believed.
void sink_take_facts(struct sink *sink)
{
  struct sink_own *own = NULL;
  for (size_t i = 0; i < sink->runs.count; i++) {
    struct sink_run *entry = sink->runs.items[i];
    if (entry->run.experiment_id != 0)
      continue;
    own = own != NULL ? own : find_own(sink);
    entry->run.experiment_id = own->experiment_id;
  }
  if (own == NULL)
    return;
  take_text(sink, "framework", &own->facts.framework, sink->file_facts.framework);
  take_text(sink, "framework's version", &own->facts.framework_version, sink->file_facts.framework_version);
  for (size_t i = 0; i < sink->file_facts.system.count; i++) {
    const struct store_system_value *said = &sink->file_facts.system.items[i];
    const struct store_system_value *known = find_fact(&own->facts, said->key);
    if (known != NULL && !same_value(known, said))
      import_note(sink->import, "its %s differs from that of an earlier file, which is used for all", said->key);
    add_fact(sink->import, &own->facts, said);
  }
}

// ---- the end ---------------------------------------------------------------------------------------------------------
static enum status write_experiment(struct sink *sink, struct store_experiment *row,
                                    const struct store_system_value *system, size_t count, struct error *err)
{
  if (row->created_ns == 0)
    row->created_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
  if (row->xsp_version == NULL)
    row->xsp_version = XSP_VERSION;
  if (count > 0)
    XSP_TRY(store_add_system(sink->store, system, count, &row->system_id, err));
  return store_add_experiment(sink->store, row, err);
}

enum status sink_finish(struct sink *sink, struct error *err)
{
  for (size_t i = 0; i < sink->experiments.count; i++) {
    struct sink_experiment *entry = &sink->experiments.items[i];
    XSP_TRY(write_experiment(sink, &entry->row, entry->system, entry->system_count, err));
    if (entry->workload_count > 0)
      XSP_TRY(store_add_workload(sink->store, entry->row.experiment_id, entry->workload, entry->workload_count, err));
  }
  for (size_t i = 0; i < sink->own.count; i++) {
    const struct sink_own *own = &sink->own.items[i];
    struct store_experiment row = {.experiment_id = own->experiment_id,
                                   .name = own->name,
                                   .framework = own->facts.framework,
                                   .framework_version = own->facts.framework_version};
    XSP_TRY(write_experiment(sink, &row, own->facts.system.items, own->facts.system.count, err));
  }
  return STATUS_OK;
}
