// SPDX-License-Identifier: Apache-2.0
// Where the observations of a run took place, and which one is next to an instant there. Private to A1's stages.
#ifndef XSP_ANALYZE_RUNS_A1_PLACES_H
#define XSP_ANALYZE_RUNS_A1_PLACES_H

#include "analyze/view.h"
#include "base/map.h"

#define PLACE_NONE UINT32_MAX

struct stage_place { // an observation at its track, and again at its process; in the order of (at, start)
  uint64_t at;
  int64_t start_ns, end_ns;
  int64_t latest_end_ns; // of all up to this one within `at`: rising, whatever overlaps
  size_t observation;
};

struct stage_places {    // stage_places_done frees it, also after an error
  struct map process_of; // by track id
  size_t process_count;
  struct stage_place *items; // in the question's scratch
  size_t count;
};

// `track_of`: by id, the tracks of the run's model spans.
enum status stage_places_load(struct question *question, const struct view_run *run, const struct map *track_of,
                              struct stage_places *ret_places, struct error *err) MUST_CHECK;
void stage_places_done(struct stage_places *places);
// Below process_count; PLACE_NONE: no such track.
uint32_t stage_places_process(const struct stage_places *places, uint32_t track_id);
// The first observation that ends after an instant; the last one that began by then. Of those on the track where there
// are any, else of those of the process. NULL: none.
const struct stage_place *stage_places_after(const struct stage_places *places, uint32_t track_id, uint32_t process,
                                             int64_t time_ns);
const struct stage_place *stage_places_before(const struct stage_places *places, uint32_t track_id, uint32_t process,
                                              int64_t time_ns);

#endif
