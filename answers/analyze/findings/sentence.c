// SPDX-License-Identifier: Apache-2.0
// The first sentence about a program: its top finding with share and line; without one, where its time goes. Called by findings.c.
#include "analyze/findings/busiest_line.h"
#include "analyze/findings/own_lines.h"
#include "analyze/findings/server.h"
#include "analyze/findings/shared.h"
#include "analyze/findings/source_line.h"
#include "analyze/runs/a1_coverage.h"

#include "base/interner.h"

#include <math.h>
#include <string.h>

#define LEAST_FINDING_PCT 5       // smaller ones are no first sentence
#define SMALL_OPERATORS_NS 100000 // of calls with one row, on average: calling them is most of it

static void put_place(struct findings *findings, struct first_sentence *sentence, const char *file, int64_t line)
{
  sentence->file = file;
  sentence->line = line;
  if (file != NULL && line > 0)
    sentence->text = arena_format(findings->question->arena, "%s, %s:%lld", sentence->text, findings_base_name(file),
                                  (long long)line);
}

// "autograd::engine::evaluate_function: MulBackward0" -> "MulBackward0"
static const char *plain_name(const char *name)
{
  const char *colon = strrchr(name, ' ');
  return strncmp(name, "autograd::", 10) == 0 && colon != NULL ? colon + 1 : name;
}

static bool is_of_program(const struct findings *findings)
{
  uint32_t program;
  return store_find_string(findings->question->view->store, "program", 7, &program);
}

// The operator with most time by name; NULL: there is none.
static const char *main_operator(struct findings *findings)
{
  const struct places *places = findings->places;
  struct interner names SCOPED(interner_done) = {0};
  double *ns = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *ns), most_ns = 0;
  const char *found = NULL;
  for (uint32_t i = 0; i < places->count; i++) {
    if (!(places->all[i].own.operators.ns > 0) || findings_is_compiled(&places->all[i])) // its kernels say more
      continue;
    const char *name = plain_name(places->all[i].name);
    double *name_ns = &ns[interner_at(&names, name, strlen(name))];
    *name_ns += places->all[i].own.operators.ns;
    if (*name_ns > most_ns) {
      most_ns = *name_ns;
      found = name;
    }
  }
  return found;
}

// What to change then is how the model is called, not a line within it.
static bool calls_too_often(const struct findings *findings)
{
  const struct place_units *operators = &findings->places->total.operators;
  return findings_has_single_rows(findings) && operators->ns < SMALL_OPERATORS_NS * operators->count;
}

// ", in 2000 calls of one row each, no batches": small calls are mostly overhead, which the time of layers does not show.
static const char *rows_text(struct findings *findings)
{
  return findings_has_single_rows(findings)
             ? arena_format(findings->question->arena, ", in %zu calls of one row each, no batches",
                            findings->set->observation_count)
             : "";
}

// Most of the loop is in no layer: says so first, with the line that samples give.
static enum status describe_outside(struct findings *findings, struct first_sentence *sentence, double pct,
                                    const char *name, struct error *err)
{
  struct arena *arena = findings->question->arena;
  struct busiest_line line;
  XSP_TRY(findings_busiest_line(findings, &line, err));
  if (line.file == NULL && name == NULL) // the rules of the cause know of ranges, too
    return STATUS_OK;
  sentence->text = arena_format(arena, "%.3g %% of the %s is in no recorded layer", 100 - pct,
                                is_of_program(findings) ? "loop" : "time");
  sentence->share_pct = 100 - pct;
  if (line.file != NULL) {
    const char *waits = line.mostly_waits ? ", which mostly waits" : "";
    const char *callee =
        line.callee != NULL ? arena_format(arena, " (most in %s)", findings_name(findings, line.callee)) : "";
    bool has_share = name == NULL && line.pct > 0; // of a program without layers
    const char *begin = has_share
                            ? arena_format(arena, "%.3g %% of the main thread's time, without imports, is", line.pct)
                            : arena_format(arena, "%s; the program's line with most time is", sentence->text);
    bool is_in_function = line.function != NULL && strcmp(line.function, "<module>") != 0;
    const char *function =
        is_in_function
            ? arena_format(arena, "in %s", findings_name(findings, own_lines_function(findings, line.function)))
            : "at its top level";
    sentence->share_pct = has_share ? line.pct : sentence->share_pct;
    sentence->text = arena_format(arena, "%s %s%s%s%s", begin, function, callee, waits, rows_text(findings));
    put_place(findings, sentence, line.file, line.line);
    const char *source = line.callee == NULL ? findings_source_line(findings, line.file, line.line) : NULL;
    if (source != NULL)
      sentence->text = arena_format(arena, "%s: %s", sentence->text, source);
  } else if (name != NULL)
    sentence->text =
        arena_format(arena, "%s; of the layers most is in %s", sentence->text, findings_name(findings, name));
  return STATUS_OK;
}

// Whether an event loop of asyncio calls the model.
static enum status describe_event_loop(struct findings *findings, const char **ret_begin, struct error *err)
{
  const struct server *server;
  enum status status = findings_server(findings, &server, err);
  if (status == STATUS_OK && server->in_loop_ns > (server->computes_ns + server->waits_ns) / 2)
    *ret_begin = "the event loop runs the model itself, and serves nothing else meanwhile: ";
  return status == STATUS_NO ? STATUS_OK : status;
}

