// SPDX-License-Identifier: Apache-2.0
// F13, memory growth: an allocator holds more at the end of each observation than of the one before. The place is where most of
// what was not released is allocated.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "base/saturate.h"
#include "base/sorted.h"

#include <math.h>

#define GROWTHS_LEAST 5

enum key { KEY_TOTAL, KEY_BYTES, KEY_BLOCK_BYTES, KEY_ADDRESS, KEY_MEMORY, KEY_DEVICE_TYPE, KEY_DEVICE_INDEX, KEYS };
struct event { // an allocation or a release
  int64_t start_ns, total_bytes, bytes, address;
  uint32_t row, memory; // memory: its kind, string id
  uint32_t device;      // by tags, of PyTorch's on their threads: its kind and index
  uint64_t allocator;   // by kind of memory and device
  bool is_block;        // of a source that leaves out blocks that are released soon: its totals hold those, too
  bool is_allocation;   // of a block
};
struct memory_run {
  struct findings *findings;
  const struct places_run *places;
  struct run_columns columns;
  struct map processes;        // by track
  uint64_t process;            // of the observations: what others hold is theirs
  VECTOR(struct event) events; // by time
  struct map devices;          // by track
  struct map allocators;       // by kind of memory and device
  size_t allocator_count;
  struct map totals;     // by allocator: bytes
  struct map unreleased; // by address and allocator, since devices have addresses of their own: event + 1
};
struct growth {
  VECTOR(double) bytes; // from the end of each observation to that of the next
  struct tally kept;    // bytes that were not released, by place
};

static void read_tag(struct event *event, const struct store_tag *tag, const uint32_t *keys)
{
  if (tag->key == keys[KEY_MEMORY] && tag->type == STORE_TEXT)
    event->memory = tag->value.string;
  if (tag->type != STORE_INT)
    return;
  if (tag->key == keys[KEY_TOTAL])
    event->total_bytes = tag->value.integer;
  if (tag->key == keys[KEY_BYTES])
    event->bytes = tag->value.integer;
  if (tag->key == keys[KEY_BLOCK_BYTES]) {
    event->bytes = tag->value.integer;
    event->is_block = true;
  }
  if (tag->key == keys[KEY_ADDRESS])
    event->address = tag->value.integer;
  if (tag->key == keys[KEY_DEVICE_TYPE])
    event->device |= (uint32_t)tag->value.integer << 16;
  if (tag->key == keys[KEY_DEVICE_INDEX])
    event->device |= (uint16_t)tag->value.integer;
}

SORTED_BY(compare_events, struct event, RISING(start_ns) ?: RISING(row))

static uint64_t process_of(const struct memory_run *of, uint32_t row)
{
  const uint64_t *process = map_find(&of->processes, map_number(of->columns.spans.track_id[row]));
  return process != NULL ? *process : UINT64_MAX;
}

// `track`: the number of its track's device.
static uint64_t allocator_of(struct memory_run *of, const struct event *event, uint64_t track)
{
  bool is_new;
  uint64_t *allocator =
      map_at(&of->allocators, (struct map_key){(uint64_t)event->memory << 32 | event->device, track}, &is_new);
  if (is_new)
    *allocator = of->allocator_count++;
  return *allocator;
}

static struct map_key place_in_memory(const struct event *event)
{
  return (struct map_key){(uint64_t)event->address, event->allocator};
}

struct reading_tags {
  const struct run_columns *columns;
  const uint32_t *keys;
  const uint32_t *event_of; // by row: its place in `events`, + 1; 0: it is none
  struct event *events;
};

static enum status visit_tags(void *context, const struct store_tag *tags, size_t count, struct error *err)
{
  const struct reading_tags *reading = context;
  for (size_t i = 0; i < count; i++) {
    uint32_t row = run_columns_row(reading->columns, tags[i].span_id);
    if (row != ROW_NONE && reading->event_of[row] != 0)
      read_tag(&reading->events[reading->event_of[row] - 1], &tags[i], reading->keys);
  }
  return STATUS_OK;
}

