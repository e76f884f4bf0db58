// SPDX-License-Identifier: Apache-2.0
// Makes spans of the contexts that xsp exported; see spans.h. Called by pprof.c at the end of each run.
#include "importers/pprof/spans.h"

#include "format/range.h"

uint32_t pprof_node_at(struct pprof_spans *spans, uint32_t above, uint32_t path, uint32_t name)
{
  uint64_t *node = map_at(&spans->node_of, (struct map_key){above, path}, NULL);
  if (*node == 0) {
    *vector_add(&spans->nodes) =
        (struct pprof_node){.above = above, .path = path, .name = name, .level = XSP_LEVEL_COUNT};
    *node = spans->nodes.count;
  }
  return (uint32_t)*node - 1;
}

static enum status find_track(struct import *import, struct pprof_spans *spans, bool is_execution,
                              uint32_t *ret_track_id, struct error *err)
{
  static const char *const names[PPROF_TRACKS] = {"spans", "executions"};
  struct store_track track = IMPORT_NO_PLACE;
  track.name = names[is_execution];
  if (spans->track_id[is_execution] == 0)
    XSP_TRY(import_track(import, &track, &spans->track_id[is_execution], err));
  *ret_track_id = spans->track_id[is_execution];
  return STATUS_OK;
}

// The file's own number of samples counts, not that of a label.
static void put_tags(struct import *import, const struct pprof_spans *spans, const struct pprof_node *node,
                     int64_t span_id)
{
  uint32_t samples = import_word(import, "samples");
  import_tag_int(import, span_id, import_word(import, "count"), node->count);
  if (node->samples > 0)
    import_tag_int(import, span_id, samples, node->samples);
  for (size_t i = node->first_tag; i < node->first_tag + node->tag_count; i++) {
    struct store_tag tag = spans->tags.items[i];
    tag.span_id = span_id;
    if (tag.key != samples || node->samples == 0)
      import_tag(import, &tag);
  }
}

// Its level is that of its label, else that of a range of its name.
static enum status put_span(struct import *import, struct pprof_spans *spans, const struct pprof_node *node,
                            struct store_span *span, struct error *err)
{
  size_t length;
  struct range range;
  const char *name = import_text(import, node->name, &length);
  range_read(NULL, name, length, import->options->model_range, &range);
  span->level = (uint8_t)(node->level < XSP_LEVEL_COUNT && !range.is_step ? node->level : range.level);
  span->flags = STORE_SPAN_PLACED | (range.is_step ? STORE_SPAN_STEP : 0);
  span->kind = node->is_execution ? XSP_KIND_EXECUTION : XSP_KIND_SYNC;
  XSP_TRY(find_track(import, spans, node->is_execution, &span->track_id, err));
  put_tags(import, spans, node, span->span_id);
  import_span_path(import, span->span_id, node->path);
  return import_span(import, span, err);
}

// Sums from the last to the first, as nodes stand before those below them. Executions run beside what started them.
static enum status add_up(struct import *import, struct pprof_spans *spans, struct error *err)
{
  int64_t top_ns[PPROF_TRACKS] = {0};
  for (size_t i = spans->nodes.count; i-- > 0;) {
    struct pprof_node *node = &spans->nodes.items[i];
    bool is_inside = node->above != PPROF_AT_THE_TOP && !node->is_execution;
    int64_t *above_ns = is_inside ? &spans->nodes.items[node->above].all_ns : &top_ns[node->is_execution];
    if (__builtin_add_overflow(node->all_ns, node->own_ns, &node->all_ns) ||
        __builtin_add_overflow(*above_ns, node->all_ns, above_ns))
      return import_broken(import, err, 0, "its times add up to more than 64 bits of nanoseconds");
  }
  return STATUS_OK;
}

enum status pprof_spans_put(struct import *import, struct pprof_spans *spans, struct error *err)
{
  int64_t next_ns[PPROF_TRACKS] = {0}, last_span_id = 0;
  XSP_TRY(add_up(import, spans, err));
  for (size_t i = 0; i < spans->nodes.count; i++) {
    struct pprof_node *node = &spans->nodes.items[i];
    struct pprof_node *above = node->above == PPROF_AT_THE_TOP ? NULL : &spans->nodes.items[node->above];
    int64_t *next = above != NULL && !node->is_execution ? &above->next_ns : &next_ns[node->is_execution];
    struct store_span span = {.recorded_parent_id = above != NULL ? above->span_id : 0,
                              .start_ns = *next,
                              .duration_ns = node->all_ns,
                              .name = node->name,
                              .category = node->category};
    node->next_ns = *next;
    *next += node->all_ns;
    node->span_id = span.recorded_parent_id;
    if (pprof_node_is_span(node)) {
      node->span_id = span.span_id = ++last_span_id;
      XSP_TRY(put_span(import, spans, node, &span, err));
    }
  }
  return STATUS_OK;
}

void pprof_spans_done(struct pprof_spans *spans)
{
  vector_done(&spans->nodes);
  vector_done(&spans->tags);
  vector_done(&spans->read);
  map_done(&spans->node_of);
}
