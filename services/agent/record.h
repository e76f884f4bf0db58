// SPDX-License-Identifier: Apache-2.0
// What an agent registers: where it is, what its machine has, which models it serves. Written by the agent, read from the
// registry, which anybody may have written to. Pure; any thread.
#ifndef XSP_AGENT_RECORD_H
#define XSP_AGENT_RECORD_H

#include "base/arena.h"
#include "base/json_write.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_LIST_MOST 10000u // of frameworks, of models

struct agent_framework {
  const char *name, *version;
};
struct agent_model {
  const char *file; // of its manifest, without folder and ending: the name by which it is published and deleted
  const char *name, *version, *task;
  const char *framework, *framework_version; // the latter a constraint; NULL: any
  // The agent's alone, not in JSON: its manifest, and who may know of it and who may evaluate it: names with commas between them;
  // NULL: everybody.
  const char *path, *viewers, *users;
};
struct agent_record {
  const char *name; // agent_name_is_valid
  const char *url;  // "http://10.0.0.7:4319"
  int64_t jobs;     // evaluations at a time
  int64_t busy;     // evaluations that run or wait
  // Of the machine. NULL and 0: unknown.
  const char *architecture, *cpu_model, *gpu_model, *interconnect;
  int64_t cpus, memory_bytes, gpus, gpu_memory_bytes;
  struct agent_framework *frameworks;
  size_t framework_count;
  struct agent_model *models;
  size_t model_count;
};

// guard_is_name, and begins with a letter or a digit. It is part of keys and of file names.
bool agent_name_is_valid(const char *name);
// An address that an agent may have: http or https, a host, no credentials, no path.
bool agent_url_is_valid(const char *url);

void agent_record_write(const struct agent_record *record, struct json_writer *json);
void agent_record_write_models(const struct agent_model *models, size_t count, struct json_writer *json); // an array
// In `arena`. False: not a record; unknown members are passed over.
bool agent_record_read(struct slice text, struct arena *arena, struct agent_record *ret_record);

// The text and number fields of a record, for whoever goes over all of them.
struct record_field {
  const char *key; // in JSON
  bool is_number;
  size_t offset; // in struct agent_record
};
static inline const char *record_text(const struct agent_record *record, size_t offset)
{
  return *(const char *const *)(const void *)((const char *)record + offset);
}
static inline int64_t record_number(const struct agent_record *record, size_t offset)
{
  return *(const int64_t *)(const void *)((const char *)record + offset);
}

#endif
