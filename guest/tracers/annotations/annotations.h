// SPDX-License-Identifier: Apache-2.0
// What tracers of annotations (NVTX, ITT) share: a text in a domain becomes a site (level, name) and the tags that its
// text carries, by trace/format/range.h; push/pop nesting per thread and domain; capture ranges. Linked into each tracer.
//
// Every function may be called from any thread at any time. Looking up a text that was seen before takes no lock and
// allocates nothing; a new text is copied. Nothing here fails towards the traced program: what could not be kept has
// site NULL and is not recorded.
#ifndef XSP_TRACERS_ANNOTATIONS_H
#define XSP_TRACERS_ANNOTATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xsp/span.h>
#include <xsp/tracer.h>

#include "tracers/annotations/tags.h"

struct annotation_domain; // lives as long as the process

// One text of one domain and category, as its spans appear. Immutable.
struct annotation {
  struct xsp_site *site; // NULL: not recorded
  bool is_capture_range; // matches XSP_CAPTURE_RANGE
  // "aten::mm, seq = 3, op_id = 12, sizes = [[1]]" has the site of "aten::mm": what differs from one span to the next is
  // read anew each time and becomes tags `sequence`, `op_id`, `sizes`.
  bool has_varying_tags;
};

// Once, before anything else, from either entrance of the tracer; idempotent. Reads XSP_MODEL_RANGE, XSP_CAPTURE_RANGE.
void annotations_start(const char *tracer_name);
// Where limits that were exceeded are reported; from xsp_tracer.start.
void annotations_host(const struct xsp_host *host);
// The domain of this name; NULL or "": the default one. Equal names give the same domain.
struct annotation_domain *annotation_domain(const char *name);
// One that was made but has no name: ranges in it that begin with "nccl" are NCCL's, of library level.
struct annotation_domain *annotation_domain_nameless(void);
const char *annotation_domain_name(const struct annotation_domain *domain);
// `category` NULL: none. The text need not end with a NUL and may change after the call. Never NULL.
const struct annotation *annotation_find(struct annotation_domain *domain, const char *category, const char *text,
                                         size_t length);
// The same for a text that ends with a NUL: a text seen before at the same address is not measured first.
const struct annotation *annotation_find_text(struct annotation_domain *domain, const char *category, const char *text);
// "frame 4711" as "frame #": each run of digits becomes one sign. Returns the length, at most `size`; writes no NUL.
size_t annotation_without_numbers(const char *text, size_t length, char *reduced, size_t size);
// Nothing of this site is recorded now. Its fields may be written again, by the same, while we read.
static inline bool annotation_site_is_off(const struct xsp_site *site)
{
  return site == NULL || (__atomic_load_n(__atomic_load_n(&site->levels, __ATOMIC_RELAXED), __ATOMIC_RELAXED) &
                          __atomic_load_n(&site->mask, __ATOMIC_RELAXED)) == 0;
}
// Nothing of this tracer is recorded now and no range could change that: texts need not be looked up.
bool annotations_are_off(void);

// ---- ranges that nest on the calling thread, per domain
// Starts a span; the returned handle takes tags until the pop. `annotation` NULL: not recorded, it only nests. `text`
// (may be NULL where the annotation has no varying tags) as given to annotation_find. *ret_depth, may be NULL: nesting
// before the push, 0-based.
struct xsp_span annotation_push(struct annotation_domain *domain, const struct annotation *annotation, const char *text,
                                size_t length, int *ret_depth);
int annotation_pop(struct annotation_domain *domain); // nesting after the pop; -1: nothing was open
// The span of the innermost open range, for tags; not recorded: all zero.
struct xsp_span annotation_innermost(struct annotation_domain *domain);
// The tags with which the calling thread's last push began and its next pop in the domain ends.
void annotation_pushed_tags(const struct annotation_tags *tags, const struct xsp_span *span);
void annotation_pop_tags(struct annotation_domain *domain, const struct annotation_tags *tags);

// ---- ranges that any thread may end: on no thread's track
uint64_t annotation_range_start(struct annotation_domain *domain, const struct annotation *annotation, const char *text,
                                size_t length); // an id, never 0
void annotation_range_end(uint64_t id);
// The same with tags, which are copied.
uint64_t annotation_range_start_tagged(struct annotation_domain *domain, const struct annotation *annotation,
                                       const char *text, size_t length, const struct annotation_tags *tags);
void annotation_range_end_tagged(uint64_t id, const struct annotation_tags *tags);
// A range that is over, in ticks. It is recorded if it is between the start of this tracer and now.
void annotation_publish(struct annotation_domain *domain, const struct annotation *annotation, uint64_t start,
                        uint64_t end, const struct annotation_tags *tags);

// A track of no thread, "TRACER KIND 1" for index 0, made at its first use. *place (atomic) remembers it. 0: none left.
uint16_t annotation_track(uint16_t *place, const char *kind, uint32_t index);

// ---- instants: a span of no length, category "mark", at application level
struct xsp_span annotation_mark(struct annotation_domain *domain, const char *text, size_t length);
// A counter's value, read at `ticks` (0, or a time that cannot be: now): a span of no length, category "counter". The caller
// adds the tag `value`.
struct xsp_span annotation_counter(struct annotation_domain *domain, const char *name, uint64_t ticks);

#endif
