// SPDX-License-Identifier: Apache-2.0
// The observations of a run (its predictions, training steps, …) and which one each span belongs to. Called after
// relation_climb, which found the observation among each span's ancestors.
#include "base/sorted.h"
#include "correlate/relation.h"

#include <stdlib.h>

// An observation that is a span. Sorted by clock, process and start; places count from 1, 0 is none.
struct item {
  int64_t start, end;
  uint32_t row, clock, process; // process: a number; 0: any, as none is recorded, or nothing else was done there
  uint32_t found;               // its number in relation->items
  uint32_t number;              // of the observation: by start, whatever the clock
  uint32_t longer;              // place of the latest earlier one of its clock and process that ends later
  uint32_t jump;                // place of another on the path of longer ones
  uint32_t height;              // length of that path
};
struct observations {
  struct item *item; // [1 … count]
  size_t count;
  uint32_t *number_of_found;
  uint32_t last_process; // the largest number
  size_t *place;         // by process: where the latest search ended, as rows that follow each other are near in time
};

#define IS_LAUNCHED (-2) // for the time being: an execution without an observation among its ancestors

static uint32_t clock_of_track(const struct relation *relation, uint32_t track_id)
{
  const struct parents_track *track = parents_track_of(&relation->parents, track_id);
  return track == NULL ? 0 : track->clock;
}

static uint32_t clock_of(const struct relation *relation, size_t row)
{
  return clock_of_track(relation, relation->spans->track_id[row]);
}

static uint32_t process_of_track(const struct relation *relation, uint32_t track_id)
{
  const struct launches *launches = &relation->parents.launches;
  bool has_process = launches->process_of_slot != NULL && track_id != 0;
  return has_process ? launches->process_of_slot[id_map_find(launches->slot_of_track, track_id)] : 0;
}

static uint32_t process_of(const struct relation *relation, size_t row)
{
  return process_of_track(relation, relation->spans->track_id[row]);
}

SORTED_BY(compare_starts, struct item, RISING(start) ?: RISING(row))

static int compare_groups(const struct item *a, const struct item *b)
{
  return RISING(clock) ?: RISING(process);
}

static int compare_in_groups(const void *left, const void *right)
{
  return compare_groups(left, right) ?: compare_starts(left, right);
}

// As sweep_link does.
static void link_item(struct item *items, uint32_t place)
{
  struct item *item = &items[place];
  uint32_t longer = place - 1;
  while (longer != 0 && (compare_groups(&items[longer], item) != 0 || items[longer].end <= item->end))
    longer = compare_groups(&items[longer], item) != 0 ? 0 : items[longer].longer;
  item->longer = longer;
  if (longer == 0)
    return;
  uint32_t jump = items[longer].jump;
  uint32_t far_jump = items[jump].jump;
  bool are_equal = jump != 0 && far_jump != 0 &&
                   items[longer].height - items[jump].height == items[jump].height - items[far_jump].height;
  item->jump = are_equal ? far_jump : longer;
  item->height = items[longer].height + 1;
}

// Processes in which something happened besides observations; NULL: processes have no numbers.
static const bool *find_working(const struct relation *relation, struct arena *arena)
{
  const struct store_spans *spans = relation->spans;
  if (relation->parents.launches.process_of_slot == NULL)
    return NULL;
  bool *works =
      arena_alloc_array(arena, relation->parents.track_count + 1, sizeof *works); // no more processes than tracks
  for (size_t i = 0; i < spans->count; i++)
    works[process_of(relation, i)] |= spans->level[i] != XSP_LEVEL_MODEL && spans->kind[i] != XSP_KIND_EXECUTION;
  return works;
}

