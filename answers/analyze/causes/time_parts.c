// SPDX-License-Identifier: Apache-2.0
// Unions of a run's spans by what they are, each joined to those before it: what a union adds is its part of the time. So
// the parts of an observation add up to its duration, whatever overlaps. Called by causes.c.
#include "analyze/causes/time_parts.h"

#include "analyze/layers/busy.h"
#include "analyze/run_columns.h"
#include "base/saturate.h"
#include "base/slice.h"

#include <string.h>

struct parts_names {  // by name: nanoseconds
  struct map calls;   // what calls take beyond the parts before them, of all observations
  int64_t longest_ns; // of one launch beyond the parts before it
  uint32_t longest;   // its name
  struct map hosts;   // by name and place: the host's spans while no device works
};

struct host_span { // within its observation
  uint32_t name;
  size_t place;
  int64_t start_ns, end_ns;
};

struct parts_run {
  const struct view_run *run;
  struct run_columns columns;
  struct map foreign;          // tracks whose times cannot be compared
  struct map devices;          // by id
  struct map loaders;          // by name: 1: a data loader, 2: not
  uint32_t api, sync, program; // categories
  size_t *places;              // by observation: its place among those that are no warm-up
  bool has_processes;          // a loader of PyTorch with processes of its own
  uint8_t *part_of;            // by row: enum time_part; TIME_PARTS: none
};

static bool names_loader(struct parts_run *of, uint32_t name)
{
  uint64_t *known = map_at(&of->loaders, map_number(name), NULL);
  if (*known == 0) {
    const char *text = store_text(of->columns.store, name, NULL);
    *known = finding_time_is_loader(text) ? 1 : 2;
    of->has_processes |= *known == 1 && strstr(text, "_MultiProcessing") != NULL;
  }
  return *known == 1;
}

// On the thread of its observation: what a loader's own thread does is no wait.
static bool is_loader(struct parts_run *of, size_t row)
{
  const struct store_spans *spans = &of->columns.spans;
  uint32_t observation;
  if (spans->level[row] == XSP_LEVEL_KERNEL || spans->kind[row] == XSP_KIND_EXECUTION ||
      !run_columns_observation(&of->columns, row, &observation))
    return false;
  uint32_t around = run_columns_row(&of->columns, of->run->observations[observation].span_id);
  return around != ROW_NONE && around != row && spans->track_id[around] == spans->track_id[row] &&
         names_loader(of, spans->name[row]);
}

// A wait of the host that is recorded among executions is not work of the device.
static enum time_part part_of(struct parts_run *of, size_t row)
{
  const struct run_columns *columns = &of->columns;
  const struct store_spans *spans = &columns->spans;
  uint32_t category = spans->category[row];
  if (spans->kind[row] == XSP_KIND_EXECUTION && category != of->sync)
    return category == columns->memcpy || category == columns->memset ? TIME_COPIES : TIME_KERNELS;
  if (is_loader(of, row))
    return TIME_LOADER;
  if (spans->level[row] == XSP_LEVEL_KERNEL && category == of->api)
    return spans->kind[row] == XSP_KIND_LAUNCH ? TIME_LAUNCHES : TIME_CALLS;
  if (spans->level[row] == XSP_LEVEL_LAYER)
    return TIME_LAYERS;
  return spans->level[row] == XSP_LEVEL_MODEL || category == of->program ? TIME_PARTS : TIME_RANGES;
}

static uint32_t category(struct store *store, const char *name)
{
  uint32_t id;
  return store_find_string(store, name, strlen(name), &id) ? id : ROW_NONE;
}

static enum status load(struct question *question, struct arena *arena, struct parts_run *of, struct error *err)
{
  struct store *store = question->view->store;
  const uint32_t wanted = STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_NAME) |
                          STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_KIND) | STORE_BIT(STORE_FLAGS) |
                          STORE_BIT(STORE_TRACK_ID);
  struct store_track *tracks;
  size_t track_count;
  XSP_TRY(run_columns_load(question, of->run, wanted, arena, &of->columns, err));
  XSP_TRY(store_tracks(store, of->run->run->run_id, arena, &tracks, &track_count, err));
  for (size_t i = 0; i < track_count; i++) {
    if (tracks[i].clock != NULL)
      *map_at(&of->foreign, map_number((uint64_t)tracks[i].track_id), NULL) = 1;
    if (tracks[i].device_id != STORE_NONE)
      map_at(&of->devices, map_number((uint64_t)tracks[i].device_id), NULL);
  }
  of->api = category(store, "api");
  of->sync = category(store, "sync");
  of->program = category(store, "program");
  of->places = arena_alloc_array(arena, of->run->observation_count + 1, sizeof *of->places);
  for (size_t k = 0, place = 0; k < of->run->observation_count; k++) {
    of->places[k] = place;
    place += !of->run->observations[k].warmup;
  }
  const struct store_spans *spans = &of->columns.spans;
  of->part_of = arena_alloc_array(arena, spans->count + 1, sizeof *of->part_of);
  for (size_t i = 0; i < spans->count; i++) {
    bool has_times =
        !(spans->flags[i] & STORE_SPAN_OPEN) && map_find(&of->foreign, map_number(spans->track_id[i])) == NULL;
    of->part_of[i] = (uint8_t)(has_times ? part_of(of, i) : TIME_PARTS);
  }
  return STATUS_OK;
}

