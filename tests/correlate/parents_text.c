// SPDX-License-Identifier: Apache-2.0
// A test program: cases of spans as text on stdin, their parents on stdout. tests/correlate/test_parents.py feeds it.
//
// A case is a line `case COUNT HAS_CALLER RESOLUTION` and COUNT lines `span_id recorded_parent level kind track start end correlation clock
// flags process threadless device external_id kernel name` (end `open`: never finished; clock 0: wall time; flags: STORE_SPAN_…;
// device to kernel: struct correlate_facts). The answer is COUNT lines `parent basis depth self observation kind`.
#include "correlate/correlate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct span_text {
  int64_t id, parent, start, correlation;
  unsigned level, kind, track, clock, flags, process, threadless, device, external_id, kernel, name;
  char end[32];
};

static void allocate(struct store_spans *spans, size_t count, struct arena *arena)
{
  spans->count = count;
  spans->span_id = arena_alloc_array(arena, count + 1, 8);
  spans->recorded_parent_id = arena_alloc_array(arena, count + 1, 8);
  spans->start_ns = arena_alloc_array(arena, count + 1, 8);
  spans->duration_ns = arena_alloc_array(arena, count + 1, 8);
  spans->correlation_id = arena_alloc_array(arena, count + 1, 8);
  spans->track_id = arena_alloc_array(arena, count + 1, 4);
  spans->name = arena_alloc_array(arena, count + 1, 4);
  spans->level = arena_alloc_array(arena, count + 1, 1);
  spans->kind = arena_alloc_array(arena, count + 1, 1);
  spans->flags = arena_alloc_array(arena, count + 1, 1);
}

static bool read_span(struct store_spans *spans, size_t row, struct store_track *track, struct correlate_facts *facts)
{
  struct span_text text;
  if (scanf("%" SCNd64 "%" SCNd64 "%u%u%u%" SCNd64 "%31s%" SCNd64 "%u%u%u%u%u%u%u%u", &text.id, &text.parent,
            &text.level, &text.kind, &text.track, &text.start, text.end, &text.correlation, &text.clock, &text.flags,
            &text.process, &text.threadless, &text.device, &text.external_id, &text.kernel, &text.name) != 16)
    return false;
  *facts = (struct correlate_facts){0, text.device, text.external_id, text.kernel};
  spans->span_id[row] = text.id;
  spans->recorded_parent_id[row] = text.parent;
  spans->start_ns[row] = text.start;
  spans->correlation_id[row] = text.correlation;
  spans->track_id[row] = text.track;
  spans->name[row] = text.name;
  spans->level[row] = (uint8_t)text.level;
  spans->kind[row] = (uint8_t)text.kind;
  spans->flags[row] = (uint8_t)text.flags;
  if (strcmp(text.end, "open") == 0)
    spans->flags[row] |= STORE_SPAN_OPEN;
  else
    spans->duration_ns[row] = strtoll(text.end, NULL, 10) - text.start;
  *track = (struct store_track){.track_id = text.track,
                                .clock = text.clock != 0 ? "foreign" : NULL,
                                .process_id = text.process != 0 ? text.process : STORE_NONE,
                                .thread_id = text.threadless != 0 ? STORE_NONE : text.track,
                                .device_id = STORE_NONE};
  return true;
}

// `context` has the facts of all rows.
static enum status load_facts(void *context, struct correlate_facts *facts, size_t count, struct error *err)
{
  const struct correlate_facts *all = context;
  (void)err;
  for (size_t i = 0; i < count; i++) {
    uint32_t row = facts[i].row;
    facts[i] = all[row];
    facts[i].row = row;
  }
  return STATUS_OK;
}

static bool run_case(size_t count, bool has_caller, int64_t resolution_ns)
{
  struct arena arena = {0};
  struct store_spans spans = {0};
  allocate(&spans, count, &arena);
  struct store_track *tracks = arena_alloc_array(&arena, count + 1, sizeof *tracks);
  struct correlate_facts *facts = arena_alloc_array(&arena, count + 1, sizeof *facts);
  for (size_t i = 0; i < count; i++)
    if (!read_span(&spans, i, &tracks[i], &facts[i]))
      return false;
  const struct correlate_question question = {&spans,     tracks, count,      NULL,         0, STORE_ALL_DERIVED,
                                              load_facts, facts,  has_caller, resolution_ns};
  struct correlate_answer answer;
  struct error error;
  if (correlate_spans(&question, &arena, &answer, &error) != STATUS_OK) {
    fprintf(stderr, "%s\n", error.why);
    return false;
  }
  const struct store_derived *derived = &answer.derived;
  for (size_t i = 0; i < count; i++)
    printf("%" PRId64 " %s %u %" PRId64 " %d %u\n", derived->parent_id[i], basis_name(derived->basis[i]),
           derived->depth[i], derived->self_ns[i], derived->observation[i],
           derived->kind != NULL ? derived->kind[i] : spans.kind[i]);
  arena_done(&arena);
  return true;
}

int main(void)
{
  size_t count;
  unsigned has_caller;
  int64_t resolution_ns;
  while (scanf(" case %zu %u %" SCNd64, &count, &has_caller, &resolution_ns) == 3)
    if (!run_case(count, has_caller != 0, resolution_ns))
      return 1;
  return 0;
}
