// SPDX-License-Identifier: Apache-2.0
// Tracks by what they are of. Called by records.c for every span, so a track is found by one look in a table.
#include "tracers/cuda/tracks.h"

#include "tracers/device/lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <xsp/span.h>

#define BUCKETS 1024u

enum owner { THREAD, STREAM, WAITS, MEMORY };
struct owned { // what has tracks
  struct owned *next;
  enum owner owner;
  uint32_t device, context, id;
  uint32_t track; // without lanes
  struct lanes lanes;
};

static struct owned *buckets[BUCKETS];

static struct owned *owned_of(enum owner owner, uint32_t device, uint32_t context, uint32_t id)
{
  struct owned **bucket = &buckets[(owner + device * 31 + context * 7 + id * 5) % BUCKETS];
  for (struct owned *known = *bucket; known != NULL; known = known->next)
    if (known->owner == owner && known->device == device && known->context == context && known->id == id)
      return known;
  struct owned *fresh = calloc(1, sizeof *fresh);
  if (fresh == NULL)
    return NULL;
  *fresh = (struct owned){.next = *bucket, .owner = owner, .device = device, .context = context, .id = id};
  *bucket = fresh;
  return fresh;
}

static uint16_t make_track(const struct owned *owned, uint32_t lane)
{
  char name[96], more[24] = "";
  bool has_stream = (owned->owner == STREAM || owned->owner == WAITS) && owned->id != NO_STREAM;
  if (lane > 0)
    snprintf(more, sizeof more, " lane %u", lane + 1);
  if (has_stream)
    snprintf(name, sizeof name, "GPU %u stream %u%s%s", owned->device, owned->id, owned->owner == WAITS ? " waits" : "",
             more);
  else
    snprintf(name, sizeof name, "GPU %u%s%s", owned->device, owned->owner == WAITS ? " waits" : " memory", more);
  struct xsp_track_options options = {.size = sizeof options,
                                      .thread_id = owned->owner == THREAD ? owned->id : 0,
                                      .name = owned->owner == THREAD ? NULL : name,
                                      .device_id = owned->device,
                                      .stream_id = has_stream ? (int64_t)owned->id : -1};
  return xsp_track_create(&options);
}

static uint16_t only_track(struct owned *owned)
{
  if (owned == NULL)
    return 0;
  if (owned->track == 0)
    owned->track = make_track(owned, 0);
  return (uint16_t)owned->track;
}

static uint16_t free_track(struct owned *owned, uint64_t start, uint64_t end)
{
  uint32_t number = 0;
  struct lane *lane = owned == NULL ? NULL : lanes_take(&owned->lanes, start, end, &number);
  if (lane == NULL)
    return only_track(owned);
  if (lane->track == 0)
    lane->track = number == 0 ? only_track(owned) : make_track(owned, number);
  return (uint16_t)lane->track;
}

uint16_t thread_track(uint32_t thread_id)
{
  return only_track(owned_of(THREAD, 0, 0, thread_id));
}

uint16_t stream_track(uint32_t device, uint32_t context, uint32_t stream, uint64_t start, uint64_t end)
{
  return free_track(owned_of(STREAM, device, context, stream), start, end);
}

uint16_t wait_track(uint32_t device, uint32_t context, uint32_t stream, uint64_t start, uint64_t end)
{
  return free_track(owned_of(WAITS, device, context, stream), start, end);
}

uint16_t allocation_track(uint32_t device)
{
  return only_track(owned_of(MEMORY, device, 0, 0));
}
