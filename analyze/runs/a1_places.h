// SPDX-License-Identifier: Apache-2.0
// Where the observations of a run took place, and which one is next to an instant there. Private to A1's stages.
#ifndef XSP_ANALYZE_RUNS_A1_PLACES_H
#define XSP_ANALYZE_RUNS_A1_PLACES_H

#include "analyze/view.h"

#define PLACE_NONE UINT32_MAX

struct model_span { // of a run, in any order
  int64_t span_id;
  uint32_t track_id;
};

struct place { // an observation, in the order of (place, start)
  uint32_t at; // its track, or its process
  int64_t start_ns, end_ns;
  int64_t latest_end_ns; // of all up to this one within `at`: rising, whatever overlaps
  size_t observation;
};

struct known_track {
  const struct store_track *track;
  uint32_t process;
};

struct places {
  struct known_track *tracks; // by track id
  size_t track_count, process_count;
  struct place *by_track, *by_process; // `count` of each
  size_t count;
};

// All memory is the question's scratch. Sorts `models`.
enum status places_load(struct question *question, const struct view_run *run, struct model_span *models,
                        size_t model_count, struct places *ret_places, struct error *err) MUST_CHECK;
// Below process_count; PLACE_NONE: no such track.
uint32_t places_process(const struct places *places, uint32_t track_id);
// The first observation that ends after an instant; the last one that began by then. Of those on the track where there
// are any, else of those of the process. NULL: none.
const struct place *places_after(const struct places *places, uint32_t track_id, uint32_t process, int64_t time_ns);
const struct place *places_before(const struct places *places, uint32_t track_id, uint32_t process, int64_t time_ns);

#endif
