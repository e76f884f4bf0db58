// SPDX-License-Identifier: Apache-2.0
// Unions of a run's spans by what they are, each joined to those before it: what a union adds is its part of the time. So
// the parts of an observation add up to its duration, whatever overlaps. Called by causes.c.
#include "analyze/causes/time_parts.h"

#include "analyze/causes/time_rows.h"

#include "base/sorted.h"

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

// `covered` and the spans of a part, of which there are at most `most`.
static struct busy join(struct time_parts_run *of, struct busy covered, enum time_part part, size_t most)
{
  struct busy_interval *room = arena_alloc_array(&of->scratch, covered.count + most + 1, sizeof *room);
  size_t count = 0;
  for (; count < covered.count; count++)
    room[count] = covered.items[count];
  for (size_t n = 0; n < time_parts_row_count(of); n++) {
    size_t i = time_parts_row_at(of, n);
    if (of->part_of[i] == part)
      room[count++] = time_parts_row_interval(&of->columns.spans, i);
  }
  return busy_of(room, count);
}

// How much of each observation `covered` covers, in ms; warm-ups are left out.
static void measure(const struct time_parts_run *of, const struct busy *covered, double *values)
{
  for (size_t k = 0; k < of->run->observation_count; k++) {
    const struct store_observation *observation = &of->run->observations[k];
    int64_t end_ns = saturate_add(observation->start_ns, observation->duration_ns);
    if (!observation->warmup && of->process_of[k] == of->process)
      values[of->places[k]] = (double)busy_within_ns(covered, observation->start_ns, end_ns) / 1e6;
  }
}

// Where a span's observation has its value; false: it is a warm-up, or the span is in none.
static bool place_of(const struct time_parts_run *of, size_t row, size_t *ret_place)
{
  uint32_t observation;
  if (!run_columns_observation(&of->columns, row, &observation) || of->run->observations[observation].warmup)
    return false;
  *ret_place = of->places[observation];
  return true;
}