// Spans of the category, with what their tags tell.
static enum status list_events(struct memory_run *of, uint32_t memory, const uint32_t *keys, struct arena *arena,
                               struct error *err)
{
  const struct store_spans *spans = &of->columns.spans;
  uint32_t *event_of = arena_alloc_array(arena, spans->count + 1, sizeof *event_of);
  for (uint32_t row = 0; row < spans->count; row++) {
    if (spans->category[row] != memory)
      continue;
    *vector_add(&of->events) = (struct event){.start_ns = spans->start_ns[row], .total_bytes = -1, .row = row};
    event_of[row] = (uint32_t)of->events.count;
  }
  struct reading_tags reading = {&of->columns, keys, event_of, of->events.items};
  return store_walk_tags_of(of->columns.store, of->columns.run->run->run_id, keys, KEYS, visit_tags, &reading, err);
}

// Those that have a total, of the observations' process, with times that compare with the observations'.
static enum status read_events(struct memory_run *of, struct arena *arena, struct error *err)
{
  static const char *const names[KEYS] = {"total_bytes", "bytes",       "block_bytes", "address",
                                          "memory_kind", "device_type", "device_index"};
  uint32_t keys[KEYS] = {0}, memory = 0, allocate = 0;
  size_t kept = 0;
  for (size_t i = 0; i < KEYS; i++)
    if (!store_find_string(of->columns.store, names[i], strlen(names[i]), &keys[i]))
      keys[i] = 0;
  (void)store_find_string(of->columns.store, "allocate", 8, &allocate);
  if (!store_find_string(of->columns.store, "memory", 6, &memory) || keys[KEY_TOTAL] == 0)
    return STATUS_OK;
  XSP_TRY(list_events(of, memory, keys, arena, err));
  bool rises = true;
  for (size_t i = 0; i < of->events.count; i++) {
    struct event event = of->events.items[i];
    event.is_allocation = of->columns.spans.name[event.row] == allocate;
    const uint64_t *device = map_find(&of->devices, map_number(of->columns.spans.track_id[event.row]));
    if (event.total_bytes < 0 || process_of(of, event.row) != of->process || device == NULL)
      continue;
    event.allocator = allocator_of(of, &event, *device);
    rises &= kept == 0 || compare_events(&of->events.items[kept - 1], &event) < 0;
    of->events.items[kept++] = event;
  }
  of->events.count = kept;
  if (!rises)
    vector_sort(&of->events, compare_events);
  return STATUS_OK;
}

// Returns what all allocators hold together afterwards.
static double happen(struct memory_run *of, double held_bytes, size_t index)
{
  const struct event *event = &of->events.items[index];
  uint64_t *total = map_at(&of->totals, map_number(event->allocator), NULL); // an int64_t
  uint64_t *unreleased = map_at(&of->unreleased, place_in_memory(event), NULL);
  const int64_t before = (int64_t)*total,
                grown = event->is_allocation ? event->bytes : saturate_subtract(0, event->bytes);
  const int64_t now = event->is_block ? saturate_add(before, grown) : event->total_bytes;
  held_bytes += (double)now - (double)before;
  *unreleased = now > before ? index + 1 : 0;
  *total = (uint64_t)now;
  return held_bytes;
}

