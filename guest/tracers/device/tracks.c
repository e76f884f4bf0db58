// SPDX-License-Identifier: Apache-2.0
// Tracks by what they are of. Called for every span, so a track is found by one look in a table.
#include "tracers/device/tracks.h"

#include "tracers/device/lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <xsp/span.h>

#define BUCKETS 1024u

struct owned { // what has tracks
  struct owned *next;
  struct device_place place; // of a thread: `what` is NULL and `id` the thread's
  uint32_t track;            // without lanes
  struct device_lanes lanes;
};

static struct owned *buckets[BUCKETS];

static struct owned *owned_of(const struct device_place *place)
{
  struct owned **bucket = &buckets[(place->device * 31 + place->context * 7 + place->id * 5) % BUCKETS];
  for (struct owned *known = *bucket; known != NULL; known = known->next)
    if (known->place.device == place->device && known->place.context == place->context &&
        known->place.id == place->id && known->place.queue == place->queue && known->place.what == place->what)
      return known;
  struct owned *fresh = calloc(1, sizeof *fresh);
  if (fresh == NULL)
    return NULL;
  *fresh = (struct owned){.next = *bucket, .place = *place};
  *bucket = fresh;
  return fresh;
}

static uint16_t make_track(const struct owned *owned, uint32_t lane)
{
  const struct device_place *place = &owned->place;
  char name[96], queue[32] = "", more[24] = "";
  if (place->queue != NULL)
    snprintf(queue, sizeof queue, " %s %u", place->queue, place->id);
  if (lane > 0)
    snprintf(more, sizeof more, " lane %u", lane + 1);
  snprintf(name, sizeof name, "GPU %u%s%s%s", place->device, queue, place->what, more);
  struct xsp_track_options options = {.size = sizeof options,
                                      .name = name,
                                      .device_id = place->device,
                                      .stream_id = place->queue != NULL ? (int64_t)place->id : -1};
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

uint16_t device_track(const struct device_place *place)
{
  return only_track(owned_of(place));
}

uint16_t device_track_at(const struct device_place *place, uint64_t start, uint64_t end)
{
  struct owned *owned = owned_of(place);
  uint32_t number = 0;
  struct device_lane *lane = owned == NULL ? NULL : device_lanes_take(&owned->lanes, start, end, &number);
  if (lane == NULL)
    return only_track(owned);
  if (lane->track == 0)
    lane->track = number == 0 ? only_track(owned) : make_track(owned, number);
  return (uint16_t)lane->track;
}

uint16_t device_thread_track(uint32_t thread_id)
{
  struct owned *owned = owned_of(&(struct device_place){.id = thread_id});
  struct xsp_track_options options = {.size = sizeof options, .thread_id = thread_id, .stream_id = -1};
  if (owned != NULL && owned->track == 0)
    owned->track = xsp_track_create(&options);
  return owned == NULL ? 0 : (uint16_t)owned->track;
}