static void list_items(const struct relation *relation, struct arena *arena, struct observations *ret_list)
{
  const struct store_spans *spans = relation->spans;
  size_t count = relation->items.count;
  struct item *items = arena_alloc_array(arena, count + 1, sizeof *items);
  const bool *works = find_working(relation, arena);
  *ret_list =
      (struct observations){.item = items,
                            .count = count,
                            .number_of_found = arena_alloc_array(arena, count + 1, sizeof *ret_list->number_of_found)};
  for (size_t i = 0; i < count; i++) {
    uint32_t row = relation->items.items[i], process = process_of(relation, row);
    items[i + 1] = (struct item){.start = spans->start_ns[row],
                                 .end = rows_end(spans, row),
                                 .row = row,
                                 .clock = clock_of(relation, row),
                                 .process = works != NULL && works[process] ? process : 0,
                                 .found = (uint32_t)i};
    ret_list->last_process =
        items[i + 1].process > ret_list->last_process ? items[i + 1].process : ret_list->last_process;
  }
  qsort(items + 1, count, sizeof *items, compare_starts);
  for (size_t i = 0; i < count; i++) {
    items[i + 1].number = (uint32_t)i;
    ret_list->number_of_found[items[i + 1].found] = (uint32_t)i;
  }
}

static void index_times(struct observations *list, struct arena *arena)
{
  list->place = arena_alloc_array(arena, (size_t)list->last_process + 1, sizeof *list->place);
  qsort(list->item + 1, list->count, sizeof *list->item, compare_in_groups);
  for (size_t place = 1; place <= list->count; place++)
    link_item(list->item, (uint32_t)place);
}

// The latest started observation of the clock and the process in whose [start, end) `time` lies; -1: none.
static int32_t by_time(const struct observations *list, int64_t time, uint32_t clock, uint32_t process)
{
  const struct item *items = list->item;
  const struct item wanted = {.start = time, .row = UINT32_MAX, .clock = clock, .process = process};
  if (process > list->last_process)
    return -1;
  size_t last = list->place[process];
  if ((last != 0 && compare_in_groups(&items[last], &wanted) > 0) ||
      (last != list->count && compare_in_groups(&items[last + 1], &wanted) <= 0))
    last = PARTITION_POINT(i, 1, list->count + 1, compare_in_groups(&items[i], &wanted) <= 0) - 1;
  list->place[process] = last;
  if (last == 0 || compare_groups(&items[last], &wanted) != 0)
    return -1;
  while (last != 0 && items[last].end <= time) {
    uint32_t jump = items[last].jump;
    last = jump != 0 && items[jump].end <= time ? jump : items[last].longer;
  }
  return last == 0 ? -1 : (int32_t)items[last].number;
}

// What a host does is of an observation of its own process: a data loader's processes work for none. `process` 0: of any.
static int32_t in_processes(const struct observations *list, int64_t time, uint32_t clock, uint32_t process)
{
  int32_t latest = by_time(list, time, clock, 0);
  uint32_t first = process == 0 ? 1 : process, last = process == 0 ? list->last_process : process;
  for (uint32_t i = first; i <= last; i++) {
    int32_t found = by_time(list, time, clock, i);
    latest = found > latest ? found : latest; // numbers are by start
  }
  return latest;
}

int32_t relation_observation_at(const struct relation *relation, uint32_t track_id, int64_t start_ns)
{
  return in_processes(relation->observations, start_ns, clock_of_track(relation, track_id),
                      process_of_track(relation, track_id));
}

// From the observation among a span's ancestors to the one it belongs to. Executions come last, because what they belong
// to is what their launches do.
static size_t assign(struct relation *relation, const struct observations *list)
{
  const struct store_spans *spans = relation->spans;
  int32_t *observation = relation->observation;
  size_t outside = 0;
  bool has_launched = false;
  for (size_t i = 0; i < spans->count; i++) {
    if (observation[i] >= 0) {
      observation[i] = (int32_t)list->number_of_found[observation[i]];
    } else if (spans->kind[i] == XSP_KIND_EXECUTION) {
      observation[i] = IS_LAUNCHED;
      has_launched = true;
    } else {
      observation[i] = in_processes(list, spans->start_ns[i], clock_of(relation, i), process_of(relation, i));
      outside += observation[i] < 0;
    }
  }
  for (size_t i = 0; i < spans->count && has_launched; i++) {
    if (observation[i] != IS_LAUNCHED)
      continue;
    uint32_t launch = launches_of(&relation->parents.launches, spans, (uint32_t)i);
    bool has_launch = launch != ROW_NONE && launch != LAUNCH_SEVERAL;
    observation[i] =
        has_launch ? observation[launch] : in_processes(list, spans->start_ns[i], clock_of(relation, i), 0);
    outside += observation[i] < 0;
  }
  return outside;
}

