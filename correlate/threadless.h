// SPDX-License-Identifier: Apache-2.0
// Spans on no thread, which enclose those of all threads of their process: layers of frameworks that do not report where
// they ran, ranges that begin on one thread and end on another. Private to correlate.
//
// A process is a (host, process, clock). Each level of a process has one stack for the spans of all its tracks that have
// neither a thread nor a device. Such spans may run side by side, so of those that enclose a span each must be an
// ancestor of the next one inside; otherwise the span's parent is ambiguous.
#ifndef XSP_CORRELATE_THREADLESS_H
#define XSP_CORRELATE_THREADLESS_H

#include "correlate/parents.h"

// After the backward sweep, before parents that sources named are filled in: finds these processes, and leaves all of
// their tracks to the forward sweep.
void threadless_find(const struct store_spans *spans, const struct store_track *tracks, size_t track_count,
                     struct parents *parents);
// The parent of `span`, on a track whose process has such spans. Finds the one to name among the open ones of its track
// and of its process.
enum sweep_answer threadless_look_up(const struct parents *parents, struct parents_track *track,
                                     const struct sweep_span *span, struct arena *arena,
                                     const struct sweep_open **ret_open);
// Opens a span of a threadless track whose parent is known.
void threadless_push(struct parents *parents, struct parents_track *track, const struct sweep_span *span);

#endif
