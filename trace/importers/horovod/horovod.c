// SPDX-License-Identifier: Apache-2.0
// Horovod's timeline (HOROVOD_TIMELINE): a process of Chrome trace events for each tensor, written by rank 0. While ranks negotiate, a tick
// says when each of them was ready: it has come to the collective, which ends for all together. See docs/importers.md.
//
//      B NEGOTIATE_ALLREDUCE   X "0"   X "1"   E      B ALLREDUCE   B MPI_ALLREDUCE   E   E {"dtype": …, "shape": …}
#include "base/map.h"
#include "base/vector.h"
#include "importers/trace_events/trace_events.h"

#include <inttypes.h>
#include <string.h>

#define NEGOTIATION "NEGOTIATE_"
#define RANKS_MOST 65536
#define DEPTH_MOST 4u // a collective, and what it consists of

static int recognize(struct slice head, bool is_all)
{
  head = import_json_head(head);
  bool is_list = slice_starts_with(head, "[") && slice_contains(head, "\"ph\"");
  return is_list && (slice_contains(head, "\"start_time_since_epoch_in_micros\"") ||
                     slice_contains(head, "\"" NEGOTIATION))
             ? 3
             : 0;
}

struct ready { // a rank
  int64_t rank, time_ns;
};
struct tensor {
  uint32_t name, track_id;
  uint32_t depth;
  struct {
    uint32_t name;
    int64_t start_ns;
  } open[DEPTH_MOST];
  bool is_negotiated;
  int64_t negotiation_ns;     // where it was: its start
  VECTOR(struct ready) ready; // ranks, for the collective that follows
};
struct collective { // that ended
  uint32_t tensor;  // place
  uint32_t name;
  int64_t start_ns, end_ns, bytes, number;
};
struct rank_lane { // of a rank: its collectives overlap
  int64_t rank, end_ns;
  uint32_t track_id;
  size_t next; // of the rank: its place + 1; 0: there is none
};
struct reading {
  struct import *import;
  struct map places; // by pid, as id of its text: place in `tensors`, from 1
  VECTOR(struct tensor) tensors;
  VECTOR(struct rank_lane) lanes;
  struct map first_lane_of;           // by rank: place + 1
  VECTOR(struct collective) unticked; // until it is known whether ticks name ranks
  int64_t last_span_id, rank_count, collectives, zero_ns, last_ns;
};

// ---- tracks ----------------------------------------------------------------------------------------------------------
static struct tensor *tensor_of(struct reading *reading, const struct trace_event *event)
{
  uint64_t *place = map_at(&reading->places, map_number(import_slice(reading->import, event->process_id.raw)), NULL);
  if (*place == 0) {
    *vector_add(&reading->tensors) = (struct tensor){0};
    *place = reading->tensors.count;
  }
  return &reading->tensors.items[*place - 1];
}

static enum status make_track(struct reading *reading, const char *name, uint32_t *ret_track_id, struct error *err)
{
  struct store_track track = IMPORT_NO_PLACE;
  track.name = name;
  return import_track(reading->import, &track, ret_track_id, err);
}

// Collectives come by their end: one that begins after the end of another fits behind it.
static enum status lane_of(struct reading *reading, int64_t rank, int64_t start_ns, int64_t end_ns,
                           uint32_t *ret_track_id, struct error *err)
{
  uint64_t *first = map_at(&reading->first_lane_of, map_number((uint64_t)rank), NULL);
  size_t place = (size_t)*first, last = 0;
  for (; place != 0 && reading->lanes.items[place - 1].end_ns > start_ns; place = reading->lanes.items[place - 1].next)
    last = place;
  if (place == 0) {
    struct rank_lane lane = {.rank = rank};
    XSP_TRY(make_track(reading, "collectives", &lane.track_id, err));
    *vector_add(&reading->lanes) = lane;
    place = reading->lanes.count;
    if (last != 0)
      reading->lanes.items[last - 1].next = place;
    else
      *first = place;
  }
  reading->lanes.items[place - 1].end_ns = end_ns;
  *ret_track_id = reading->lanes.items[place - 1].track_id;
  return STATUS_OK;
}

// ---- spans -----------------------------------------------------------------------------------------------------------
static const char *kind_of(struct slice name) // NULL: it is no collective, as "ERROR"
{
  static const char *const kinds[][2] = {{"ALLREDUCE", "all_reduce"}, {"ADASUM", "all_reduce"},
                                         {"ALLGATHER", "all_gather"}, {"BROADCAST", "broadcast"},
                                         {"ALLTOALL", "all_to_all"},  {"REDUCESCATTER", "reduce_scatter"},
                                         {"BARRIER", "barrier"}};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (slice_is(name, kinds[i][0]))
      return kinds[i][1];
  return NULL;
}