static void measure(struct memory_run *of, struct growth *growth)
{
  const struct view_run *run = of->columns.run;
  double held_bytes = 0, before_bytes = NAN;
  size_t at = 0;
  for (size_t i = 0; i < run->observation_count; i++) {
    const struct store_observation *observation = &run->observations[i];
    int64_t end_ns = saturate_add(observation->start_ns, observation->duration_ns);
    while (at < of->events.count && of->events.items[at].start_ns < end_ns)
      held_bytes = happen(of, held_bytes, at++);
    if (observation->warmup)
      continue;
    if (!isnan(before_bytes))
      *vector_add(&growth->bytes) = held_bytes - before_bytes;
    before_bytes = held_bytes;
  }
  while (at < of->events.count)
    happen(of, 0, at++);
  for (size_t i = 0; i < of->events.count; i++) {
    const struct event *event = &of->events.items[i];
    const uint64_t *last = map_find(&of->unreleased, place_in_memory(event));
    if (*last == i + 1 && of->places->counts[event->row] != COUNTS_NOT)
      tally_add(of->findings, &growth->kept, of->places->place_of[event->row], (double)event->bytes);
  }
}

static enum status load_run(struct memory_run *of, const struct view_run *run, struct growth *growth, struct error *err)
{
  enum {
    COLUMNS = STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_NAME) | STORE_BIT(STORE_TRACK_ID)
  };
  struct store *store = of->findings->question->view->store;
  struct arena arena SCOPED(arena_done) = {0};
  size_t processes, devices;
  enum status status = run_columns_load(of->findings->question, run, COLUMNS, &arena, &of->columns, err);
  if (status == STATUS_OK)
    status = run_processes_load(store, run->run->run_id, &arena, &of->processes, &processes, err);
  if (status == STATUS_OK)
    status = run_devices_load(store, run->run->run_id, &arena, &of->devices, &devices, err);
  if (status == STATUS_OK && run->observation_count > 0) {
    uint32_t row = run_columns_row(&of->columns, run->observations[0].span_id);
    of->process = row != ROW_NONE ? process_of(of, row) : UINT64_MAX;
    status = read_events(of, &arena, err);
  }
  if (status == STATUS_OK && of->events.count > 0)
    measure(of, growth);
  vector_done(&of->events);
  map_done(&of->processes);
  map_done(&of->devices);
  map_done(&of->allocators);
  map_done(&of->totals);
  map_done(&of->unreleased);
  return status;
}

static void add(struct findings *findings, struct growth *growth, double bytes, double low_bytes)
{
  struct finding *finding = findings_add(findings);
  finding->context = "tensors that are not released";
  if (growth->kept.ns != NULL)
    tally_fill(findings, &growth->kept, finding);
  finding->time_ms = finding->share_pct = NAN; // it is about bytes
  finding->title =
      arena_format(findings->question->arena, "memory grows by %.3g MB with each observation", bytes / 1e6);
  finding->advice =
      "keep no tensors with their graph from step to step: .item() or .detach() of losses; look for lists, "
      "caches and hooks that hold tensors";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "growth_bytes", bytes);
  finding_number(finding, "growth_low_bytes", low_bytes);
  finding_number(finding, "growths", (double)growth->bytes.count);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct view_set *set = findings->set;
  const struct places *places;
  struct growth growth = {0};
  XSP_TRY(findings_places(findings, &places, err));
  enum status status = STATUS_OK;
  for (size_t i = 0; i < set->run_count && status == STATUS_OK; i++) {
    struct memory_run of = {.findings = findings, .places = &places->runs[i]};
    status = load_run(&of, set->runs[i], &growth, err);
  }
  struct estimate mean = estimate_trimmed(growth.bytes.items, growth.bytes.count);
  double low_bytes = mean.mean - estimate_reach(mean, 0.95);
  if (status == STATUS_OK && growth.bytes.count < GROWTHS_LEAST)
    status = findings_lack(findings, err, "it has fewer than six observations, or no allocations with total_bytes");
  else if (status == STATUS_OK && low_bytes > findings_threshold(findings, "memory_growth-bytes"))
    add(findings, &growth, mean.mean, low_bytes);
  vector_done(&growth.bytes);
  return status;
}

const struct finding_rule finding_f13 = {
    .id = "F13",
    .key = "memory_growth",
    .title = "memory that grows with each observation",
    .thresholds = {{"memory_growth-bytes", "B", 10000, "lower end of the 95 % interval of the growth"}},
    .find = find,
};
