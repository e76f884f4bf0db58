// SPDX-License-Identifier: Apache-2.0
// F67, row by row: a training step calls its model many times, for one row each, as in a loop over the samples of a batch, or for the
// gradients of each; or it runs a backward pass for each output; or all steps learn from one row. One call or pass takes many rows in
// little more time, where each takes little.
#include "analyze/findings/busiest_line.h"
#include "analyze/findings/input_lines.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/findings/source_line.h"
#include "analyze/findings/statements.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#define CALL_MOST_NS 20e6 // with its backward pass; longer ones may be of a model that takes one row for want of memory
#define ROWS_OF_BATCH 8.
#define LOADED_PART 0.9  // of the steps: other programs may have one row
#define CHOICES_PART 0.5 // per call: a policy that draws each action from what the model gives

struct calls {              // in steps that are no warm-up
  double forward, backward; // calls of a model, passes
  double data;              // batches of a loader
  double ns, backward_ns;   // of both; of passes
};

static bool is_choice(const char *name)
{
  static const char *const names[] = {"aten::multinomial", "aten::normal*", "aten::bernoulli"};
  return findings_name_matches(name, names, sizeof names / sizeof names[0]);
}

static bool is_read(const char *name)
{
  static const char *const names[] = {"aten::item", "aten::_local_scalar_dense"};
  return findings_name_matches(name, names, sizeof names / sizeof names[0]);
}

static enum status add_run(struct findings *findings, const struct view_run *run, struct calls *calls,
                           struct error *err)
{
  struct store *store = findings->question->view->store;
  struct arena arena SCOPED(arena_done) = {0};
  struct run_columns columns;
  uint32_t forward = run_columns_category(store, "forward"), backward = run_columns_category(store, "backward"),
           data = run_columns_category(store, "data"), observation;
  XSP_TRY(run_columns_load(findings->question, run, STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_DURATION_NS), &arena,
                           &columns, err));
  for (uint32_t row = 0; row < columns.spans.count; row++) {
    uint32_t category = columns.spans.category[row];
    double ns = (double)columns.spans.duration_ns[row];
    if (columns.spans.level[row] != XSP_LEVEL_APPLICATION || !run_columns_observation(&columns, row, &observation) ||
        run->observations[observation].warmup)
      continue;
    calls->data += category == data;
    calls->forward += category == forward;
    calls->backward += category == backward;
    calls->ns += category == forward || category == backward ? ns : 0;
    calls->backward_ns += category == backward ? ns : 0;
  }
  return STATUS_OK;
}

// By operators that Python calls. What is read after each backward pass is a loss.
static bool chooses(const struct findings *findings, const struct calls *calls)
{
  const struct places *places = findings->places;
  double choices = 0, reads = 0;
  for (uint32_t i = 0; i < places->count; i++) {
    choices += is_choice(places->all[i].name) ? places->all[i].own.operators.count : 0;
    reads += is_read(places->all[i].name) ? places->all[i].own.operators.count : 0;
  }
  double part = places->observations / (double)findings->set->observation_count;
  return choices >= CHOICES_PART * calls->forward * part ||
         (calls->backward < CHOICES_PART * calls->forward && reads >= CHOICES_PART * calls->forward * part);
}

// Without place and title. `ms`: of what one that takes all at once replaces; `count`: of these.
static struct finding *add(struct findings *findings, double ms, double count, const char *threshold)
{
  struct finding *finding = findings_add(findings);
  finding->time_ms = ms;
  finding->share_pct = analyze_share_pct(ms, findings->loop_ms);
  finding->saving_ms = ms * (1 - 1 / count);
  finding->advice = "pass all rows as one batch";
  finding->threshold = findings_threshold_of(findings, threshold);
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "count", count);
  return finding;
}

// As the source shows, each call needs what the one before returned: `out, h = rnn(x[i], h)`.
static bool hands_on(struct findings *findings, const struct finding *at)
{
  struct buf source SCOPED(buf_done) = {0};
  struct slice value, names, name;
  struct statement call;
  if (!findings_source(findings, at->file, &source) ||
      !findings_statement_at((struct slice){source.data, source.length}, at->line, &call) ||
      !findings_assignment(call.text, &names, &value))
    return false;
  while (findings_next_argument(&names, &name))
    if (findings_is_name(name) && findings_has_name(value, name))
      return true;
  return false;
}

static enum status add_calls(struct findings *findings, const struct calls *calls, double count, struct error *err)
{
  double ms = calls->ns / 1e6 / (double)findings->set->observation_count;
  bool has_passes = calls->backward >= CHOICES_PART * calls->forward;
  struct finding at = {.file = NULL};
  XSP_TRY(finding_at_call(findings, &at, err));
  if (hands_on(findings, &at))
    return STATUS_OK;
  struct finding *finding = add(findings, ms, count, "row_by_row-calls");
  XSP_TRY(finding_at_call(findings, finding, err));
  finding->saving_basis = "time of these calls and of backward passes, as if one call took all rows in the time of one";
  finding->title = arena_format(findings->question->arena,
                                "a training step calls the model row by row: %.0f times, for one row each%s", count,
                                has_passes ? ", with a backward pass for each" : "");
  if (has_passes)
    finding->advice = "pass all rows as one batch; where the gradient of each row is needed, torch.func.vmap over "
                      "torch.func.grad";
  return STATUS_OK;
}

