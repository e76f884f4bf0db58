// SPDX-License-Identifier: Apache-2.0
// Findings: asks each rule of the table about one experiment, orders what they found, and fills the table. Called by kept.c.
#include "analyze/findings/findings.h"

#include "analyze/findings/rank_facts.h"
#include "base/json_write.h"
#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HIGH_PCT 10 // of the time that could be gained, else of the share
#define MEDIUM_PCT 3

// ---- the rows --------------------------------------------------------------------------------------------------------
static double root_ms(const struct findings *findings)
{
  const struct places *places = findings->places;
  if (places == NULL)
    return NAN;
  return findings_per_observation_ms(findings, places->has_devices ? places->total.device_ns : places->total.host_ns);
}

double findings_saving_pct(const struct findings *findings, const struct finding *finding)
{
  return analyze_share_pct(finding->saving_ms, isnan(findings->loop_ms) ? root_ms(findings) : findings->loop_ms);
}

const char *analyze_severity(double pct)
{
  return pct >= HIGH_PCT ? "high" : pct >= MEDIUM_PCT ? "medium" : "low";
}

// "hotspot-share=10%"
static const char *threshold_text(struct findings *findings, const struct finding *finding)
{
  findings->rule = finding->rule;
  return finding->threshold == NULL
             ? NULL
             : arena_format(findings->question->arena, "%s=%g%s", finding->threshold->name,
                            findings_threshold(findings, finding->threshold->name), finding->threshold->unit);
}

static struct table_cell json_cell(struct findings *findings, struct buf *text)
{
  struct table_cell cell = cell_json(arena_copy(findings->question->arena, text->data, text->length));
  buf_done(text);
  return cell;
}

static struct table_cell spans_cell(struct findings *findings, const struct finding *finding)
{
  struct buf text = {0};
  struct json_writer json;
  json_start(&json, &text);
  json_ints(&json, finding->spans, finding->span_count);
  return json_cell(findings, &text);
}

static struct table_cell numbers_cell(struct findings *findings, const struct finding *finding)
{
  struct buf text = {0};
  struct json_writer json;
  json_start(&json, &text);
  json_object(&json);
  for (size_t i = 0; i < finding->number_count; i++)
    json_member_double(&json, finding->numbers[i].key, finding->numbers[i].value);
  json_object_end(&json);
  return json_cell(findings, &text);
}

static void put_row(struct findings *findings, const struct finding *finding)
{
  static const char *const confidences[] = {"low", "medium", "high"};
  struct table_builder *table = &findings->question->table;
  double pct = findings_saving_pct(findings, finding);
  bool is_all = findings->places != NULL && findings->places->is_folded;
  table_row(table);
  table_put(table, "id", cell_text(finding->rule->id));
  table_put(table, "rule", cell_text(finding->rule->key));
  table_put(table, "severity", cell_text(analyze_severity(isnan(pct) ? finding->share_pct : pct)));
  table_put(table, "confidence", cell_text(confidences[finding->confidence]));
  table_put(table, "title", cell_text(finding->title));
  table_put(table, "context", cell_text(finding->context));
  table_put(table, "context_id", cell_int_if(finding->context_id != 0, finding->context_id));
  table_put(table, "file", cell_text(finding->file));
  table_put(table, "line", cell_int_if(finding->line > 0, finding->line));
  table_put(table, "time_ms", cell_real(finding->time_ms));
  table_put(table, "share_pct", cell_real(finding->share_pct));
  table_put(table, "basis", cell_text(is_all ? "all" : "observation"));
  table_put(table, "saving_ms", cell_real(finding->saving_ms));
  table_put(table, "saving_pct", cell_real(pct));
  table_put(table, "saving_basis", cell_text(finding->saving_basis));
  table_put(table, "threshold", cell_text(threshold_text(findings, finding)));
  table_put(table, "advice", cell_text(finding->advice));
  table_put(table, "run_id", cell_int_if(finding->run_id != 0, finding->run_id));
  table_put(table, "spans", spans_cell(findings, finding));
  table_put(table, "numbers", numbers_cell(findings, finding));
}

// Numbers falling, NaN last.
static int compare_falling(double a, double b)
{
  if (isnan(a) || isnan(b))
    return isnan(a) - isnan(b);
  return (a < b) - (a > b);
}

SORTED_BY(compare_findings, struct finding,
          compare_falling(a->saving_ms, b->saving_ms) ?: compare_falling(a->share_pct, b->share_pct)
                                                      ?: strcmp(a->rule->id, b->rule->id) ?: strcmp(a->title, b->title))

// Declares the columns, also where there is no finding.
static void put_rows(struct findings *findings)
{
  static const struct finding_rule no_rule = {.id = "", .key = ""};
  const struct finding none = {.rule = &no_rule};
  put_row(findings, &none);
  table_declared(&findings->question->table, findings->all.count);
  for (size_t i = 0; i < findings->all.count; i++)
    put_row(findings, &findings->all.items[i]);
}

// ---- which of them remain --------------------------------------------------------------------------------------------
static bool is_at_same_line(const struct finding *a, const struct finding *b)
{
  return a->file != NULL && b->file != NULL && strcmp(a->file, b->file) == 0 && a->line == b->line;
}

