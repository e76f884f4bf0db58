// SPDX-License-Identifier: Apache-2.0
// Processes of tracks, and rounded times. Private to correlate.
//
// Spans on no thread enclose those of all threads of their process: layers of frameworks that do not report where they
// ran, ranges that begin on one thread and end on another. Each level of a process (and clock) has one stack for the
// spans of all its tracks that have neither a thread nor a device. Such spans may run side by side, so of two that
// enclose a span one must be the other's ancestor; otherwise the span's parent is ambiguous.
#ifndef XSP_CORRELATE_PARENTS_PRIVATE_H
#define XSP_CORRELATE_PARENTS_PRIVATE_H

#include "correlate/parents.h"

// After the backward sweep, before parents that sources named are filled in: numbers processes for launches_of, and leaves
// all tracks of those with spans on no thread to the forward sweep.
void processes_find(const struct store_spans *spans, const struct store_track *tracks, size_t track_count,
                    struct parents *parents);
// The parent of `span`, on a track whose process has such spans. Finds the one to name among the open ones of its track
// and of its process.
enum sweep_answer processes_look_up(const struct parents *parents, struct parents_track *track,
                                    const struct sweep_span *span, struct arena *arena,
                                    const struct sweep_open **ret_open);

// nest.c: of the rows of parents->forward_row, which is sorted: gives `spans` durations, in the parents' arena, with which those
// that outlast what they began in by at most parents->resolution_ns end with it, and counts them. False: there are none.
bool parents_nest_ends(struct parents *parents, struct store_spans *spans);

#endif
