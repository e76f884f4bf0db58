// SPDX-License-Identifier: Apache-2.0
#include "tracers/cuda/pc_table.h"

#include "base/clock.h"
#include "base/hash.h"
#include "tracers/annotations/guest_table.h"
#include "tracers/cuda/calls.h"
#include "tracers/cuda/pc_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS (UINT32_C(1) << 16)

struct where {
  uint64_t cubin_crc, offset, function, caller;
};
struct pc_instruction {
  struct where where;
  uint32_t path;
  bool is_new;        // sampled since it was published
  uint32_t samples[]; // by reason
};

bool pc_table_name(struct pc_table *table, uint32_t reason, const char *name)
{
  static const char all[] = "smsp__pcsamp_", stalled[] = "warps_issue_stalled_", suffix[] = "_not_issued";
  if (reason >= PC_REASONS_MOST)
    return false;
  struct pc_reason *named = &table->reasons[reason];
  name += strncmp(name, all, sizeof all - 1) == 0 ? sizeof all - 1 : 0;
  name += strncmp(name, stalled, sizeof stalled - 1) == 0 ? sizeof stalled - 1 : 0;
  snprintf(named->key, sizeof named->key, "samples_%.100s", name);
  size_t length = strlen(named->key);
  named->is_not_issued = length >= sizeof suffix - 1 && strcmp(named->key + length - (sizeof suffix - 1), suffix) == 0;
  if (table->reason_end <= reason)
    table->reason_end = reason + 1;
  return true;
}

static bool is_same(const void *entry, const void *key)
{
  return memcmp(&((const struct pc_instruction *)entry)->where, key, sizeof(struct where)) == 0;
}

static struct pc_instruction *instruction_of(struct pc_table *table, const struct cupti *cupti,
                                             const struct pc_record *record, uint32_t caller)
{
  const struct where where = {record->cubin_crc, record->offset, record->function_index, caller};
  uint32_t hash = (uint32_t)hash_text((const char *)&where, sizeof where, 0);
  if (table->slots == NULL && (table->slots = calloc(SLOTS, sizeof *table->slots)) == NULL)
    return NULL;
  struct pc_instruction *known = guest_find((void **)table->slots, SLOTS, hash, is_same, &where);
  if (known != NULL || table->count >= SLOTS / 4 * 3)
    return known;
  uint32_t path = pc_lines_path(cupti, record, caller);
  struct pc_instruction *fresh =
      path == 0 ? NULL : calloc(1, sizeof *fresh + table->reason_end * sizeof *fresh->samples);
  if (fresh == NULL)
    return NULL;
  fresh->where = where;
  fresh->path = path;
  return guest_add((void **)table->slots, SLOTS, &table->count, hash, is_same, &where, fresh);
}

void pc_table_add(struct pc_table *table, const struct cupti *cupti, const struct pc_record *record, uint32_t caller)
{
  struct pc_instruction *instruction = record->function == NULL ? NULL : instruction_of(table, cupti, record, caller);
  for (size_t i = 0; i < record->stall_count; i++) {
    const struct pc_stall *stall = &record->stalls[i];
    if (instruction == NULL || stall->reason >= table->reason_end || table->reasons[stall->reason].key[0] == '\0') {
      table->lost += stall->samples;
      continue;
    }
    instruction->samples[stall->reason] += stall->samples;
    instruction->is_new = true;
  }
}

static void publish(const struct pc_table *table, struct pc_instruction *instruction, uint16_t track, uint64_t now)
{
  XSP_SITE_FULL(sampled, XSP_LEVEL_KERNEL, "instruction samples", "samples", CUDA_TRACER);
  struct xsp_interval interval = {.size = sizeof interval,
                                  .track = track,
                                  .clock = XSP_CLOCK_REALTIME,
                                  .start = now,
                                  .end = now,
                                  .call_path = instruction->path};
  struct xsp_span span = xsp_span_emit(&sampled, &interval);
  int64_t all = 0, not_issued = 0;
  for (uint32_t i = 0; i < table->reason_end; i++) {
    if (instruction->samples[i] == 0)
      continue;
    xsp_span_tag_int(&span, table->reasons[i].key, instruction->samples[i]);
    *(table->reasons[i].is_not_issued ? &not_issued : &all) += instruction->samples[i];
    instruction->samples[i] = 0;
  }
  xsp_span_tag_int(&span, "samples", all);
  xsp_span_tag_int(&span, "samples_not_issued", not_issued);
  instruction->is_new = false;
}

uint32_t pc_table_publish(struct pc_table *table, uint16_t track)
{
  uint64_t now = clock_now_ns(CLOCK_REALTIME);
  uint32_t count = 0;
  for (uint32_t i = 0; i < SLOTS && table->slots != NULL; i++)
    if (table->slots[i] != NULL && table->slots[i]->is_new) {
      publish(table, table->slots[i], track, now);
      count++;
    }
  return count;
}