// What an observation's own work takes on devices, also after its end, and its kernels.
static void measure_work(struct time_parts_run *of, size_t first, struct time_parts *ret)
{
  const struct store_spans *spans = &of->columns.spans;
  size_t observations = of->run->observation_count, place;
  struct busy_interval *intervals = arena_alloc_array(&of->scratch, time_parts_row_count(of) + 1, sizeof *intervals);
  size_t *from = arena_alloc_array(&of->scratch, observations + 3, sizeof *from);
  for (size_t n = 0; n < time_parts_row_count(of); n++)
    if (of->part_of[time_parts_row_at(of, n)] <= TIME_COPIES && place_of(of, time_parts_row_at(of, n), &place))
      from[place + 2]++;
  for (size_t p = 2; p < observations + 3; p++) // from[p + 1] is where the next of place p goes
    from[p] += from[p - 1];
  for (size_t n = 0; n < time_parts_row_count(of); n++) {
    size_t i = time_parts_row_at(of, n);
    if (of->part_of[i] > TIME_COPIES || !place_of(of, i, &place))
      continue;
    intervals[from[place + 1]++] = time_parts_row_interval(spans, i);
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
static int64_t alone_ns(const struct time_parts_run *of, size_t row, const struct busy *covered)
{
  struct busy_interval span = time_parts_row_interval(&of->columns.spans, row);
  return of->columns.spans.duration_ns[row] - busy_within_ns(covered, span.start_ns, span.end_ns);
}

// What calls take beyond `covered`, added up by name; of launches the longest.
static void add_calls(const struct time_parts_run *of, const struct busy *covered, enum time_part part,
                      struct parts_names *names)
{
  const struct store_spans *spans = &of->columns.spans;
  size_t place;
  for (size_t n = 0; n < time_parts_row_count(of); n++) {
    size_t i = time_parts_row_at(of, n);
    if (of->part_of[i] != part || !place_of(of, i, &place))
      continue;
    int64_t ns = alone_ns(of, i, covered);
    if (part == TIME_CALLS) {
      uint64_t *sum_ns = map_at(&names->calls, map_number(spans->name[i]), NULL);
      *sum_ns = (uint64_t)saturate_add((int64_t)*sum_ns, ns);
    } else if (ns > names->longest_ns) {
      names->longest_ns = ns;
      names->longest = spans->name[i];
    }
  }
}

SORTED_BY(compare_host_spans, struct host_span, RISING(name) ?: RISING(place) ?: RISING(start_ns))

static size_t find_host_spans(const struct time_parts_run *of, struct host_span *items)
{
  size_t count = 0, place;
  for (size_t n = 0; n < time_parts_row_count(of); n++) {
    size_t i = time_parts_row_at(of, n);
    if (of->part_of[i] < TIME_LOADER || of->part_of[i] > TIME_RANGES || !place_of(of, i, &place))
      continue;
    const struct store_observation *observation = &of->run->observations[of->columns.derived.observation[i]];
    struct busy_interval span = time_parts_row_interval(&of->columns.spans, i);
    int64_t end_ns = saturate_add(observation->start_ns, observation->duration_ns);
    items[count++] = (struct host_span){of->columns.spans.name[i], place,
                                        span.start_ns > observation->start_ns ? span.start_ns : observation->start_ns,
                                        span.end_ns < end_ns ? span.end_ns : end_ns};
  }
  qsort(items, count, sizeof *items, compare_host_spans);
  return count;
}

// Spans of one name that overlap count once.
static void add_hosts(struct time_parts_run *of, const struct busy *devices, size_t first, struct map *hosts_ns)
{
  struct host_span *items = arena_alloc_array(&of->scratch, time_parts_row_count(of) + 1, sizeof *items);
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

static void measure_process(struct time_parts_run *of, size_t first, struct time_parts *ret, struct parts_names *names)
{
  size_t spans_of[TIME_PARTS + 1] = {0};
  struct busy covered = {0};
  bool has_layers = false;
  for (size_t n = 0, place; n < time_parts_row_count(of); n++) {
    size_t i = time_parts_row_at(of, n);
    spans_of[of->part_of[i]]++;
    has_layers = has_layers || (of->part_of[i] == TIME_LAYERS && place_of(of, i, &place));
  }
  ret->has_device |= spans_of[TIME_KERNELS] + spans_of[TIME_COPIES] > 0;
  ret->has_layers |= has_layers;
  for (enum time_part part = 0; part < TIME_PARTS; part++) {
    if (part == TIME_LAUNCHES || part == TIME_CALLS)
      add_calls(of, &covered, part, names);
    if (part == TIME_LOADER && !has_layers)
      add_hosts(of, &covered, first, &names->hosts);
    if (spans_of[part] > 0)
      covered = join(of, covered, part, spans_of[part]);
    measure(of, &covered, ret->parts[part] + first); // with all parts before it
  }
  const struct busy loader = join(of, (struct busy){0}, TIME_LOADER, spans_of[TIME_LOADER]);
  measure(of, &loader, ret->loader + first);
  measure_work(of, first, ret);
  arena_done(&of->scratch);
}

static void measure_run(struct time_parts_run *of, size_t first, struct time_parts *ret, struct parts_names *names)
{
  for (of->process = 0; of->process < of->process_count; of->process++)
    for (size_t k = 0; k < of->run->observation_count; k++)
      if (of->process_of[k] == of->process) {
        measure_process(of, first, ret, names);
        break;
      }
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
    struct arena scratch SCOPED(arena_done) = {0};
    struct time_parts_run of = {.run = set->runs[i]};
    status = time_parts_load_rows(question, &scratch, &of, err);
    if (status == STATUS_OK)
      measure_run(&of, first, ret, &names);
    for (size_t k = 0; k < of.run->observation_count; k++)
      first += !of.run->observations[k].warmup;
    ret->has_devices |= of.devices.count > 1;
    finding_time_add_loaders(&ret->loaders, &of.found);
    ret->has_program |= of.has_program;
    map_done(&of.foreign);
    map_done(&of.devices);
    map_done(&of.loaders);
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