// What the time goes to, without judging it.
static enum status describe(struct findings *findings, struct first_sentence *sentence, struct error *err)
{
  struct arena *arena = findings->question->arena;
  double operators_ms = findings_per_observation_ms(findings, findings->places->total.operators.ns);
  double pct = analyze_share_pct(operators_ms, findings->loop_ms);
  const char *name = main_operator(findings);
  if (isnan(pct))
    return STATUS_OK;
  pct = fmin(pct, 100); // of several threads more
  if (pct < 50)
    return describe_outside(findings, sentence, pct, name, err);
  sentence->share_pct = pct;
  const char *begin = "";
  XSP_TRY(describe_event_loop(findings, &begin, err));
  sentence->text = arena_format(arena, "%sthe model's layers take %.3g %% of the %s%s%s%s", begin, pct,
                                is_of_program(findings) ? "loop" : "time", name != NULL ? ", most in " : "",
                                name != NULL ? findings_name(findings, name) : "", rows_text(findings));
  uint32_t place = calls_too_often(findings) ? findings_busiest_call(findings) : findings_busiest_place(findings);
  if (place != PLACE_NONE)
    put_place(findings, sentence, findings_keep(findings, findings->places->all[place].file),
              findings->places->all[place].line);
  else { // operators have no call paths, samples may
    struct busiest_line line;
    XSP_TRY(findings_busiest_line(findings, &line, err));
    put_place(findings, sentence, line.file, line.line);
  }
  return STATUS_OK;
}

// The kernel with most time by name, and the line that launches it most.
static void describe_devices(struct findings *findings, struct first_sentence *sentence)
{
  const struct places *places = findings->places;
  struct interner names = {0};
  double *ns = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *ns), most_ns = 0;
  uint32_t found = PLACE_NONE;
  for (uint32_t i = 0; i < places->count; i++) {
    if (!(places->all[i].own.device_ns > 0))
      continue;
    double *name_ns = &ns[interner_at(&names, places->all[i].name, strlen(places->all[i].name))];
    *name_ns += places->all[i].own.device_ns;
    if (*name_ns > most_ns) {
      most_ns = *name_ns;
      found = i;
    }
  }
  interner_done(&names);
  double busy_ms = findings_per_observation_ms(findings, places->total.device_ns);
  sentence->share_pct = analyze_share_pct(findings_per_observation_ms(findings, most_ns), findings->loop_ms);
  if (found == PLACE_NONE || isnan(sentence->share_pct))
    return;
  sentence->text =
      arena_format(findings->question->arena, "the devices' work adds up to %.3g %% of the time, most in %s",
                   analyze_share_pct(busy_ms, findings->loop_ms),
                   findings_name(findings, findings_keep(findings, places->all[found].name)));
  uint32_t source = place_in_source(places->all, found);
  if (source != PLACE_NONE)
    put_place(findings, sentence, findings_keep(findings, places->all[source].file), places->all[source].line);
}

static void say_finding(struct findings *findings, struct first_sentence *sentence, const struct finding *first)
{
  double pct = findings_saving_pct(findings, first);
  sentence->text = arena_format(findings->question->arena, "up to %.3g %% of the %s: %s", pct,
                                is_of_program(findings) ? "loop" : "time", first->title);
  sentence->share_pct = pct;
  sentence->finding = first->rule->id;
  put_place(findings, sentence, first->file, first->line);
}

enum status findings_say_any(struct findings *findings, struct first_sentence *ret_sentence, struct error *err)
{
  const struct finding *first = findings->all.count > 0 ? &findings->all.items[0] : NULL;
  const struct places *places;
  *ret_sentence = (struct first_sentence){.share_pct = NAN, .finding = NULL};
  if (store_is_folded(findings->question->view->store))
    return STATUS_OK;
  XSP_TRY(findings_places(findings, &places, err));
  if (first != NULL && findings_saving_pct(findings, first) >= LEAST_FINDING_PCT)
    say_finding(findings, ret_sentence, first);
  else if (places->has_devices)
    describe_devices(findings, ret_sentence);
  else
    return describe(findings, ret_sentence, err);
  return STATUS_OK;
}

enum status findings_say_first(struct findings *findings, struct first_sentence *ret_sentence, struct error *err)
{
  const struct finding *first = findings->all.count > 0 ? &findings->all.items[0] : NULL;
  const struct places *places;
  double pct = first != NULL ? findings_saving_pct(findings, first) : NAN;
  *ret_sentence = (struct first_sentence){.share_pct = NAN, .finding = NULL};
  if (!is_of_program(findings) || store_is_folded(findings->question->view->store))
    return STATUS_OK;
  XSP_TRY(findings_places(findings, &places, err));
  if (pct >= LEAST_FINDING_PCT && !(places->has_devices && first->rule->is_general))
    say_finding(findings, ret_sentence, first);
  else if (!places->has_devices)
    return describe(findings, ret_sentence, err);
  return STATUS_OK;
}

enum status findings_covered_pct(struct findings *findings, double *ret_pct, struct error *err)
{
  struct coverage coverage = {0};
  *ret_pct = NAN;
  if (!is_of_program(findings) || store_is_folded(findings->question->view->store))
    return STATUS_OK;
  XSP_TRY(analyze_coverage(findings->question, findings->set, &coverage, err));
  *ret_pct = analyze_share_pct(coverage.covered_ms, coverage.program_ms);
  return STATUS_OK;
}
