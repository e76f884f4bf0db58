// SPDX-License-Identifier: Apache-2.0
// What rules about programs need: time by function and by line of the program's own code, and what observations were called with.
#include "analyze/findings/shared.h"

#include "base/interner.h"
#include "base/saturate.h"

#include <string.h>
#include <xsp/call_path.h>

bool findings_is_in_loop(const struct view_run *run, int64_t time_ns)
{
  const struct store_observation *first = &run->observations[0], *last = &run->observations[run->observation_count - 1];
  return run->observation_count < 2 ||
         (time_ns >= first->start_ns && time_ns <= saturate_add(last->start_ns, last->duration_ns));
}

// The line that calls the model around a place: the outermost module of PyTorch; without one, the place's own line.
static uint32_t calling_place(const struct places *places, uint32_t place)
{
  uint32_t outermost = place;
  for (uint32_t at = place; at != PLACE_NONE; at = places->all[at].parent)
    outermost = place_is_glue(&places->all[at]) ? at : outermost;
  return place_own_source(places->all, outermost);
}

static uint32_t busiest(struct findings *findings, uint32_t (*source_of)(const struct places *places, uint32_t place))
{
  const struct places *places = findings->places;
  struct interner lines SCOPED(interner_done) = {0};
  double *ns = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *ns), most_ns = 0;
  uint32_t found = PLACE_NONE;
  for (uint32_t i = 0; i < places->count; i++) {
    uint32_t source = places->all[i].own.host_ns > 0 ? source_of(places, i) : PLACE_NONE;
    if (source == PLACE_NONE)
      continue;
    const char *key = arena_format(findings->question->scratch, "%s:%lld", places->all[source].file,
                                   (long long)places->all[source].line);
    double *line_ns = &ns[interner_at(&lines, key, strlen(key))];
    *line_ns += places->all[i].own.host_ns;
    if (*line_ns > most_ns) { // sums only grow: the largest is the last to exceed all others
      most_ns = *line_ns;
      found = source;
    }
  }
  return found;
}

static uint32_t own_place(const struct places *places, uint32_t place)
{
  return place_own_source(places->all, place);
}

uint32_t findings_busiest_place(struct findings *findings)
{
  return busiest(findings, own_place);
}

uint32_t findings_busiest_call(struct findings *findings)
{
  return busiest(findings, calling_place);
}

// Of one run, from `texts` on; `key`: string id of the tag.
static enum status add_run(struct findings *findings, const struct view_run *run, uint32_t key,
                           struct observed_text *texts, size_t *count, struct error *err)
{
  struct store *store = findings->question->view->store;
  struct map by_span SCOPED(map_done) = {0};
  struct store_tag *tags;
  size_t tag_count;
  XSP_TRY(store_load_tags_of(store, run->run->run_id, &key, 1, findings->question->scratch, &tags, &tag_count, err));
  for (size_t i = 0; i < tag_count; i++)
    if (tags[i].type == STORE_TEXT)
      *map_at(&by_span, map_number((uint64_t)tags[i].span_id), NULL) = tags[i].value.string;
  for (size_t i = 0; i < run->observation_count; i++) {
    const struct store_observation *observation = &run->observations[i];
    const uint64_t *text = map_find(&by_span, map_number((uint64_t)observation->span_id));
    if (!observation->warmup)
      texts[(*count)++] = (struct observed_text){.ms = (double)observation->duration_ns / 1e6,
                                                 .text = text != NULL ? store_text(store, (uint32_t)*text, NULL) : NULL,
                                                 .run_id = run->run->run_id,
                                                 .span_id = observation->span_id};
  }
  return STATUS_OK;
}

enum status findings_signatures(struct findings *findings, struct observed_text **ret_texts, size_t *ret_count,
                                struct error *err)
{
  uint32_t id = 0;
  *ret_count = 0;
  *ret_texts = arena_alloc_array(findings->question->scratch, findings->set->observation_count + 1, sizeof **ret_texts);
  if (!store_find_string(findings->question->view->store, "signature", 9, &id))
    return STATUS_OK;
  for (size_t i = 0; i < findings->set->run_count; i++)
    XSP_TRY(add_run(findings, findings->set->runs[i], id, *ret_texts, ret_count, err));
  return STATUS_OK;
}
