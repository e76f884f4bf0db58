// SPDX-License-Identifier: Apache-2.0
// Layers told after the inference become spans; see layer_publish.h. A layer's site, which carries the tags that do not
// change, is kept from the first inference on; a limit on them bounds what a model with ever new shapes may cost.
#include "frameworks/common/layer_publish.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SITES_MAXIMUM ((size_t)1 << 16)
#define IDENTITY_MAXIMUM ((size_t)1 << 20)
#define LANES_MAXIMUM 64u
#define DEPTH_MAXIMUM 32u

struct known { // a site by all that makes it
  uint64_t hash;
  const char *identity; // in the arena
  size_t identity_length;
  struct xsp_site *site;
};

struct lane { // a track on which spans nest, and the ends of those that are open there
  uint16_t track;
  bool has_track;
  unsigned depth;
  uint64_t ends[DEPTH_MAXIMUM];
};

struct layer_publisher {
  struct layer_publisher_options options;
  struct arena arena;
  struct known *slots; // open addressing: a power of two, at most half full
  size_t slot_count, known_count;
  uint64_t seed;
  struct buf identity; // of the layer at hand
  struct lane *lanes;
};

struct placed { // a layer of this inference with its final times
  uint64_t start_ns, end_ns;
  size_t at; // in the caller's array
};

uint64_t layer_clock_ns(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

const char *layer_shape_text(const int64_t *shape, size_t rank, char *text, size_t size)
{
  size_t used = (size_t)snprintf(text, size, "[");
  for (size_t i = 0; i < rank && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i > 0 ? "," : "", shape[i]);
  if (used < size)
    snprintf(text + used, size - used, "]");
  return text;
}

struct layer_publisher *layer_publisher_create(const struct layer_publisher_options *options)
{
  struct layer_publisher *publisher = calloc(1, sizeof *publisher);
  if (publisher == NULL)
    return NULL;
  publisher->options = *options;
  publisher->seed = hash_new_seed();
  buf_init(&publisher->identity, IDENTITY_MAXIMUM);
  publisher->slot_count = 256;
  publisher->slots = calloc(publisher->slot_count, sizeof *publisher->slots);
  publisher->lanes = calloc(LANES_MAXIMUM, sizeof *publisher->lanes);
  if (publisher->slots != NULL && publisher->lanes != NULL)
    return publisher;
  layer_publisher_free(publisher);
  return NULL;
}

void layer_publisher_free(struct layer_publisher *publisher)
{
  if (publisher == NULL)
    return;
  buf_done(&publisher->identity);
  arena_done(&publisher->arena);
  free(publisher->slots);
  free(publisher->lanes);
  free(publisher);
}

// ---- sites -----------------------------------------------------------------------------------------------------------

static const char *span_name(const struct layer_told *layer)
{
  if (layer->name != NULL && layer->name[0] != 0)
    return layer->name;
  return layer->type != NULL && layer->type[0] != 0 ? layer->type : "(unnamed layer)";
}

static void add_text(struct buf *identity, const char *text)
{
  buf_put(identity, text != NULL ? text : "", text != NULL ? strlen(text) + 1 : 1);
}

// All that a site carries, as bytes. False where it is more than anybody means to keep.
static bool make_identity(struct buf *identity, const struct layer_told *layer)
{
  buf_clear(identity);
  add_text(identity, span_name(layer));
  add_text(identity, layer->type);
  add_text(identity, layer->category);
  add_text(identity, layer->shape);
  buf_put(identity, &layer->index, sizeof layer->index);
  for (size_t i = 0; i < layer->tag_count; i++) {
    add_text(identity, layer->tags[i].key);
    add_text(identity, layer->tags[i].text);
    buf_put(identity, &layer->tags[i].number, sizeof layer->tags[i].number);
  }
  bool whole = !identity->failed;
  identity->failed = false;
  return whole;
}

static struct known *find_slot(const struct layer_publisher *publisher, struct known *slots, size_t slot_count,
                               uint64_t hash)
{
  const struct buf *identity = &publisher->identity;
  for (size_t i = hash & (slot_count - 1);; i = (i + 1) & (slot_count - 1)) {
    struct known *slot = &slots[i];
    if (slot->site == NULL || (slot->hash == hash && slot->identity_length == identity->length &&
                               memcmp(slot->identity, identity->data, identity->length) == 0))
      return slot;
  }
}

static bool grow(struct layer_publisher *publisher)
{
  size_t slot_count = publisher->slot_count * 2;
  struct known *slots = calloc(slot_count, sizeof *slots);
  if (slots == NULL)
    return false;
  for (size_t i = 0; i < publisher->slot_count; i++) {
    const struct known *known = &publisher->slots[i];
    if (known->site == NULL)
      continue;
    size_t at = known->hash & (slot_count - 1);
    while (slots[at].site != NULL)
      at = (at + 1) & (slot_count - 1);
    slots[at] = *known;
  }
  free(publisher->slots);
  publisher->slots = slots;
  publisher->slot_count = slot_count;
  return true;
}

static struct xsp_site *common_site(const struct layer_publisher *publisher)
{
  return xsp_site_create(publisher->options.tracer, XSP_LEVEL_LAYER, "(further layers)", NULL);
}

static void tag_site(const struct layer_publisher *publisher, const struct layer_told *layer, struct xsp_site *site)
{
  if (layer->index >= 0)
    xsp_site_tag_int(site, "layer_index", layer->index);
  if (layer->type != NULL && layer->type[0] != 0)
    xsp_site_tag_string(site, "layer_type", layer->type);
  if (layer->shape != NULL)
    xsp_site_tag_string(site, "layer_shape", layer->shape);
  if (publisher->options.untold != NULL)
    xsp_site_tag_string(site, "untold", publisher->options.untold);
  for (size_t i = 0; i < layer->tag_count; i++) {
    const struct layer_tag *tag = &layer->tags[i];
    if (tag->text != NULL)
      xsp_site_tag_string(site, tag->key, tag->text);
    else
      xsp_site_tag_int(site, tag->key, tag->number);
  }
}

static struct xsp_site *site_of(struct layer_publisher *publisher, const struct layer_told *layer)
{
  if (!make_identity(&publisher->identity, layer))
    return common_site(publisher);
  const struct buf *identity = &publisher->identity;
  uint64_t hash = hash_text(identity->data, identity->length, publisher->seed);
  struct known *slot = find_slot(publisher, publisher->slots, publisher->slot_count, hash);
  if (slot->site != NULL)
    return slot->site;
  if (publisher->known_count >= SITES_MAXIMUM)
    return common_site(publisher);
  if (publisher->known_count * 2 >= publisher->slot_count) {
    if (!grow(publisher))
      return common_site(publisher);
    slot = find_slot(publisher, publisher->slots, publisher->slot_count, hash);
  }
  // One name has a site for every shape it is computed in: counted, so that the same run gives the same sites.
  struct xsp_site *site = xsp_site_create_variant(publisher->options.tracer, XSP_LEVEL_LAYER, span_name(layer),
                                                  layer->category, (uint32_t)publisher->known_count + 1);
  char *kept = site != NULL ? arena_copy(&publisher->arena, identity->data, identity->length) : NULL;
  if (kept == NULL)
    return site != NULL ? common_site(publisher) : NULL;
  *slot = (struct known){hash, kept, identity->length, site};
  publisher->known_count++;
  tag_site(publisher, layer, site);
  return site;
}

// ---- times and lanes -------------------------------------------------------------------------------------------------

static int compare_placed(const void *left, const void *right)
{
  const struct placed *a = left, *b = right;
  if (a->start_ns != b->start_ns)
    return a->start_ns < b->start_ns ? -1 : 1;
  if (a->end_ns != b->end_ns)
    return a->end_ns > b->end_ns ? -1 : 1;
  return a->at < b->at ? -1 : a->at > b->at;
}

static uint64_t end_of(uint64_t start_ns, uint64_t duration_ns)
{
  return duration_ns > UINT64_MAX - start_ns ? UINT64_MAX : start_ns + duration_ns;
}

// Each layer begins where the one before it within the same parent ended. A parent comes before what it runs.
static void lay_out(const struct layer_told *layers, size_t count, uint64_t model_start_ns, uint64_t *cursors,
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
      const struct xsp_track_options options = {.size = sizeof options, .name = name, .device_id = -1, .stream_id = -1};
      lane->track = xsp_track_create(&options);
      lane->has_track = true;
    }
    return lane->track;
  }
  return 0;
}

