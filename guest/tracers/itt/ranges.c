// SPDX-License-Identifier: Apache-2.0
// Ranges that any thread may end: overlapped tasks, regions, frames; and task groups, which are names only. Known by
// (kind, domain's name, id) while they are open, in one table for all threads; published when they end, on tracks that
// are no thread's. Two kinds of frames are on the calling thread, and may cross its tasks: those that began on the thread
// that ends them, and those submitted with both times, which have no other thread. A claimed slot is its claimer's alone.
#include "tracers/itt/itt.h"

#include "base/hash.h"
#include "tracers/annotations/guest.h"

#include <stdio.h>
#include <string.h>

#define SLOTS 4096u // power of two
#define WINDOW 16u  // slots from its hash's on in which a range may be
#define LANES 64u
#define FREE UINT64_C(0)
#define BUSY UINT64_C(1) // hashes are greater

struct key {
  enum itt_range_kind kind;
  struct itt_id id;
  uint64_t domain_hash, hash;
};

struct slot {
  uint64_t state; // atomic: FREE, BUSY, or the hash of the open range
  struct key key;
  uint64_t start;
  const void *frame_thread; // of a frame: what identifies the thread that began it
  uint64_t capture_id;      // of a capture range: annotations.h has it
  struct xsp_context parent;
  const struct annotation *annotation;
  struct annotation_tags tags; // a group: its name
};
static void *table;          // atomic: struct slot, SLOTS of them; touched as they are used
static uint32_t group_count; // atomic: groups open

// Spans of one lane do not overlap, so that a viewer can draw them.
static struct {
  uint64_t end;   // atomic, ticks: of its last span
  uint16_t track; // atomic; 0: not made yet
} lanes[LANES];

static struct key key_of(enum itt_range_kind kind, const struct itt_domain *domain, struct itt_id id)
{
  struct key key = {.kind = kind, .id = id};
  const char *name = domain == NULL || domain->name == NULL ? "" : domain->name;
  if (kind != ITT_RANGE_GROUP) // parents are named without their domain
    key.domain_hash = hash_text(name, strlen(name), 1);
  uint64_t hash = hash_number(id.d1, (uint64_t)kind + 1);
  hash = hash_number(id.d2 ^ hash, key.domain_hash | 1);
  key.hash = hash_number(id.d3 ^ hash, 3) | 2;
  return key;
}

