// SPDX-License-Identifier: Apache-2.0
// Describes this machine. Called by start.c, and where a manifest needs hardware.
#include "agent/machine.h"

#include "base/python.h"
#include "base/small_file.h"
#include "experiment/experiment.h"
#include "frameworks/frameworks.h"
#include "launch/launch.h"

#include <glob.h>
#include <string.h>

#define FACTS_MOST 64
#define FRAMEWORKS_MOST 64

const char *machine_interconnect(const char *folder, struct arena *arena)
{
  glob_t rates = {0};
  const char *text = NULL;
  glob(arena_format(arena, "%s/*/ports/*/rate", folder), 0, NULL, &rates); // sorted; no match leaves it empty
  for (size_t i = 0; i < rates.gl_pathc; i++) {
    const char *device = rates.gl_pathv[i] + strlen(folder) + 1;
    char rate[128];
    if (small_file_line(rates.gl_pathv[i], rate, sizeof rate))
      text = arena_format(arena, "%s%s%.*s: %s", text != NULL ? text : "", text != NULL ? ", " : "",
                          (int)strcspn(device, "/"), device, rate);
  }
  globfree(&rates);
  return text;
}

static void put_fact(const struct store_system_value *fact, struct agent_record *record)
{
  const struct {
    const char *key;
    const char **text;
    int64_t *number;
  } wanted[] = {
      {"architecture", &record->architecture, NULL},
      {"cpu_model", &record->cpu_model, NULL},
      {"gpus", &record->gpu_model, NULL},
      {"cpus_allowed", NULL, &record->cpus},
      {"memory_bytes", NULL, &record->memory_bytes},
      {"gpu_count", NULL, &record->gpus},
      {"gpu_memory_bytes", NULL, &record->gpu_memory_bytes},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    if (strcmp(wanted[i].key, fact->key) != 0)
      continue;
    if (wanted[i].text != NULL)
      *wanted[i].text = fact->text;
    else
      *wanted[i].number = (int64_t)fact->number;
  }
}

static void find_frameworks(struct arena *arena, struct agent_record *record)
{
  struct probe_result result;
  record->frameworks = arena_alloc_array(arena, FRAMEWORKS_MOST, sizeof *record->frameworks);
  python_keep_answer(); // each probe is a process
  for (size_t i = 0; predictors[i] != NULL && record->framework_count < FRAMEWORKS_MOST; i++) {
    probe_predictor(predictors[i], NULL, &result);
    if (result.is_usable)
      record->frameworks[record->framework_count++] = (struct agent_framework){
          predictors[i]->name, result.version[0] != 0 ? arena_format(arena, "%s", result.version) : NULL};
  }
  python_drop_answer();
}

enum status machine_hardware(struct arena *arena, struct agent_record *record, struct error *err)
{
  struct store_system_value *facts = arena_alloc_array(arena, FACTS_MOST, sizeof *facts);
  size_t count = 0;
  XSP_TRY(system_describe(arena, facts, FACTS_MOST, &count, err));
  for (size_t i = 0; i < count; i++)
    put_fact(&facts[i], record);
  record->interconnect = machine_interconnect("/sys/class/infiniband", arena);
  return STATUS_OK;
}

enum status machine_describe(struct arena *arena, struct agent_record *record, struct error *err)
{
  XSP_TRY(machine_hardware(arena, record, err));
  find_frameworks(arena, record);
  return STATUS_OK;
}