// ---- publishing ------------------------------------------------------------------------------------------------------

static struct xsp_context publish_one(struct layer_publisher *publisher, const struct layer_told *layer,
                                      const struct placed *placed, struct xsp_context parent)
{
  bool is_realtime = publisher->options.times == LAYER_TIMES_REALTIME;
  const struct xsp_interval interval = {
      .size = sizeof interval,
      .track = lane_for(publisher, placed),
      .kind = XSP_KIND_SYNC,
      .clock = is_realtime ? XSP_CLOCK_REALTIME : XSP_CLOCK_MONOTONIC,
      .start = placed->start_ns,
      .end = placed->end_ns,
      .parent = parent,
  };
  struct xsp_span span = xsp_span_emit(site_of(publisher, layer), &interval);
  if (layer->alloc_bytes >= 0)
    xsp_span_tag_int(&span, "alloc_bytes", layer->alloc_bytes);
  return xsp_span_context(&span);
}

enum status layer_publish(struct layer_publisher *publisher, const struct layer_told *layers, size_t count,
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
    const struct layer_told *layer = &layers[placed[i].at];
    // One that starts before the layer that ran it (two clocks) has not been published yet: the model's.
    bool is_nested = layer->parent < count && contexts[layer->parent].id != 0;
    contexts[placed[i].at] = publish_one(publisher, layer, &placed[i], is_nested ? contexts[layer->parent] : model);
  }
done:
  free(placed);
  free(contexts);
  free(cursors);
  return status;
}
