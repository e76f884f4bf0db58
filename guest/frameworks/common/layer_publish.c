// SPDX-License-Identifier: Apache-2.0
// Layers reported after the inference become spans; see layer_publish.h. A layer's site, which carries the tags that do not
// change, is kept from the first inference on; a limit on them bounds what a model with ever new shapes may cost.
#include "frameworks/common/layer_publish.h"

#include "base/hash.h"
#include "base/sorted.h"
#include "frameworks/common/predictor.h"
#include "frameworks/common/sites.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS ((size_t)1 << 17)
#define LANES_MAXIMUM 64u
#define DEPTH_MAXIMUM 32u
#define THREADS_MAXIMUM 256u // layers of further threads are on lanes
#define UNITS_MAXIMUM 64u    // work of further units, too

struct lane { // a track on which spans nest, and the ends of those that are open there
  uint16_t track;
  bool has_track;
  unsigned depth;
  uint64_t ends[DEPTH_MAXIMUM];
};

struct thread_track {
  uint32_t id;
  uint16_t track;
};

struct unit_track {
  uint64_t hash; // of its name
  uint16_t track;
};

struct layer_publisher {
  struct layer_publisher_options options;
  struct site_table sites;
  uint64_t seed;
  struct lane *lanes;
  struct thread_track threads[THREADS_MAXIMUM];
  size_t thread_count;
  struct unit_track units[UNITS_MAXIMUM];
  size_t unit_count;
};

struct placed { // a layer of this inference with its final times
  uint64_t start_ns, end_ns;
  size_t at; // in the caller's array
};

const char *framework_layer_shape_text(const int64_t *shape, size_t rank, char *text, size_t size)
{
  size_t used = (size_t)snprintf(text, size, "[");
  for (size_t i = 0; i < rank && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i > 0 ? "," : "", shape[i]);
  if (used < size)
    snprintf(text + used, size - used, "]");
  return text;
}

struct layer_publisher *framework_layer_publisher_create(const struct layer_publisher_options *options)
{
  struct layer_publisher *publisher = calloc(1, sizeof *publisher);
  if (publisher == NULL)
    return NULL;
  publisher->options = *options;
  publisher->seed = hash_new_seed();
  publisher->sites = (struct site_table){calloc(SLOTS, sizeof(struct site_slot)), SLOTS, 0};
  publisher->lanes = calloc(LANES_MAXIMUM, sizeof *publisher->lanes);
  if (publisher->sites.slots != NULL && publisher->lanes != NULL)
    return publisher;
  framework_layer_publisher_free(publisher);
  return NULL;
}

void framework_layer_publisher_free(struct layer_publisher *publisher)
{
  if (publisher == NULL)
    return;
  free(publisher->sites.slots);
  free(publisher->lanes);
  free(publisher);
}

// ---- sites -----------------------------------------------------------------------------------------------------------

static const char *span_name(const struct layer_report *layer)
{
  if (layer->name != NULL && layer->name[0] != 0)
    return layer->name;
  return layer->type != NULL && layer->type[0] != 0 ? layer->type : "(unnamed layer)";
}

static uint64_t add_text(uint64_t hash, const char *text)
{
  return hash_text(text != NULL ? text : "", text != NULL ? strlen(text) + 1 : 1, hash);
}

uint64_t framework_layer_hash(const struct layer_report *layer, uint64_t seed)
{
  const char *const texts[] = {span_name(layer), layer->type, layer->category, layer->shape, layer->unit};
  uint64_t hash = hash_number((uint64_t)layer->index, seed);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    hash = add_text(hash, texts[i]);
  for (size_t i = 0; layer->tags != NULL && i < layer->tags->count; i++) {
    const struct layer_tag *tag = &layer->tags->items[i];
    hash = hash_number((uint64_t)tag->number, add_text(add_text(hash, tag->key), tag->text));
  }
  return hash | 1;
}

static struct xsp_site *common_site(const struct layer_publisher *publisher)
{
  return xsp_site_create(publisher->options.tracer, XSP_LEVEL_LAYER, "(further layers)", NULL);
}