static struct busy_interval interval_of(const struct store_spans *spans, size_t row)
{
  return (struct busy_interval){spans->start_ns[row], saturate_add(spans->start_ns[row], spans->duration_ns[row]), 0};
}

// `covered` and the spans of a part. `room` has room for both.
static struct busy join(const struct parts_run *of, struct busy covered, enum time_part part,
                        struct busy_interval *room)
{
  size_t count = 0;
  for (; count < covered.count; count++)
    room[count] = covered.items[count];
  for (size_t i = 0; i < of->columns.spans.count; i++)
    if (of->part_of[i] == part)
      room[count++] = interval_of(&of->columns.spans, i);
  return busy_of(room, count);
}

// How much of each observation `covered` covers, in ms; warm-ups are left out.
static void measure(const struct parts_run *of, const struct busy *covered, double *values)
{
  for (size_t k = 0; k < of->run->observation_count; k++) {
    const struct store_observation *observation = &of->run->observations[k];
    int64_t end_ns = saturate_add(observation->start_ns, observation->duration_ns);
    if (!observation->warmup)
      *values++ = (double)busy_within_ns(covered, observation->start_ns, end_ns) / 1e6;
  }
}

// Where a span's observation has its value; false: it is a warm-up, or the span is in none.
static bool place_of(const struct parts_run *of, size_t row, size_t *ret_place)
{
  uint32_t observation;
  if (!run_columns_observation(&of->columns, row, &observation) || of->run->observations[observation].warmup)
    return false;
  *ret_place = of->places[observation];
  return true;
}

// What an observation's own work takes on devices, also after its end, and its kernels.
static void measure_work(const struct parts_run *of, size_t first, struct time_parts *ret)
{
  const struct store_spans *spans = &of->columns.spans;
  size_t observations = of->run->observation_count, place;
  struct busy_interval *intervals = arena_alloc_array(of->columns.arena, spans->count + 1, sizeof *intervals);
  size_t *from = arena_alloc_array(of->columns.arena, observations + 3, sizeof *from);
  for (size_t i = 0; i < spans->count; i++)
    if (of->part_of[i] <= TIME_COPIES && place_of(of, i, &place))
      from[place + 2]++;
  for (size_t p = 2; p < observations + 3; p++) // from[p + 1] is where the next of place p goes
    from[p] += from[p - 1];
  for (size_t i = 0; i < spans->count; i++) {
    if (of->part_of[i] > TIME_COPIES || !place_of(of, i, &place))
      continue;
    intervals[from[place + 1]++] = interval_of(spans, i);
    if (spans->category[i] != of->columns.kernel)
      continue;
    ret->kernels[first + place]++;
    ret->kernel_sums[first + place] += (double)spans->duration_ns[i] / 1e6;
  }
  for (size_t p = 0; p < observations; p++) {
    struct busy work = busy_of(intervals + from[p], from[p + 1] - from[p]);
    if (work.count > 0)
      ret->work[first + p] = (double)busy_within_ns(&work, INT64_MIN, INT64_MAX) / 1e6;
  }
}

// What a span takes beyond `covered`.
static int64_t alone_ns(const struct parts_run *of, size_t row, const struct busy *covered)
{
  struct busy_interval span = interval_of(&of->columns.spans, row);
  return of->columns.spans.duration_ns[row] - busy_within_ns(covered, span.start_ns, span.end_ns);
}

// Adds up by name what calls take beyond `covered`, of all observations.
static void add_calls(const struct parts_run *of, const struct busy *covered, struct map *calls_ns)
{
  const struct store_spans *spans = &of->columns.spans;
  size_t place;
  for (size_t i = 0; i < spans->count; i++) {
    if (of->part_of[i] != TIME_CALLS || !place_of(of, i, &place))
      continue;
    uint64_t *sum_ns = map_at(calls_ns, map_number(spans->name[i]), NULL);
    *sum_ns = (uint64_t)saturate_add((int64_t)*sum_ns, alone_ns(of, i, covered));
  }
}

