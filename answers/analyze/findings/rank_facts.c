// SPDX-License-Identifier: Apache-2.0
// Loads the ranks of a job for rules, and adds up their collectives. Called by ranks.c and findings.c.
#include "analyze/findings/rank_facts.h"
#include "analyze/lines/paths.h"

#include "base/saturate.h"

static void add_run(const struct ranks *ranks, const struct rank_run *run, void *context) // ranks_visit
{
  struct rank_facts *facts = context;
  findings_add_exchanges(&facts->exchanges, ranks, run, &facts->paths);
  findings_add_links(&facts->links, ranks);
  for (size_t i = 0; i < ranks->collectives.count; i++) {
    const struct collective *one = &ranks->collectives.items[i];
    const struct map_key place = {one->rank, path_own_line(&facts->paths, one->context_id)};
    const struct map_key kind = {one->rank,
                                 (uint64_t)(one->kind != 0 ? one->kind : one->name) << 1 | one->is_scattered};
    *map_at(&facts->collective_ns, place, NULL) += (uint64_t)saturate_subtract(one->end_ns, one->arrival_ns);
    *map_at(&facts->waiting_ns, kind, NULL) += (uint64_t)one->waiting_ns;
  }
}

void rank_facts_done(struct rank_facts *facts)
{
  if (facts == NULL)
    return;
  ranks_done(&facts->ranks);
  map_done(&facts->exchanges.bytes_of);
  findings_links_done(&facts->links);
  map_done(&facts->collective_ns);
  map_done(&facts->waiting_ns);
}

enum status rank_facts_load(struct question *question, struct rank_facts *ret_facts, struct error *err)
{
  XSP_TRY(store_call_paths(question->view->store, question->scratch, &ret_facts->paths, err));
  return ranks_load(question, 2, add_run, ret_facts, &ret_facts->ranks, err);
}
