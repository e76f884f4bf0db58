// SPDX-License-Identifier: Apache-2.0
// Reads the operators that a program calls in their order. Called by F68 and F69.
#include "analyze/findings/called.h"

#include "analyze/run_columns.h"
#include "base/sorted.h"

#include <xsp/call_path.h>

SORTED_BY(compare_called, struct called, RISING(track) ?: RISING(start_ns))

enum status findings_called(struct findings *findings, size_t run_index, called_vector *called, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  const struct places_run *placed = &findings->places->runs[run_index];
  struct run_columns columns;
  XSP_TRY(run_columns_load(findings->question, findings->set->runs[run_index],
                           STORE_BIT(STORE_TRACK_ID) | STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS), &arena,
                           &columns, err));
  for (uint32_t row = 0; row < columns.spans.count; row++) {
    uint32_t observation;
    if (placed->counts[row] == COUNTS_UNIT && run_columns_observation(&columns, row, &observation))
      *vector_add(called) = (struct called){.track = columns.spans.track_id[row],
                                            .start_ns = columns.spans.start_ns[row],
                                            .place = placed->place_of[row],
                                            .observation = observation,
                                            .ns = (double)columns.spans.duration_ns[row]};
  }
  vector_sort(called, compare_called);
  return STATUS_OK;
}

uint32_t findings_called_by(const struct places *places, uint32_t place)
{
  uint32_t caller = places->all[place].parent;
  return caller != PLACE_NONE && place_is_own(&places->all[caller]) ? caller : PLACE_NONE;
}