static void find_longest_launch(const struct parts_run *of, const struct busy *covered, struct parts_names *names)
{
  const struct store_spans *spans = &of->columns.spans;
  size_t place;
  for (size_t i = 0; i < spans->count; i++) {
    if (of->part_of[i] != TIME_LAUNCHES || !place_of(of, i, &place))
      continue;
    int64_t launch_ns = alone_ns(of, i, covered);
    if (launch_ns > names->longest_ns) {
      names->longest_ns = launch_ns;
      names->longest = spans->name[i];
    }
  }
}

static int compare_host_spans(const void *left, const void *right)
{
  const struct host_span *a = left, *b = right;
  if (a->name != b->name)
    return a->name < b->name ? -1 : 1;
  if (a->place != b->place)
    return a->place < b->place ? -1 : 1;
  return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static size_t find_host_spans(const struct parts_run *of, struct host_span *items)
{
  size_t count = 0, place;
  for (size_t i = 0; i < of->columns.spans.count; i++) {
    if (of->part_of[i] < TIME_LOADER || of->part_of[i] > TIME_RANGES || !place_of(of, i, &place))
      continue;
    const struct store_observation *observation = &of->run->observations[of->columns.derived.observation[i]];
    struct busy_interval span = interval_of(&of->columns.spans, i);
    int64_t end_ns = saturate_add(observation->start_ns, observation->duration_ns);
    items[count++] = (struct host_span){of->columns.spans.name[i], place,
                                        span.start_ns > observation->start_ns ? span.start_ns : observation->start_ns,
                                        span.end_ns < end_ns ? span.end_ns : end_ns};
  }
  qsort(items, count, sizeof *items, compare_host_spans);
  return count;
}

// Spans of one name that overlap count once.
static void add_hosts(const struct parts_run *of, const struct busy *devices, size_t first, struct map *hosts_ns)
{
  struct host_span *items = arena_alloc_array(of->columns.arena, of->columns.spans.count + 1, sizeof *items);
  size_t count = find_host_spans(of, items);
  int64_t reach_ns = INT64_MIN;
  for (size_t i = 0; i < count; i++) {
    const struct host_span *item = &items[i];
    if (i == 0 || item->name != items[i - 1].name || item->place != items[i - 1].place)
      reach_ns = INT64_MIN;
    int64_t start_ns = item->start_ns > reach_ns ? item->start_ns : reach_ns;
    if (item->end_ns <= start_ns)
      continue;
    reach_ns = item->end_ns;
    int64_t idle_ns = item->end_ns - start_ns - busy_within_ns(devices, start_ns, item->end_ns);
    *map_at(hosts_ns, (struct map_key){item->name, first + item->place}, NULL) += (uint64_t)idle_ns;
  }
}

static void measure_run(struct parts_run *of, size_t first, struct time_parts *ret, struct parts_names *names)
{
  struct arena *arena = of->columns.arena;
  size_t spans_of[TIME_PARTS + 1] = {0};
  struct busy covered = {0};
  for (size_t i = 0; i < of->columns.spans.count; i++)
    spans_of[of->part_of[i]]++;
  ret->has_device |= spans_of[TIME_KERNELS] + spans_of[TIME_COPIES] > 0;
  bool has_layers = false;
  for (size_t i = 0, place; i < of->columns.spans.count && !has_layers; i++)
    has_layers = of->part_of[i] == TIME_LAYERS && place_of(of, i, &place);
  ret->has_layers |= has_layers;
  for (size_t i = 0; i < of->columns.spans.count && !ret->has_program; i++)
    ret->has_program = of->columns.spans.category[i] == of->program;
  for (enum time_part part = 0; part < TIME_PARTS; part++) {
    if (part == TIME_LAUNCHES)
      find_longest_launch(of, &covered, names);
    if (part == TIME_CALLS)
      add_calls(of, &covered, &names->calls);
    if (part == TIME_LOADER && !has_layers)
      add_hosts(of, &covered, first, &names->hosts);
    struct busy_interval *room = arena_alloc_array(arena, covered.count + spans_of[part] + 1, sizeof *room);
    covered = join(of, covered, part, room);
    measure(of, &covered, ret->parts[part] + first); // with all parts before it
  }
  struct busy_interval *room = arena_alloc_array(arena, spans_of[TIME_LOADER] + 1, sizeof *room);
  struct busy loader = join(of, (struct busy){0}, TIME_LOADER, room);
  measure(of, &loader, ret->loader + first);
  measure_work(of, first, ret);
}

// The call with more than half of the time of all.
static const char *main_call(struct store *store, const struct map *calls_ns)
{
  uint64_t most_ns = 0, sum_ns = 0, name = 0;
  for (size_t i = 0; i < calls_ns->slot_count; i++) {
    sum_ns += calls_ns->slots[i].value;
    if (calls_ns->slots[i].value > most_ns) {
      most_ns = calls_ns->slots[i].value;
      name = calls_ns->slots[i].key.a;
    }
  }
  return most_ns > sum_ns / 2 ? store_text(store, (uint32_t)name, NULL) : NULL;
}

// The name with most time, and its time in each observation.
static void find_host(const struct view *view, const struct view_set *set, const struct map *hosts_ns,
                      struct time_parts *ret)
{
  struct map sums_ns = {0};
  uint64_t most_ns = 0, name = 0;
  for (size_t i = 0; i < hosts_ns->slot_count; i++) {
    uint64_t *sum_ns = map_at(&sums_ns, map_number(hosts_ns->slots[i].key.a), NULL);
    *sum_ns += hosts_ns->slots[i].value;
  }
  for (size_t i = 0; i < sums_ns.slot_count; i++) {
    const struct map_slot *slot = &sums_ns.slots[i];
    if (slot->value > most_ns || (slot->value == most_ns && slot->key.a < name)) {
      most_ns = slot->value;
      name = slot->key.a;
    }
  }
  map_done(&sums_ns);
  if (most_ns == 0)
    return;
  ret->host_name = store_text(view->store, (uint32_t)name, NULL);
  for (size_t k = 0; k < set->observation_count; k++) {
    const uint64_t *ns = map_find(hosts_ns, (struct map_key){name, k});
    ret->host[k] = ns == NULL ? 0 : (double)*ns / 1e6;
  }
}

static void start(const struct view_set *set, struct arena *arena, struct time_parts *ret)
{
  *ret = (struct time_parts){0};
  size_t count = set->observation_count + 1;
  for (size_t part = 0; part < TIME_PARTS; part++)
    ret->parts[part] = arena_alloc_array(arena, count, sizeof *ret->parts[part]);
  ret->loader = arena_alloc_array(arena, count, sizeof *ret->loader);
  ret->host = arena_alloc_array(arena, count, sizeof *ret->host);
  ret->work = arena_alloc_array(arena, count, sizeof *ret->work);
  ret->kernels = arena_alloc_array(arena, count, sizeof *ret->kernels);
  ret->kernel_sums = arena_alloc_array(arena, count, sizeof *ret->kernel_sums);
}

enum status time_parts_load(struct question *question, const struct view_set *set, struct time_parts *ret,
                            struct error *err)
{
  if (question->parts_set == set) {
    *ret = *question->parts;
    return STATUS_OK;
  }
  const struct view *view = question->view;
  enum status status = STATUS_OK;
  struct parts_names names = {0};
  start(set, question->scratch, ret);
  for (size_t i = 0, first = 0; i < set->run_count && status == STATUS_OK; i++) {
    struct arena scratch = {0};
    struct parts_run of = {.run = set->runs[i]};
    status = load(question, &scratch, &of, err);
    if (status == STATUS_OK)
      measure_run(&of, first, ret, &names);
    for (size_t k = 0; k < of.run->observation_count; k++)
      first += !of.run->observations[k].warmup;
    ret->has_devices |= of.devices.count > 1;
    ret->loader_has_processes |= of.has_processes;
    map_done(&of.foreign);
    map_done(&of.devices);
    map_done(&of.loaders);
    arena_done(&scratch);
  }
  for (size_t k = 0; k < set->observation_count; k++) {
    ret->parts[TIME_REST][k] = set->latencies_ms[k];
    for (size_t part = TIME_REST; part > 0; part--)
      ret->parts[part][k] -= ret->parts[part - 1][k];
  }
  double operators_ms = 0, longest_ms = (double)names.longest_ns / 1e6;
  for (size_t k = 0; k < set->observation_count; k++)
    operators_ms += ret->parts[TIME_LAUNCHES][k] + ret->parts[TIME_LAYERS][k];
  if (longest_ms > operators_ms / 2) {
    ret->launch = store_text(view->store, names.longest, NULL);
    ret->launch_ms = longest_ms;
  }
  ret->call = main_call(view->store, &names.calls);
  find_host(view, set, &names.hosts, ret);
  map_done(&names.calls);
  map_done(&names.hosts);
  if (status == STATUS_OK) {
    question->parts = memcpy(arena_alloc(question->scratch, sizeof *ret), ret, sizeof *ret);
    question->parts_set = set;
  }
  return status;
}
