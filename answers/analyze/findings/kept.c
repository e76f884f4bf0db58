// SPDX-License-Identifier: Apache-2.0
// The analysis `findings`, and the first sentence of the cause. A page or a summary asks for both: with a cache, the rules
// are asked once.
#include "analyze/findings/findings.h"

#include "analyze/a_list.h"

struct kept_findings {
  int64_t batch, same_batch; // as it was asked for, and with the same answer
  struct first_sentence first;
  struct question question; // answered; its table and its run set count
};

// Whether it asks for what the cause asks for: all options as they are without any, whatever rows are shown of the answer.
static bool is_usual(const struct analyze_request *request)
{
  struct analyze_request usual;
  analyze_request_init(&usual);
  usual.batch = request->batch; // is compared by itself
  usual.top = request->sort == NULL ? request->top : 0;
#define X(name, form, member, count, ...) &&usual.member == request->member &&usual.count == request->count
  return usual.only_has_own == request->only_has_own ANALYZE_OPTIONS(X);
#undef X
}

// Where the cache keeps the answer; NULL: nowhere.
static struct kept_findings **place_of(const struct question *question)
{
  const struct analyze_cache *cache = question->request->cache;
  if (cache == NULL || !cache->findings_follow || !is_usual(question->request))
    return NULL;
  for (size_t i = 0; i < cache->experiment_count; i++)
    if (cache->views_of_all[i] == question->view)
      return &cache->findings[i];
  return NULL;
}

// The kept answer, which is made where there is none. NULL: the question is one for itself.
static enum status keep(struct question *question, const struct kept_findings **ret_kept, struct error *err)
{
  struct kept_findings **place = place_of(question);
  int64_t batch = question->request->batch;
  bool batch_is_noted = false;
  *ret_kept = NULL;
  if (place == NULL)
    return STATUS_OK;
  if (*place != NULL) {
    *ret_kept = batch == (*place)->batch || batch == (*place)->same_batch ? *place : NULL;
    return STATUS_OK;
  }
  struct arena *arena = &question->request->cache->lasting;
  struct kept_findings *kept = arena_alloc(arena, sizeof *kept);
  XSP_TRY(question_start(&kept->question, &analysis_findings, question->request, question->view, arena,
                         question->scratch, err));
  kept->question.parts = question->parts;
  kept->question.parts_set = question->parts_set;
  XSP_TRY(findings_answer_anew(&kept->question, &kept->first, &batch_is_noted, err));
  kept->batch = batch;
  kept->same_batch = batch_is_noted ? batch : kept->question.batch_size;
  *ret_kept = *place = kept;
  return STATUS_OK;
}

static enum status answer(struct question *question, struct error *err)
{
  const struct kept_findings *kept;
  struct first_sentence first;
  bool batch_is_noted;
  XSP_TRY(keep(question, &kept, err));
  if (kept == NULL)
    return findings_answer_anew(question, &first, &batch_is_noted, err);
  question->table = kept->question.table;
  question->batch_size = kept->question.batch_size;
  question->used = kept->question.used;
  question->used_count = kept->question.used_count;
  return STATUS_OK;
}

enum status findings_first_sentence(struct question *question, struct first_sentence *ret_sentence, struct error *err)
{
  const struct kept_findings *kept;
  XSP_TRY(keep(question, &kept, err));
  if (kept == NULL)
    return findings_say_anew(question, ret_sentence, err);
  *ret_sentence = kept->first;
  return STATUS_OK;
}

const struct analysis analysis_findings = {.id = "findings",
                                           .title = "findings",
                                           .summary = "what is probably wrong, by rules",
                                           .needs = "M",
                                           .is_of_program = true,
                                           .takes_folded = true,
                                           .answer = answer};