static enum status add_passes(struct findings *findings, const struct calls *calls, double count, struct error *err)
{
  struct busiest_line line;
  double ms = calls->backward_ns / 1e6 / (double)findings->set->observation_count;
  struct finding *finding = add(findings, ms, count, "row_by_row-passes");
  XSP_TRY(findings_busiest_line(findings, &line, err));
  if (line.file != NULL)
    finding_at_sampled_line(findings, finding, &line);
  else
    XSP_TRY(finding_at_call(findings, finding, err));
  finding->saving_basis = "time of these passes, as if one took all outputs in the time of one";
  finding->title = arena_format(findings->question->arena,
                                "a training step runs %.0f backward passes, one output after the other", count);
  finding->advice =
      "one pass for all: backward() of their sum, where each row's gradient is its own; torch.func.jacrev, "
      "or torch.autograd.grad with is_grads_batched=True";
  return STATUS_OK;
}

// Of two signatures, "float32[1,3,24,24]".
static size_t count_differences(const char *a, const char *b)
{
  size_t count = 0;
  while (*a != 0 && *b != 0) {
    if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
      char *after_a, *after_b;
      count += strtoull(a, &after_a, 10) != strtoull(b, &after_b, 10);
      a = after_a;
      b = after_b;
    } else if (*a++ != *b++) {
      return SIZE_MAX;
    }
  }
  return *a == *b ? count : SIZE_MAX;
}

// Pictures of several sizes make no batch as they are; sequences, which one number tells apart, are padded.
static enum status have_several_sizes(struct findings *findings, bool *ret_have, struct error *err)
{
  struct observed_text *calls;
  size_t count;
  *ret_have = false;
  XSP_TRY(findings_signatures(findings, &calls, &count, err));
  for (size_t i = 1; i < count && !*ret_have; i++)
    *ret_have = calls[0].text != NULL && calls[i].text != NULL && count_differences(calls[0].text, calls[i].text) > 1;
  return STATUS_OK;
}

static void add_steps(struct findings *findings)
{
  struct finding *finding = add(findings, findings->loop_ms, ROWS_OF_BATCH, "row_by_row-steps");
  finding_at_loader(findings, findings->places, finding);
  finding->saving_basis = "the loop, as if a step learned from eight rows in the time of one";
  finding->title = arena_format(findings->question->arena, "%zu training steps learn from one row each (batch size 1)",
                                findings->set->observation_count);
  finding->advice = "take batches: DataLoader(batch_size=…) has 1 row without it";
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  struct calls calls = {0};
  uint32_t backward;
  if (!store_find_string(findings->question->view->store, "backward", 8, &backward))
    return findings_lack(findings, err, "it has no training steps of PyTorch");
  XSP_TRY(findings_host_places(findings, &places, err));
  for (size_t i = 0; i < findings->set->run_count; i++)
    XSP_TRY(add_run(findings, findings->set->runs[i], &calls, err));
  double steps = (double)findings->set->observation_count;
  bool is_of_one = findings->set->batch_size == 1 && !chooses(findings, &calls);
  if (calls.backward / steps >= findings_threshold(findings, "row_by_row-passes") &&
      calls.forward < CHOICES_PART * calls.backward && calls.backward_ns <= CALL_MOST_NS * calls.backward)
    return add_passes(findings, &calls, calls.backward / steps, err);
  if (!is_of_one || !(calls.backward > 0) || calls.ns > CALL_MOST_NS * calls.forward)
    return STATUS_OK;
  bool are_of_loader = calls.data >= LOADED_PART * steps && calls.backward >= LOADED_PART * steps;
  bool have_sizes;
  XSP_TRY(have_several_sizes(findings, &have_sizes, err));
  if (have_sizes)
    return STATUS_OK;
  if (calls.forward / steps >= findings_threshold(findings, "row_by_row-calls"))
    return add_calls(findings, &calls, calls.forward / steps, err);
  if (steps >= findings_threshold(findings, "row_by_row-steps") && are_of_loader)
    add_steps(findings);
  return STATUS_OK;
}

const struct finding_rule finding_f67 = {
    .id = "F67",
    .key = "row_by_row",
    .title = "training steps that compute row by row",
    .thresholds = {{"row_by_row-calls", "", 8, "calls of the model for one row in a training step, at least; or"},
                   {"row_by_row-passes", "", 16,
                    "backward passes in a training step, with half as many calls at most, at least; or"},
                   {"row_by_row-steps", "", 200, "training steps that learn from one row, at least"}},
    .find = find,
};
