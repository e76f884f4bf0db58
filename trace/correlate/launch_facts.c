// SPDX-License-Identifier: Apache-2.0
// Facts that decide between launches with one id, from the store. Called by stored.c, only for runs with such launches.
#include "correlate/launch_facts.h"

#include "base/map.h"
#include "correlate/rows.h"

struct work {
  const struct launch_facts_source *source;
  struct correlate_facts *facts;
  size_t count;
  struct map at; // span id to place in facts
  size_t named;  // facts whose names are known; parts of columns come in order
  struct arena arena;
};

// Numbers of devices begin at 0, which stands for no record here. A text's id is as good as any number.
static uint64_t number_of(int64_t value)
{
  return (uint64_t)value + 1;
}

static void read_tracks(struct work *work)
{
  const struct store_spans *spans = work->source->spans;
  struct map devices SCOPED(map_done) = {0};
  for (size_t i = 0; i < work->source->track_count; i++)
    if (work->source->tracks[i].device_id != STORE_NONE)
      *map_at(&devices, map_number((uint64_t)work->source->tracks[i].track_id), NULL) =
          number_of(work->source->tracks[i].device_id);
  for (size_t i = 0; i < work->count; i++) {
    const uint64_t *device = map_find(&devices, map_number(spans->track_id[work->facts[i].row]));
    work->facts[i].device = device != NULL ? *device : 0;
    *map_at(&work->at, map_number((uint64_t)rows_id(spans, work->facts[i].row)), NULL) = i;
  }
}

static enum status read_tags(struct work *work, bool *ret_has_kernels, struct error *err)
{
  static const char *const names[] = {"device", "external_id", "kernel"};
  uint32_t keys[3];
  struct store_tag *tags;
  size_t count;
  for (size_t i = 0; i < 3; i++)
    if (!store_find_string(work->source->store, names[i], strlen(names[i]), &keys[i]))
      keys[i] = 0; // no tag has it
  XSP_TRY(store_load_tags_of(work->source->store, work->source->run_id, keys, 3, &work->arena, &tags, &count, err));
  for (size_t i = 0; i < count; i++) {
    const uint64_t *at = map_find(&work->at, map_number((uint64_t)tags[i].span_id));
    bool is_text = tags[i].type == STORE_TEXT;
    if (at == NULL || tags[i].type == STORE_DOUBLE)
      continue;
    struct correlate_facts *facts = &work->facts[*at];
    uint64_t value = is_text ? tags[i].value.string : number_of(tags[i].value.integer);
    if (tags[i].key == keys[2] && is_text)
      facts->kernel = value;
    else if (tags[i].key == keys[1])
      facts->external_id = value;
    else if (tags[i].key == keys[0] && !is_text)
      facts->device = value;
    *ret_has_kernels |= facts->kernel != 0;
  }
  return STATUS_OK;
}

static enum status take_names(void *context, size_t first_row, const struct store_spans *part,
                              const struct store_derived *derived, struct error *err)
{
  struct work *work = context;
  for (; work->named < work->count && work->facts[work->named].row < first_row + part->count; work->named++) {
    struct correlate_facts *facts = &work->facts[work->named];
    if (work->source->spans->kind[facts->row] == XSP_KIND_EXECUTION)
      facts->kernel = part->name[facts->row - first_row];
  }
  return STATUS_OK;
}

enum status launch_facts_load(void *source, struct correlate_facts *facts, size_t count, struct error *err)
{
  struct work work = {.source = source, .facts = facts, .count = count};
  bool has_kernels = false;
  read_tracks(&work);
  enum status status = read_tags(&work, &has_kernels, err);
  if (status == STATUS_OK && has_kernels) // that calls recorded
    status = store_walk_spans(work.source->store, work.source->run_id, STORE_BIT(STORE_NAME), take_names, &work, err);
  map_done(&work.at);
  arena_done(&work.arena);
  return status;
}