// Of {"dtype": "float32", "shape": "[10, 3]"}; less than 0: unknown.
static int64_t bytes_of(const struct trace_event *event)
{
  const struct trace_argument *type = trace_find(event, "dtype"), *shape = trace_find(event, "shape");
  if (type == NULL || shape == NULL || shape->value.type != TRACE_STRING || type->value.type != TRACE_STRING)
    return -1;
  struct slice digits = type->value.raw, rest = slice_trim(shape->value.raw), part;
  int64_t bits = 8, bytes, length;
  while (digits.length > 0 && (*digits.data < '0' || *digits.data > '9'))
    digits = slice_after(digits, 1);
  if ((digits.length > 0 && !slice_int64(digits, &bits)) || !slice_starts_with(rest, "[") ||
      !slice_ends_with(rest, "]"))
    return -1;
  bytes = bits / 8;
  rest = (struct slice){rest.data + 1, rest.length - 2};
  while (rest.length > 0) {
    if (!slice_cut(&rest, ',', &part)) {
      part = rest;
      rest.length = 0;
    }
    if (!slice_int64(slice_trim(part), &length) || length < 0 || __builtin_mul_overflow(bytes, length, &bytes))
      return -1;
  }
  return bytes;
}

static enum status put(struct reading *reading, struct store_span *span, struct error *err)
{
  span->span_id = ++reading->last_span_id;
  span->level = XSP_LEVEL_LIBRARY;
  span->kind = XSP_KIND_SYNC;
  return import_span(reading->import, span, err);
}

// A rank's part, from its tick on.
static enum status put_part(struct reading *reading, const struct collective *of, int64_t rank, int64_t start_ns,
                            struct error *err)
{
  struct import *import = reading->import;
  struct slice name;
  name.data = import_text(import, of->name, &name.length);
  struct store_span span = {.start_ns = start_ns,
                            .duration_ns = of->end_ns - start_ns,
                            .name = of->name,
                            .flags = STORE_SPAN_PLACED, // in no other
                            .category = import_word(import, "collective")};
  XSP_TRY(lane_of(reading, rank, start_ns, of->end_ns, &span.track_id, err));
  XSP_TRY(put(reading, &span, err));
  import_tag_text(import, span.span_id, import_word(import, "collective"), import_word(import, kind_of(name)));
  import_tag_text(import, span.span_id, import_word(import, "group"), import_word(import, "0"));
  import_tag_text(import, span.span_id, import_word(import, "module"), reading->tensors.items[of->tensor].name);
  import_tag_int(import, span.span_id, import_word(import, "sequence"), of->number);
  if (of->bytes >= 0)
    import_tag_int(import, span.span_id, import_word(import, "bytes"), of->bytes);
  return STATUS_OK;
}

// On the tensor's track: of no rank.
static enum status put_of_tensor(struct reading *reading, struct tensor *tensor, struct store_span *span,
                                 struct error *err)
{
  span->flags = STORE_SPAN_PLACED;
  span->category = import_word(reading->import, "collective_part");
  if (tensor->track_id == 0)
    XSP_TRY(make_track(reading, import_text(reading->import, tensor->name, NULL), &tensor->track_id, err));
  span->track_id = tensor->track_id;
  return put(reading, span, err);
}

static enum status end_collective(struct reading *reading, struct tensor *tensor, uint32_t name,
                                  const struct trace_event *end, struct error *err)
{
  struct collective of = {(uint32_t)(tensor - reading->tensors.items),
                          name,
                          tensor->is_negotiated ? tensor->negotiation_ns : tensor->open[0].start_ns,
                          end->start_ns,
                          bytes_of(end),
                          ++reading->collectives};
  for (size_t i = 0; i < tensor->ready.count; i++)
    XSP_TRY(put_part(reading, &of, tensor->ready.items[i].rank, tensor->ready.items[i].time_ns, err));
  if (tensor->ready.count == 0)
    *vector_add(&reading->unticked) = of;
  else
    import_joined(reading->import); // its end, of ticks
  tensor->ready.count = 0;
  tensor->is_negotiated = false;
  return STATUS_OK;
}

// Rank 0's, where no collective has ticks. Else they would be more of rank 0's than of the others, which were in them, too.
static enum status put_unticked(struct reading *reading, struct error *err)
{
  for (size_t i = 0; i < reading->unticked.count; i++) {
    const struct collective *of = &reading->unticked.items[i];
    struct store_span span = {.start_ns = of->start_ns, .duration_ns = of->end_ns - of->start_ns, .name = of->name};
    XSP_TRY(reading->rank_count == 0 ? put_part(reading, of, 0, of->start_ns, err)
                                     : put_of_tensor(reading, &reading->tensors.items[of->tensor], &span, err));
  }
  if (reading->rank_count > 0 && reading->unticked.count > 0)
    import_note(reading->import,
                "%zu of %" PRId64
                " collectives have no ticks of ranks, so they are no rank's: HOROVOD_CACHE_CAPACITY=0 "
                "has ticks for all",
                reading->unticked.count, reading->collectives);
  return STATUS_OK;
}