struct warmups { // spans with the tag, by id
  const int64_t *id;
  size_t count;
};

static bool is_warmup(const struct warmups *warmups, int64_t id)
{
  return warmups->count > 0 && bsearch(&id, warmups->id, warmups->count, sizeof id, sorted_compare_i64) != NULL;
}

// A run without model spans is one observation, from its first start to its last end, of wall time where it has any. It is
// warm-up where an application's span says so: that of the program, which has no span above it to say it.
static void whole_run(struct relation *relation, const struct warmups *warmups, struct arena *arena,
                      struct store_observation **ret_observations, size_t *ret_count, size_t *ret_outside)
{
  bool has_warmup = false;
  const struct store_spans *spans = relation->spans;
  uint32_t clock = clock_of(relation, 0);
  for (size_t i = 0; i < spans->count && clock != 0; i++)
    if (clock_of(relation, i) == 0)
      clock = 0;
  int64_t start = INT64_MAX;
  int64_t end = INT64_MIN;
  for (size_t i = 0; i < spans->count; i++) {
    bool is_inside = clock_of(relation, i) == clock;
    relation->observation[i] = is_inside ? 0 : -1;
    *ret_outside += !is_inside;
    if (!is_inside)
      continue;
    has_warmup |= spans->level[i] == XSP_LEVEL_APPLICATION && is_warmup(warmups, rows_id(spans, i));
    start = spans->start_ns[i] < start ? spans->start_ns[i] : start;
    int64_t span_end = spans->start_ns[i] + spans->duration_ns[i]; // an open span counts as far as it is known
    end = span_end > end ? span_end : end;
  }
  *ret_observations = arena_alloc_array(arena, 1, sizeof **ret_observations);
  int64_t duration;
  if (__builtin_sub_overflow(end, start, &duration))
    duration = INT64_MAX;
  **ret_observations =
      (struct store_observation){.observation = 0, .start_ns = start, .duration_ns = duration, .warmup = has_warmup};
  *ret_count = 1;
}

void relation_observe(struct relation *relation, const int64_t *warmup_ids, size_t warmup_count, struct arena *arena,
                      struct store_observation **ret_observations, size_t *ret_count, size_t *ret_outside)
{
  const struct store_spans *spans = relation->spans;
  const struct warmups warmups = {warmup_ids, warmup_count};
  *ret_observations = NULL;
  *ret_count = 0;
  *ret_outside = 0;
  bool has_models = relation->parents.has_steps;
  for (size_t i = 0; i < spans->count && !has_models; i++)
    has_models = spans->level[i] == XSP_LEVEL_MODEL;
  if (!has_models && spans->count > 0) {
    whole_run(relation, &warmups, arena, ret_observations, ret_count, ret_outside);
    return;
  }
  struct observations *list = arena_alloc(&relation->tree_arena, sizeof *list);
  relation->observations = list;
  *ret_observations = arena_alloc_array(arena, relation->items.count + 1, sizeof **ret_observations);
  list_items(relation, &relation->tree_arena, list);
  for (size_t i = 0; i < list->count; i++) {
    const struct item *item = &list->item[i + 1];
    int64_t id = rows_id(spans, item->row);
    (*ret_observations)[i] = (struct store_observation){.observation = (int64_t)i,
                                                        .span_id = id,
                                                        .start_ns = item->start,
                                                        .duration_ns = spans->duration_ns[item->row],
                                                        .warmup = is_warmup(&warmups, id)};
  }
  *ret_count = list->count;
  index_times(list, &relation->tree_arena);
  *ret_outside = assign(relation, list);
}
