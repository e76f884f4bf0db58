// SPDX-License-Identifier: Apache-2.0
// What rules call: findings with their texts and places, and what other analyses know of the experiment.
#include "analyze/findings/findings.h"

#include <math.h>
#include <string.h>
#include <xsp/call_path.h>

#define NAME_BYTES_MOST 60 // of names in titles

struct finding *findings_add(struct findings *findings)
{
  struct finding *finding = vector_add(&findings->all);
  finding->rule = findings->rule;
  finding->threshold = findings->rule->thresholds[0].name != NULL ? findings->rule->thresholds : NULL;
  finding->time_ms = finding->share_pct = finding->saving_ms = NAN;
  finding->shown_place = finding->shown_function = PLACE_NONE;
  return finding;
}

void finding_number(struct finding *finding, const char *key, double value)
{
  if (finding->number_count < FINDING_NUMBERS_MOST)
    finding->numbers[finding->number_count++] = (struct finding_number){key, value};
}

enum status findings_lack(const struct findings *findings, struct error *err, const char *why)
{
  return question_lacks(findings->question, err, "%s", why);
}

enum status findings_ask(struct findings *findings, const char *layer, struct question *ret_question, struct error *err)
{
  const struct question *asked = findings->question;
  struct analyze_request *request = arena_alloc(asked->scratch, sizeof *request);
  *request = *asked->request;
  request->batch = asked->batch_size;
  request->layer = layer != NULL ? layer : request->layer;
  XSP_TRY(question_start(ret_question, asked->analysis, request, asked->view, asked->arena, asked->scratch, err));
  ret_question->shared = asked->shared;
  return STATUS_OK;
}

enum status findings_answer(struct findings *findings, const struct analysis *analysis, struct table *ret_table,
                            struct error *err)
{
  struct question question;
  XSP_TRY(findings_ask(findings, NULL, &question, err));
  question.analysis = analysis;
  XSP_TRY(analysis->answer(&question, err));
  *ret_table = (struct table){0};
  table_answer(&question.table, ret_table);
  return STATUS_OK;
}

const char *findings_name(struct findings *findings, const char *name)
{
  size_t length = strlen(name);
  if (length <= NAME_BYTES_MOST)
    return name;
  length = NAME_BYTES_MOST;
  while (((unsigned char)name[length] & 0xc0) == 0x80) // not within a character
    length--;
  return arena_format(findings->question->arena, "%.*s…", (int)length, name);
}

const char *findings_time(struct findings *findings, double ms)
{
  if (ms >= 1000)
    return arena_format(findings->question->arena, "%.2f s", ms / 1000);
  if (ms >= 0.1)
    return arena_format(findings->question->arena, "%.*f ms", ms >= 100 ? 0 : ms >= 10 ? 1 : 2, ms);
  return arena_format(findings->question->arena, "%.3g µs", ms * 1000);
}

enum status findings_places(struct findings *findings, const struct places **ret_places, struct error *err)
{
  if (findings->places == NULL) {
    struct places *places = arena_alloc(findings->question->scratch, sizeof *places);
    XSP_TRY(finding_places_load(findings->question, findings->set, places, err));
    findings->places = places;
  }
  *ret_places = findings->places;
  return STATUS_OK;
}

enum status findings_host_places(struct findings *findings, const struct places **ret_places, struct error *err)
{
  XSP_TRY(findings_places(findings, ret_places, err));
  if (!(*ret_places)->has_python || (*ret_places)->has_kernels)
    return findings_lack(findings, err, "it has no Python call paths of operators on the host");
  return STATUS_OK;
}

double findings_per_observation_ms(const struct findings *findings, double sum_ns)
{
  return sum_ns / 1e6 / findings->places->observations;
}

const char *findings_per_observation(const struct findings *findings)
{
  return findings->places->is_folded ? "in all" : "per observation";
}

const char *findings_keep(struct findings *findings, const char *text)
{
  return text == NULL ? NULL : arena_copy(findings->question->arena, text, strlen(text));
}

void finding_at_place(struct findings *findings, struct finding *finding, uint32_t place)
{
  const struct places *places = findings->places;
  uint32_t source = place_in_source(places->all, place), named = place;
  while (places->all[named].name[0] == 0 && places->all[named].parent != PLACE_NONE)
    named = places->all[named].parent;
  finding->context = places->all[named].name[0] != 0 ? places->all[named].name : "an unnamed function";
  finding->context_id = places->all[place].frame_kind < XSP_FRAME_KINDS ? (int64_t)place + 1 : 0;
  if (source == PLACE_NONE)
    return;
  finding->file = places->all[source].file;
  finding->line = places->all[source].line;
}
