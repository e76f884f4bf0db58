// SPDX-License-Identifier: Apache-2.0
// What differs between the systems and software stacks of two experiments: every recorded fact. Called by compare.c.
#include "analyze/compare/compare.h"
#include "analyze/models/survey_systems.h"

#include <string.h>

struct facts {
  struct store_system_value *values;
  size_t count;
};

static void put_text(struct facts *facts, const char *key, const char *text)
{
  if (text != NULL && text[0] != 0)
    facts->values[facts->count++] = (struct store_system_value){.key = key, .text = text};
}

// The stack first, then the model, then the machine.
static enum status load(const struct experiment_runs *of, struct arena *arena, struct facts *facts, struct error *err)
{
  const struct store_experiment *experiment = of->experiment;
  struct store_system_value *system, *workload;
  size_t system_count, workload_count;
  XSP_TRY(store_system(of->store, experiment->system_id, arena, &system, &system_count, err));
  XSP_TRY(store_workload(of->store, experiment->experiment_id, arena, &workload, &workload_count, err));
  facts->values = arena_alloc_array(arena, system_count + workload_count + 5, sizeof *facts->values);
  put_text(facts, "framework", experiment->framework);
  put_text(facts, "framework_version", experiment->framework_version);
  put_text(facts, "command", experiment->command);
  put_text(facts, "workload", experiment->workload);
  put_text(facts, "xsp_version", experiment->xsp_version);
  for (size_t i = 0; i < workload_count; i++)
    facts->values[facts->count++] = workload[i];
  for (size_t i = 0; i < system_count; i++)
    facts->values[facts->count++] = system[i];
  return STATUS_OK;
}

static const struct store_system_value *find(const struct facts *facts, const char *key)
{
  for (size_t i = 0; i < facts->count; i++)
    if (strcmp(facts->values[i].key, key) == 0)
      return &facts->values[i];
  return NULL;
}

static struct table_cell cell_of(const struct store_system_value *value)
{
  if (value == NULL)
    return (struct table_cell){0};
  return value->is_number ? cell_number(value->number) : cell_text(value->text);
}

static void put_row(struct table_builder *table, const char *key, const struct store_system_value *a,
                    const struct store_system_value *b)
{
  table_row(table);
  table_put(table, "key", "", "fact", cell_text(key));
  table_put(table, "a", "", "a", cell_of(a));
  table_put(table, "b", "", "b", cell_of(b));
}

enum status systems_answer(const struct experiment_runs *a, const struct experiment_runs *b, struct arena *arena,
                           struct compare_answer *ret, struct error *err)
{
  struct facts a_facts = {0}, b_facts = {0};
  struct table_builder table;
  int64_t same = 0;
  XSP_TRY(load(a, arena, &a_facts, err));
  XSP_TRY(load(b, arena, &b_facts, err));
  table_start(&table, arena);
  put_row(&table, "", NULL, NULL);
  table_declared(&table, 0);
  for (size_t i = 0; i < a_facts.count; i++) {
    const struct store_system_value *value = &a_facts.values[i], *other = find(&b_facts, value->key);
    if (system_values_are_equal(value, other))
      same++;
    else
      put_row(&table, value->key, value, other);
  }
  for (size_t i = 0; i < b_facts.count; i++)
    if (find(&a_facts, b_facts.values[i].key) == NULL)
      put_row(&table, b_facts.values[i].key, NULL, &b_facts.values[i]);
  table_summary(&table, "systems_same", cell_int(same));
  ret->systems = (struct table){.id = "systems", .title = "what differs between the systems and stacks"};
  table_answer(&table, &ret->systems);
  return STATUS_OK;
}
