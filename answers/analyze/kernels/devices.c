// SPDX-License-Identifier: Apache-2.0
// The devices that the runs of a set have tracks of, and the device rows of one of them. Called by A10 and layers/rows.c.
#include "analyze/kernels/device_rows.h"

#include "base/sorted.h"
#include "base/vector.h"

#include <string.h>

static struct kernel_place place_of(const struct store_track *track)
{
  bool has_device = track->device_id != STORE_NONE;
  return (struct kernel_place){has_device && track->host != NULL ? track->host : "", track->device_id};
}

// Those without a device, which compute on processors, come last.
SORTED_BY(compare_places, struct kernel_place,
          ORDER(a->id == STORE_NONE, b->id == STORE_NONE) ?: strcmp(a->host, b->host) ?: RISING(id))

enum status kernel_places_load(struct store *store, const struct view_set *set, struct arena *arena,
                               struct kernel_place **ret_places, size_t *ret_count, struct error *err)
{
  VECTOR(struct kernel_place) places SCOPED(vector_end) = {0};
  for (size_t r = 0; r < set->run_count; r++) {
    struct store_track *tracks;
    size_t count;
    XSP_TRY(store_tracks(store, set->runs[r]->run->run_id, arena, &tracks, &count, err));
    for (size_t i = 0; i < count; i++)
      *vector_add(&places) = place_of(&tracks[i]);
  }
  *ret_places = arena_alloc_array(arena, places.count + 1, sizeof **ret_places);
  *ret_count = 0;
  vector_sort(&places, compare_places);
  for (size_t i = 0; i < places.count; i++)
    if (i == 0 || compare_places(&places.items[i - 1], &places.items[i]) != 0)
      (*ret_places)[(*ret_count)++] = places.items[i];
  return STATUS_OK;
}

enum status device_rows_keep(const struct run_columns *columns, const struct kernel_place *place, struct arena *scratch,
                             struct device_rows *devices, struct error *err)
{
  struct map is_there SCOPED(map_done) = {0}; // by track id
  struct store_track *tracks;
  size_t count, kept = 0;
  XSP_TRY(store_tracks(columns->store, columns->run->run->run_id, scratch, &tracks, &count, err));
  for (size_t i = 0; i < count; i++) {
    struct kernel_place here = place_of(&tracks[i]);
    if (compare_places(&here, place) == 0)
      (void)map_at(&is_there, map_number((uint64_t)tracks[i].track_id), NULL);
  }
  for (size_t i = 0; i < devices->count; i++) {
    if (map_find(&is_there, map_number(columns->spans.track_id[devices->items[i].row])) == NULL)
      continue;
    devices->items[kept] = devices->items[i];
    if (devices->calls != NULL)
      devices->calls[kept] = devices->calls[i];
    kept++;
  }
  devices->count = kept;
  return STATUS_OK;
}