void framework_layer_tag_site(const struct layer_report *layer, struct xsp_site *site)
{
  if (layer->index >= 0)
    xsp_site_tag_int(site, "layer_index", layer->index);
  if (layer->type != NULL && layer->type[0] != 0)
    xsp_site_tag_string(site, "layer_type", layer->type);
  if (layer->shape != NULL)
    xsp_site_tag_string(site, "layer_shape", layer->shape);
  for (size_t i = 0; layer->tags != NULL && i < layer->tags->count; i++) {
    const struct layer_tag *tag = &layer->tags->items[i];
    if (tag->text != NULL)
      xsp_site_tag_string(site, tag->key, tag->text);
    else
      xsp_site_tag_int(site, tag->key, tag->number);
  }
}

static struct xsp_site *site_of(struct layer_publisher *publisher, const struct layer_report *layer)
{
  uint64_t hash = framework_layer_hash(layer, publisher->seed);
  struct xsp_site *site = framework_sites_find(&publisher->sites, hash);
  if (site != NULL)
    return site;
  if (!framework_sites_have_room(&publisher->sites))
    return common_site(publisher);
  // One name has a site for every shape it is computed in: counted, so that the same run gives the same sites.
  site = xsp_site_create_variant(publisher->options.tracer, layer->unit != NULL ? XSP_LEVEL_KERNEL : XSP_LEVEL_LAYER,
                                 span_name(layer), layer->category, (uint32_t)publisher->sites.count + 1);
  if (site == NULL)
    return NULL;
  framework_layer_tag_site(layer, site);
  if (publisher->options.untold != NULL)
    xsp_site_tag_string(site, "untold", publisher->options.untold);
  return framework_sites_add(&publisher->sites, hash, site);
}

// ---- times and lanes -------------------------------------------------------------------------------------------------

SORTED_BY(compare_placed, struct placed, RISING(start_ns) ?: FALLING(end_ns) ?: RISING(at))

static uint64_t end_of(uint64_t start_ns, uint64_t duration_ns)
{
  return duration_ns > UINT64_MAX - start_ns ? UINT64_MAX : start_ns + duration_ns;
}

// Each layer begins where the one before it within the same parent ended. A parent comes before what it runs.
static void lay_out(const struct layer_report *layers, size_t count, uint64_t model_start_ns, uint64_t *cursors,
                    struct placed *placed)
{
  uint64_t model_cursor = model_start_ns;
  for (size_t i = 0; i < count; i++) {
    uint64_t *cursor = layers[i].parent < i ? &cursors[layers[i].parent] : &model_cursor;
    uint64_t start = *cursor, end = end_of(start, layers[i].duration_ns);
    placed[i] = (struct placed){start, end, i};
    *cursor = end;
    cursors[i] = start;
  }
}

static const char *clock_name(const struct layer_publisher *publisher) // NULL: wall time
{
  return publisher->options.times == LAYER_TIMES_SIMULATED ? PREDICTOR_CLOCK_SIMULATED : NULL;
}

// The first lane on which the span follows or nests; the last one takes what fits nowhere.
static uint16_t lane_for(struct layer_publisher *publisher, const struct placed *span)
{
  for (unsigned i = 0; i < LANES_MAXIMUM; i++) {
    struct lane *lane = &publisher->lanes[i];
    while (lane->depth > 0 && lane->ends[lane->depth - 1] <= span->start_ns)
      lane->depth--;
    bool fits = lane->depth == 0 || (lane->ends[lane->depth - 1] >= span->end_ns && lane->depth < DEPTH_MAXIMUM);
    if (!fits && i + 1 < LANES_MAXIMUM)
      continue;
    if (fits)
      lane->ends[lane->depth++] = span->end_ns;
    if (!lane->has_track) {
      char name[64];
      snprintf(name, sizeof name, i == 0 ? "%s layers" : "%s layers %u", publisher->options.tracer, i + 1);
      const struct xsp_track_options options = {
          .size = sizeof options, .name = name, .clock = clock_name(publisher), .device_id = -1, .stream_id = -1};
      lane->track = xsp_track_create(&options);
      lane->has_track = true;
    }
    return lane->track;
  }
  return 0;
}

// 0: it has none.
static uint16_t track_of_thread(struct layer_publisher *publisher, uint32_t id)
{
  for (size_t i = 0; i < publisher->thread_count; i++)
    if (publisher->threads[i].id == id)
      return publisher->threads[i].track;
  if (id == 0 || publisher->thread_count == THREADS_MAXIMUM)
    return 0;
  const struct xsp_track_options options = {.size = sizeof options, .thread_id = id};
  uint16_t track = xsp_track_create(&options);
  publisher->threads[publisher->thread_count++] = (struct thread_track){id, track};
  return track;
}