// In one function, with half of the bound at least.
static bool has_same_cause(const struct finding *finding, const struct finding *other)
{
  return finding->file != NULL && other->file != NULL && strcmp(finding->file, other->file) == 0 &&
         texts_equal(finding->context, other->context) && other->saving_ms >= finding->saving_ms / 2;
}

// Of several places, without a line: whether the one with most time is below one of the other's name, with half of the bound at least.
static bool is_below(const struct findings *findings, const struct finding *finding, const struct finding *other)
{
  const struct places *places = findings->places;
  uint32_t place = finding->file == NULL && other->shown_place != PLACE_NONE ? finding->shown_place : PLACE_NONE;
  while (place != PLACE_NONE && strcmp(places->all[place].name, places->all[other->shown_place].name) != 0)
    place = places->all[place].parent;
  return place != PLACE_NONE && other->saving_ms >= finding->saving_ms / 2;
}

// A graph that grows makes any backward time as long as all earlier steps together.
static bool is_of_growing_graph(const struct findings *findings, const struct finding *finding)
{
  const struct finding *items = findings->all.items;
  for (size_t i = 0; i < findings->all.count && finding->rule->counts_backward; i++)
    if (items[i].rule->explains_backward && items[i].saving_ms >= finding->saving_ms / 2)
      return true;
  return false;
}

// One cause is one finding: a general rule yields to a finding of another one at its line, in its function or around its place, and of
// general ones at one line the first, with the largest bound, remains.
static bool is_explained(const struct findings *findings, size_t at)
{
  const struct finding *finding = &findings->all.items[at];
  for (size_t i = 0; i < findings->all.count && finding->rule->is_general; i++) {
    const struct finding *other = &findings->all.items[i];
    if (i != at && is_at_same_line(finding, other) && (!other->rule->is_general || i < at))
      return true;
    if (!other->rule->is_general && (has_same_cause(finding, other) || is_below(findings, finding, other)))
      return true;
  }
  return false;
}

// Leaves out what gains nothing, or less than is asked for, which explains nothing then, sorts the others, and leaves out what one of
// them explains. One whose bound is unknown remains.
static void choose(struct findings *findings)
{
  struct finding *items = findings->all.items;
  size_t count = 0, kept = 0;
  for (size_t i = 0; i < findings->all.count; i++)
    if (!(items[i].saving_ms <= 0) &&
        !(findings_saving_pct(findings, &items[i]) < findings->question->request->least_gain_pct))
      items[count++] = items[i];
  findings->all.count = count;
  if (count > 0)
    qsort(items, count, sizeof *items, compare_findings);
  bool *leaves = arena_alloc_array(findings->question->scratch, count + 1, sizeof *leaves);
  for (size_t i = 0; i < count; i++)
    leaves[i] = is_explained(findings, i) || is_of_growing_graph(findings, &items[i]);
  for (size_t i = 0; i < count; i++)
    if (!leaves[i])
      items[kept++] = items[i];
  findings->all.count = kept;
}

// ---- the rules -------------------------------------------------------------------------------------------------------
static void put_rule_json(struct findings *findings, bool is_asked, const char *lacks, struct json_writer *json)
{
  const struct finding_rule *rule = findings->rule;
  json_object(json);
  json_member_string(json, "id", rule->id);
  json_member_string(json, "rule", rule->key);
  json_member_string(json, "title", rule->title);
  json_member_bool(json, "asked", is_asked);
  json_member_string(json, "lacks", lacks);
  json_member_array(json, "thresholds");
  for (size_t i = 0; i < FINDING_THRESHOLDS_MOST && rule->thresholds[i].name != NULL; i++) {
    const struct finding_threshold *threshold = &rule->thresholds[i];
    json_object(json);
    json_member_string(json, "name", threshold->name);
    json_member_string(json, "unit", threshold->unit);
    json_member_double(json, "value", findings_threshold(findings, threshold->name));
    json_member_double(json, "default", threshold->usual);
    json_member_string(json, "help", threshold->help);
    json_object_end(json);
  }
  json_array_end(json);
  json_object_end(json);
}

// Rules that the file cannot answer are named in a note.
static enum status ask_rules(struct findings *findings, const bool *is_asked, struct error *err)
{
  struct buf rules = {0}, lacking = {0};
  struct json_writer json;
  enum status status = STATUS_OK;
  json_start(&json, &rules);
  json_array(&json);
  for (size_t i = 0; finding_rules[i] != NULL && status == STATUS_OK; i++) {
    struct error why = {0};
    findings->rule = finding_rules[i];
    headway_tell(&findings->question->request->watcher, i, findings_rule_count());
    if (is_asked[i])
      status = store_is_folded(findings->question->view->store) && !finding_rules[i]->takes_folded
                   ? findings_lack(findings, &why, "it has the calling context tree instead of spans")
                   : finding_rules[i]->find(findings, &why);
    put_rule_json(findings, is_asked[i], status == STATUS_NO ? why.why : NULL, &json);
    if (status == STATUS_NO) {
      buf_format(&lacking, "%s%s", lacking.length > 0 ? ", " : "", finding_rules[i]->id);
      status = STATUS_OK;
    } else if (status != STATUS_OK && err != NULL)
      *err = why;
  }
  headway_tell(&findings->question->request->watcher, findings_rule_count(), findings_rule_count());
  json_array_end(&json);
  if (lacking.length > 0)
    table_note(&findings->question->table, "not asked, since the file lacks what they need: %s", lacking.data);
  buf_done(&lacking);
  findings->rules = json_cell(findings, &rules);
  return status;
}

