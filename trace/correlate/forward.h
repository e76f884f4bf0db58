// SPDX-License-Identifier: Apache-2.0
// Forward operators of backward operators (PyTorch's autograd). Private to correlate; called by stored.c.
//
// A forward operator and the backward operator made for it carry one sequence number (tag `sequence`), counted by the
// forward operator's thread. A backward operator names that thread as well: by its number in the operating system (tag
// `forward_thread`, xsp's tracer) or by PyTorch's own number (tag `Fwd thread id`, Kineto; 0: a forward operator).
#ifndef XSP_CORRELATE_FORWARD_H
#define XSP_CORRELATE_FORWARD_H

#include "correlate/parents.h"

struct forward_source {
  struct store *store;
  int64_t run_id;
  const struct store_spans *spans;
  const struct parents *parents;
  const struct store_track *tracks;
  size_t track_count;
};
struct forward_link {
  uint32_t row, forward_row;
};
struct forward_links {
  const struct store_spans *spans; // whose rows these are
  struct forward_link *links;      // in the arena, by row
  size_t count;
  size_t
      unknown_count; // backward operators without a link because their thread's number is of no thread, or of several
};

bool forward_may_be(struct store *store); // false: no tag names a forward operator's thread
// STATUS_OK with no links where the run has no backward operators.
enum status forward_find(const struct forward_source *source, struct arena *arena, struct forward_links *ret_links,
                         struct error *err) MUST_CHECK;
// A store_derived_source's fill, with the links as its context.
void forward_fill(void *context, enum store_column column, size_t first_row, size_t count, void *ret_values);

#endif
