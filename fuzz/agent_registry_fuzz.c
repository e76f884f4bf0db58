// SPDX-License-Identifier: Apache-2.0
// Fuzzes what comes from a registry: replies of etcd, and records of agents in them.
#include "agent/etcd_reply.h"
#include "agent/record.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// What was read can be written, and is the same when it is read again.
static void check_record(struct slice text, struct arena *arena)
{
  struct agent_record record, again;
  struct json_writer json;
  struct buf written = {0};
  if (!agent_record_read(text, arena, &record))
    return;
  if (!agent_name_is_valid(record.name) || !agent_url_is_valid(record.url) || record.cpus < 0)
    abort();
  json_start(&json, &written);
  agent_record_write(&record, &json);
  if (!agent_record_read((struct slice){written.data, written.length}, arena, &again) ||
      again.model_count != record.model_count || again.memory_bytes != record.memory_bytes)
    abort();
  buf_done(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct arena arena = {0};
  struct etcd_reply reply;
  struct etcd_entries entries;
  char problem[40];
  const struct slice body = {(const char *)data, size};
  (void)etcd_reply_read(body, &reply);
  etcd_reply_problem(body, problem, sizeof problem);
  if (etcd_reply_token(body, problem, sizeof problem) && strpbrk(problem, " \r\n") != NULL)
    abort();
  if (memchr(problem, 0, sizeof problem) == NULL)
    abort();
  if (etcd_reply_entries(body, &arena, &entries))
    for (size_t i = 0; i < entries.count; i++)
      check_record(entries.items[i].value, &arena);
  check_record(body, &arena);
  arena_done(&arena);
  return 0;
}