static bool is_deeper(struct level_set a, struct level_set b)
{
  if (a.metrics != b.metrics || a.serial != b.serial)
    return a.metrics != b.metrics ? b.metrics : b.serial;
  return level_set_count(a) > level_set_count(b);
}

static const struct view_set *set_of(const struct view *view, int64_t batch_size)
{
  const struct view_set *best = NULL;
  for (size_t i = 0; i < view->set_count; i++)
    if (view->sets[i].batch_size == batch_size && view->sets[i].observation_count > 0 &&
        (best == NULL || is_deeper(view->sets[i].levels, best->levels)))
      best = &view->sets[i];
  return best;
}

static bool has_set(const struct view *view, int64_t batch_size)
{
  return set_of(view, batch_size) != NULL;
}

// Asks all rules and chooses what remains; the caller frees findings->all.
static enum status ask(struct question *question, struct findings *findings, struct error *err)
{
  size_t count = findings_rule_count();
  bool *is_asked = arena_alloc_array(question->scratch, count + 1, sizeof *is_asked);
  *findings = (struct findings){.question = question, .latency_ms = NAN};
  findings->classes = arena_alloc(question->scratch, sizeof *findings->classes);
  findings->thresholds = arena_alloc_array(question->scratch, count * FINDING_THRESHOLDS_MOST + 1, sizeof(double));
  XSP_TRY(findings_read_options(question->request, findings->thresholds, is_asked, err));
  XSP_TRY(question_batch(question, has_set, "observations", err));
  findings->batch_is_noted = question->table.note_count > 0;
  findings->set = set_of(question->view, question->batch_size);
  question_uses(question, findings->set);
  if (!store_is_folded(question->view->store))
    findings->latency_ms = question_model_latency(question, findings->set);
  XSP_TRY(findings_loop_ms(findings, &findings->loop_ms, err));
  XSP_TRY(ask_rules(findings, is_asked, err));
  for (size_t i = 0; i < findings->all.count; i++) {
    struct finding *finding = &findings->all.items[i];
    finding->saving_ms = finding->saving_ms > findings->loop_ms ? findings->loop_ms : finding->saving_ms;
    finding->context = findings_keep(findings, finding->context); // rules take both from places, which do not last
    finding->file = findings_keep(findings, finding->file);
  }
  choose(findings);
  return STATUS_OK;
}

static struct table_cell sentence_cell(struct findings *findings, const struct first_sentence *sentence)
{
  struct buf text = {0};
  struct json_writer json;
  if (sentence->text == NULL)
    return (struct table_cell){0};
  json_start(&json, &text);
  json_object(&json);
  json_member_string(&json, "text", sentence->text);
  json_member_string(&json, "file", sentence->file);
  json_member_int_or_null(&json, "line", sentence->line);
  json_member_double(&json, "share_pct", sentence->share_pct);
  json_member_string(&json, "finding", sentence->finding);
  json_object_end(&json);
  return json_cell(findings, &text);
}

static enum status put_summary(struct findings *findings, const struct first_sentence *first, struct error *err)
{
  struct table_builder *table = &findings->question->table;
  struct first_sentence sentence = *first;
  double covered_pct;
  if (sentence.text == NULL)
    XSP_TRY(findings_say_any(findings, &sentence, err));
  XSP_TRY(findings_covered_pct(findings, &covered_pct, err));
  table_summary(table, "findings", cell_int((int64_t)findings->all.count));
  table_summary(table, "latency_ms", cell_real(findings->latency_ms));
  table_summary(table, "covered_pct", cell_real(covered_pct));
  table_summary(table, "cause", sentence_cell(findings, &sentence));
  table_summary(table, "rules", findings->rules);
  return STATUS_OK;
}

static void done(struct findings *findings)
{
  vector_done(&findings->all);
  map_done(findings->classes);
  rank_facts_done(findings->ranks);
}

enum status findings_answer_anew(struct question *question, struct first_sentence *ret_first, bool *ret_batch_is_noted,
                                 struct error *err)
{
  struct findings findings SCOPED(done);
  XSP_TRY(ask(question, &findings, err));
  XSP_TRY(findings_say_first(&findings, ret_first, err));
  *ret_batch_is_noted = findings.batch_is_noted;
  findings_fill_spans(&findings);
  put_rows(&findings);
  return put_summary(&findings, ret_first, err);
}

enum status findings_say_anew(struct question *question, struct first_sentence *ret_sentence, struct error *err)
{
  struct findings findings SCOPED(done);
  XSP_TRY(ask(question, &findings, err));
  return findings_say_first(&findings, ret_sentence, err);
}