static enum status end_span(struct reading *reading, struct tensor *tensor, const struct trace_event *event,
                            struct error *err)
{
  struct import *import = reading->import;
  if (tensor->depth == 0 || event->start_ns < tensor->open[tensor->depth - 1].start_ns) {
    import_skip(import, "an end without a beginning");
    return STATUS_OK;
  }
  const uint32_t depth = --tensor->depth;
  struct store_span span = {.start_ns = tensor->open[depth].start_ns,
                            .duration_ns = event->start_ns - tensor->open[depth].start_ns,
                            .name = tensor->open[depth].name};
  struct slice name;
  name.data = import_text(import, span.name, &name.length);
  import_joined(import); // its beginning
  if (depth == 0 && kind_of(name) != NULL)
    return end_collective(reading, tensor, span.name, event, err);
  if (depth == 0 && slice_starts_with(name, NEGOTIATION)) {
    tensor->is_negotiated = true;
    tensor->negotiation_ns = span.start_ns;
  }
  return put_of_tensor(reading, tensor, &span, err);
}

// ---- events ----------------------------------------------------------------------------------------------------------
static void read_metadata(struct reading *reading, const struct trace_event *event)
{
  const struct trace_argument *zero = trace_find(event, "start_time_since_epoch_in_micros"),
                              *name = trace_find(event, "name");
  int64_t zero_us;
  if (zero != NULL && trace_int64(&zero->value, &zero_us) && zero_us > 0)
    (void)(__builtin_mul_overflow(zero_us, 1000, &reading->zero_ns) && (reading->zero_ns = 0));
  else if (name != NULL && name->value.type == TRACE_STRING && slice_is(event->name, "process_name"))
    tensor_of(reading, event)->name = import_slice(reading->import, name->value.raw);
}

static void read_tick(struct reading *reading, struct tensor *tensor, const struct trace_event *event)
{
  int64_t rank;
  if (!slice_int64(event->name, &rank) || rank < 0 || rank >= RANKS_MOST || tensor->ready.count >= RANKS_MOST) {
    import_skip(reading->import, "not a rank's tick");
    return;
  }
  *vector_add(&tensor->ready) = (struct ready){rank, event->start_ns};
  reading->rank_count = rank >= reading->rank_count ? rank + 1 : reading->rank_count;
}

static enum status read_event(void *context, const struct trace_event *event, struct error *err)
{
  struct reading *reading = context;
  if (event->phase == 'M') {
    read_metadata(reading, event);
    return STATUS_OK;
  }
  const char *reason = trace_phase_reason(event->phase);
  if (reason == NULL && (!event->has_start || event->start_ns < 0))
    reason = "no start";
  struct tensor *tensor = reason == NULL ? tensor_of(reading, event) : NULL;
  if (reason == NULL && event->phase == 'B' && tensor->depth == DEPTH_MOST)
    reason = "deeper than a collective's activities";
  if (reason != NULL) {
    import_skip(reading->import, reason);
    return STATUS_OK;
  }
  reading->last_ns = event->start_ns > reading->last_ns ? event->start_ns : reading->last_ns;
  if (event->phase == 'E')
    return end_span(reading, tensor, event, err);
  if (event->phase == 'X') {
    read_tick(reading, tensor, event);
    return STATUS_OK;
  }
  tensor->open[tensor->depth].name = import_slice(reading->import, event->name);
  tensor->open[tensor->depth++].start_ns = event->start_ns;
  return STATUS_OK;
}

static void finish(struct reading *reading, int64_t run_id)
{
  struct import *import = reading->import;
  int64_t latest_ns;
  for (size_t i = 0; i < reading->tensors.count; i++)
    import_skip_many(import, "did not end", reading->tensors.items[i].depth + reading->tensors.items[i].ready.count);
  for (size_t i = 0; i < reading->lanes.count && reading->rank_count > 0; i++)
    import_track_rank(import, reading->lanes.items[i].track_id,
                      &(struct store_rank){
                          .rank = reading->lanes.items[i].rank, .local_rank = -1, .world_size = reading->rank_count});
  if (reading->zero_ns > 0 && !__builtin_add_overflow(reading->zero_ns, reading->last_ns, &latest_ns)) {
    import_run_set(import, &(struct store_run){.run_id = run_id, .epoch_is_unix = true});
    import_run_shift(import, reading->zero_ns);
  }
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.import = import};
  struct trace_ending ending = {0};
  int64_t run_id = import_run(import, &(struct store_run){0});
  import_framework(import, "horovod", NULL);
  enum status status = trace_read(import->input, read_event, NULL, &reading, &ending, err);
  if (status == STATUS_OK)
    status = put_unticked(&reading, err);
  if (status == STATUS_OK) {
    import_note_ending(import, &ending);
    finish(&reading, run_id);
  }
  for (size_t i = 0; i < reading.tensors.count; i++)
    vector_done(&reading.tensors.items[i].ready);
  vector_done(&reading.tensors);
  vector_done(&reading.lanes);
  map_done(&reading.first_lane_of);
  vector_done(&reading.unticked);
  map_done(&reading.places);
  return status;
}

const struct importer importer_horovod = {
    .name = "horovod",
    .summary = "Horovod's timeline: negotiations and collectives",
    .recognize = recognize,
    .read = read_file,
};