static struct slot *claim_state(uint64_t hash, uint64_t state)
{
  struct slot *all = guest_map_once(&table, SLOTS * sizeof *all);
  for (uint32_t i = 0; all != NULL && i < WINDOW; i++) {
    struct slot *slot = &all[(hash + i) & (SLOTS - 1)];
    uint64_t expected = state;
    if (__atomic_load_n(&slot->state, __ATOMIC_RELAXED) == state &&
        __atomic_compare_exchange_n(&slot->state, &expected, BUSY, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      return slot;
  }
  return NULL;
}

// The open range of this key, claimed; NULL: none. Of equal hashes with another key there is no second try.
static struct slot *claim_open(const struct key *key)
{
  if (__atomic_load_n(&table, __ATOMIC_ACQUIRE) == NULL)
    return NULL;
  struct slot *slot = claim_state(key->hash, key->hash);
  if (slot == NULL)
    return NULL;
  if (slot->key.kind == key->kind && slot->key.domain_hash == key->domain_hash &&
      memcmp(&slot->key.id, &key->id, sizeof key->id) == 0)
    return slot;
  __atomic_store_n(&slot->state, key->hash, __ATOMIC_RELEASE);
  return NULL;
}

static void release(struct slot *slot, uint64_t state)
{
  __atomic_store_n(&slot->state, state, __ATOMIC_RELEASE);
}

void itt_ranges_forget(void)
{
  struct slot *all = table;
  for (uint32_t i = 0; all != NULL && i < SLOTS; i++)
    if (all[i].state != FREE)
      all[i].state = FREE;
  group_count = 0;
}

// ---- publishing
static uint16_t free_track(uint64_t start, uint64_t end)
{
  for (uint32_t lane = 0; lane < LANES; lane++) {
    uint64_t last = __atomic_load_n(&lanes[lane].end, __ATOMIC_RELAXED);
    while (last <= start)
      if (__atomic_compare_exchange_n(&lanes[lane].end, &last, end, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return annotation_track(&lanes[lane].track, "ranges", lane);
  }
  return annotation_track(&lanes[LANES - 1].track, "ranges", LANES - 1);
}

static struct xsp_span emit(const struct annotation *annotation, uint64_t start, uint64_t end,
                            struct xsp_context parent, bool is_on_thread)
{
  if (!itt_accepts(annotation->site, start, end))
    return (struct xsp_span){0, 0, 0};
  struct xsp_interval interval = {.size = sizeof interval, .start = start, .end = end, .parent = parent};
  interval.track = is_on_thread ? 0 : free_track(start, end);
  if (interval.track == 0 && !is_on_thread) // then it would be the calling thread's
    return (struct xsp_span){0, 0, 0};
  return xsp_span_emit(annotation->site, &interval);
}

void itt_frame_emit(const struct annotation *annotation, uint64_t start, uint64_t end)
{
  (void)emit(annotation, start, end, (struct xsp_context){0, 0}, true);
}

// ---- begin and end
void itt_range_begin(enum itt_range_kind kind, const struct itt_domain *domain, struct itt_id id, uint64_t start,
                     struct itt_id parent, const struct annotation *annotation, const char *text)
{
  if (annotation_site_is_off(annotation->site) && !annotation->is_capture_range)
    return;
  struct key key = key_of(kind, domain, id);
  struct slot *open = kind == ITT_RANGE_FRAME ? claim_open(&key) : NULL;
  if (open != NULL) { // a frame that is open cannot begin
    release(open, key.hash);
    return;
  }
  struct slot *slot = claim_state(key.hash, FREE);
  if (slot == NULL) {
    itt_lose(ITT_LOSS_RANGE);
    return;
  }
  slot->key = key;
  slot->annotation = annotation;
  slot->frame_thread = kind == ITT_RANGE_FRAME ? itt_thread_events() : NULL;
  slot->capture_id = 0;
  slot->parent = itt_task_context(parent);
  annotation_tags_clear(&slot->tags);
  char group[256];
  if (slot->parent.id == 0 && itt_group_name(parent, group, sizeof group))
    annotation_tags_text(&slot->tags, "task_group", group, strlen(group));
  if (annotation->is_capture_range)
    slot->capture_id = annotation_range_start(itt_domain_of(domain), annotation, text, strlen(text));
  slot->start = start != 0 ? start : xsp_clock_ticks();
  release(slot, key.hash);
}

void itt_range_end(enum itt_range_kind kind, const struct itt_domain *domain, struct itt_id id, uint64_t end)
{
  uint64_t now = end != 0 ? end : xsp_clock_ticks();
  struct key key = key_of(kind, domain, id);
  struct slot *slot = claim_open(&key);
  if (slot == NULL) // never begun, ended already, or begun while its level was off
    return;
  if (slot->capture_id != 0) {
    annotation_range_end_tagged(slot->capture_id, &slot->tags);
  } else {
    bool is_on_thread = slot->frame_thread != NULL && slot->frame_thread == itt_thread_events();
    struct xsp_span span = emit(slot->annotation, slot->start, now, slot->parent, is_on_thread);
    annotation_tags_put(&slot->tags, &span);
  }
  release(slot, FREE);
}

bool itt_range_tag(const struct itt_domain *domain, struct itt_id id, const struct annotation_tags *tags)
{
  for (int kind = ITT_RANGE_TASK; kind <= ITT_RANGE_FRAME; kind++) {
    struct key key = key_of((enum itt_range_kind)kind, domain, id);
    struct slot *slot = claim_open(&key);
    if (slot == NULL)
      continue;
    annotation_tags_copy(&slot->tags, tags);
    release(slot, key.hash);
    return true;
  }
  return false;
}

const struct annotation *itt_frame_annotation(const struct itt_domain *domain)
{
  const char *name = domain == NULL || domain->name == NULL ? "(unnamed)" : domain->name;
  return annotation_find_text(annotation_domain(NULL), "frame", name);
}

// ---- groups
void itt_group_begin(struct itt_id id, const char *name)
{
  struct key key = key_of(ITT_RANGE_GROUP, NULL, id);
  struct slot *slot = claim_open(&key);
  if (slot == NULL) {
    slot = claim_state(key.hash, FREE);
    if (slot == NULL) {
      itt_lose(ITT_LOSS_RANGE);
      return;
    }
    __atomic_add_fetch(&group_count, 1, __ATOMIC_RELAXED);
  }
  slot->key = key;
  annotation_tags_clear(&slot->tags);
  annotation_tags_text(&slot->tags, "", name, strnlen(name, 255));
  release(slot, key.hash);
}

void itt_group_end(struct itt_id id)
{
  if (__atomic_load_n(&group_count, __ATOMIC_RELAXED) == 0)
    return;
  struct key key = key_of(ITT_RANGE_GROUP, NULL, id);
  struct slot *slot = claim_open(&key);
  if (slot == NULL)
    return;
  __atomic_sub_fetch(&group_count, 1, __ATOMIC_RELAXED);
  release(slot, FREE);
}

bool itt_group_name(struct itt_id id, char *ret_name, size_t size)
{
  if (__atomic_load_n(&group_count, __ATOMIC_RELAXED) == 0 || (id.d1 | id.d2 | id.d3) == 0)
    return false;
  struct key key = key_of(ITT_RANGE_GROUP, NULL, id);
  struct slot *slot = claim_open(&key);
  if (slot == NULL)
    return false;
  snprintf(ret_name, size, "%s", slot->tags.text + slot->tags.tag[0].at);
  release(slot, key.hash);
  return true;
}