// Units are streams of one device. 0: there are too many.
static uint16_t track_of_unit(struct layer_publisher *publisher, const char *unit)
{
  uint64_t hash = add_text(publisher->seed, unit);
  for (size_t i = 0; i < publisher->unit_count; i++)
    if (publisher->units[i].hash == hash)
      return publisher->units[i].track;
  if (publisher->unit_count == UNITS_MAXIMUM)
    return 0;
  const struct xsp_track_options options = {.size = sizeof options,
                                            .name = unit,
                                            .clock = clock_name(publisher),
                                            .stream_id = (int64_t)publisher->unit_count};
  uint16_t track = xsp_track_create(&options);
  publisher->units[publisher->unit_count++] = (struct unit_track){hash, track};
  return track;
}

// ---- publishing ------------------------------------------------------------------------------------------------------

static struct xsp_context publish_one(struct layer_publisher *publisher, const struct layer_report *layer,
                                      const struct placed *placed, struct xsp_context parent)
{
  static const enum xsp_clock clocks[] = {[LAYER_TIMES_REALTIME] = XSP_CLOCK_REALTIME,
                                          [LAYER_TIMES_MONOTONIC] = XSP_CLOCK_MONOTONIC,
                                          [LAYER_TIMES_SIMULATED] = XSP_CLOCK_FOREIGN,
                                          [LAYER_TIMES_LAID_OUT] = XSP_CLOCK_MONOTONIC};
  uint16_t track =
      layer->unit != NULL ? track_of_unit(publisher, layer->unit) : track_of_thread(publisher, layer->thread_id);
  const struct xsp_interval interval = {
      .size = sizeof interval,
      .track = track != 0 ? track : lane_for(publisher, placed),
      .kind = layer->unit != NULL ? XSP_KIND_EXECUTION : XSP_KIND_SYNC,
      .clock = (uint8_t)clocks[publisher->options.times],
      .start = placed->start_ns,
      .end = placed->end_ns,
      .parent = parent,
  };
  struct xsp_span span = xsp_span_emit(site_of(publisher, layer), &interval);
  if (layer->alloc_bytes >= 0)
    xsp_span_tag_int(&span, "alloc_bytes", layer->alloc_bytes);
  return xsp_span_context(&span);
}

enum status framework_layer_publish(struct layer_publisher *publisher, const struct layer_report *layers, size_t count,
                                    struct xsp_context model, uint64_t model_start_ns, struct error *err)
{
  if (count == 0 || (xsp_session_levels() & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) == 0)
    return STATUS_OK;
  struct placed *placed = calloc(count, sizeof *placed);
  struct xsp_context *contexts = calloc(count, sizeof *contexts);
  uint64_t *cursors = calloc(count, sizeof *cursors);
  enum status status = STATUS_OK;
  if (placed == NULL || contexts == NULL || cursors == NULL) {
    status = error_set(err, STATUS_MEMORY, "cannot publish layers", publisher->options.tracer, NULL, "out of memory");
    goto done;
  }
  if (publisher->options.times == LAYER_TIMES_LAID_OUT)
    lay_out(layers, count, model_start_ns, cursors, placed);
  else
    for (size_t i = 0; i < count; i++)
      placed[i] = (struct placed){layers[i].start_ns, end_of(layers[i].start_ns, layers[i].duration_ns), i};
  qsort(placed, count, sizeof *placed, compare_placed);
  for (unsigned i = 0; i < LANES_MAXIMUM; i++)
    publisher->lanes[i].depth = 0; // inferences follow one another
  for (size_t i = 0; i < count; i++) {
    const struct layer_report *layer = &layers[placed[i].at];
    // A layer that starts before its parent (two clocks) has no published parent yet: it is the model's child.
    bool is_nested = layer->parent < count && contexts[layer->parent].id != 0;
    contexts[placed[i].at] = publish_one(publisher, layer, &placed[i], is_nested ? contexts[layer->parent] : model);
  }
done:
  free(placed);
  free(contexts);
  free(cursors);
  return status;
}
