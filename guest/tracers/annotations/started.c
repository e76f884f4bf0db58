// SPDX-License-Identifier: Apache-2.0
// Ranges that one thread starts and any thread ends. Each open one holds a slot; a slot is a track of its own, so that
// spans of one track never overlap. Published when they end.
#include "tracers/annotations/annotations_private.h"

#include <stdio.h>
#include <string.h>

#define SLOT_BITS 12
#define SLOTS (1u << SLOT_BITS) // ranges open at once; more are counted and not recorded
#define TRACKS 256u             // of slots beyond, several share a track
#define BUSY UINT64_C(1)        // no id: ids are at least SLOTS

struct started {
  uint64_t id; // atomic: 0 free, BUSY being written or read, else the open range's
  const struct annotation *annotation;
  uint64_t start; // ticks; 0: not recorded
  struct annotation_tags tags;
};
static void *slots;             // atomic: struct started, SLOTS of them, touched as they are used
static uint16_t tracks[TRACKS]; // atomic; 0: not made yet
static uint64_t last_number;    // atomic: counts starts, so that an id is used once
static uint32_t lowest_free;    // atomic; a hint
static uint32_t is_reported;    // atomic

void annotation_started_forget(void)
{
  struct started *all = slots;
  for (uint32_t i = 0; all != NULL && i < SLOTS; i++)
    if (all[i].id != 0)
      all[i].id = 0;
}

static uint32_t claim(struct started *all) // its place; SLOTS: none is free
{
  uint32_t hint = __atomic_load_n(&lowest_free, __ATOMIC_RELAXED);
  for (uint32_t i = 0; all != NULL && i < SLOTS; i++) {
    uint32_t place = (hint + i) % SLOTS;
    uint64_t free_slot = 0;
    if (__atomic_load_n(&all[place].id, __ATOMIC_RELAXED) == 0 &&
        __atomic_compare_exchange_n(&all[place].id, &free_slot, BUSY, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      __atomic_store_n(&lowest_free, (place + 1) % SLOTS, __ATOMIC_RELAXED);
      return place;
    }
  }
  return SLOTS;
}

static void release(struct started *all, uint32_t place)
{
  __atomic_store_n(&all[place].id, 0, __ATOMIC_RELEASE);
  if (place < __atomic_load_n(&lowest_free, __ATOMIC_RELAXED))
    __atomic_store_n(&lowest_free, place, __ATOMIC_RELAXED);
}

uint16_t annotation_track(uint16_t *place, const char *kind, uint32_t index)
{
  uint16_t track = __atomic_load_n(place, __ATOMIC_RELAXED), none = 0;
  if (track != 0)
    return track;
  char name[64];
  snprintf(name, sizeof name, "%s %s %u", annotation_tracer, kind, (unsigned)index + 1);
  struct xsp_track_options options = {.size = sizeof options, .name = name, .device_id = -1, .stream_id = -1};
  track = xsp_track_create(&options);
  if (!__atomic_compare_exchange_n(place, &none, track, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return none; // another thread was faster
  return track;
}

static uint16_t track_of(uint32_t slot)
{
  return annotation_track(&tracks[slot % TRACKS], "start/end", slot % TRACKS);
}

uint64_t annotation_range_start_tagged(struct annotation_domain *domain, const struct annotation *annotation,
                                       const char *text, size_t length, const struct annotation_tags *tags)
{
  uint64_t number = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
  struct started *all = guest_map_once(&slots, SLOTS * sizeof *all);
  uint32_t place = claim(all);
  if (place == SLOTS) {
    if (__atomic_exchange_n(&is_reported, 1, __ATOMIC_RELAXED) == 0)
      annotation_say("more than 4,096 ranges are open at once that any thread may end: later ones are not recorded");
    return number << SLOT_BITS; // of slot 0, which has another id
  }
  uint64_t id = number << SLOT_BITS | place;
  struct started *slot = &all[place];
  slot->annotation = annotation;
  if (annotation != NULL && annotation->is_capture_range)
    annotation_capture_enter();
  annotation_tags_clear(&slot->tags);
  slot->start = 0;
  if (annotation != NULL && !annotation_site_is_off(annotation->site)) {
    if (tags != NULL)
      annotation_tags_copy(&slot->tags, tags);
    if (annotation->has_varying_tags && text != NULL) {
      struct range range;
      range_read(annotation_domain_name(domain), text, length, annotation_model_range, &range);
      if (range.sequence != RANGE_NO_NUMBER)
        annotation_tags_int(&slot->tags, "sequence", range.sequence);
      if (range.op_id != RANGE_NO_NUMBER)
        annotation_tags_int(&slot->tags, "op_id", range.op_id);
      if (range.sizes != NULL)
        annotation_tags_text(&slot->tags, "sizes", range.sizes, range.sizes_length);
    }
    slot->start = xsp_clock_ticks();
  }
  __atomic_store_n(&slot->id, id, __ATOMIC_RELEASE); // partner: the exchange of the thread that ends it
  return id;
}

void annotation_range_end_tagged(uint64_t id, const struct annotation_tags *tags)
{
  uint64_t end = xsp_clock_ticks(), expected = id;
  struct started *all = __atomic_load_n(&slots, __ATOMIC_ACQUIRE);
  if (all == NULL || id <= BUSY)
    return;
  struct started *slot = &all[id % SLOTS];
  if (!__atomic_compare_exchange_n(&slot->id, &expected, BUSY, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return; // ended already, never started, or started before a fork
  const struct annotation *annotation = slot->annotation;
  if (slot->start != 0 && end >= slot->start) {
    struct xsp_interval interval = {.size = sizeof interval, .start = slot->start, .end = end};
    interval.track = track_of((uint32_t)(slot - all));
    struct xsp_span span = xsp_span_emit(annotation->site, &interval);
    annotation_tags_put(&slot->tags, &span);
    if (tags != NULL) {
      struct annotation_sent sent;
      annotation_tags_note(&slot->tags, span.start, &sent);
      annotation_tags_put_rest(tags, &sent, &span);
    }
  }
  release(all, id % SLOTS);
  if (annotation != NULL && annotation->is_capture_range)
    annotation_capture_leave();
}

// On the first track that is free from `start` on would be best; slots hold no history, so on one of their own.
void annotation_publish(struct annotation_domain *domain, const struct annotation *annotation, uint64_t start,
                        uint64_t end, const struct annotation_tags *tags)
{
  if (start < annotation_started_ticks || end < start || end > xsp_clock_ticks() ||
      annotation_site_is_off(annotation->site))
    return;
  struct xsp_interval interval = {.size = sizeof interval, .start = start, .end = end};
  interval.track = track_of(TRACKS - 1);
  struct xsp_span span = xsp_span_emit(annotation->site, &interval);
  annotation_tags_put(tags, &span);
}

uint64_t annotation_range_start(struct annotation_domain *domain, const struct annotation *annotation, const char *text,
                                size_t length)
{
  return annotation_range_start_tagged(domain, annotation, text, length, NULL);
}

void annotation_range_end(uint64_t id)
{
  annotation_range_end_tagged(id, NULL);
}
