// SPDX-License-Identifier: Apache-2.0
// F66, growing work: a line of a training program takes longer from step to step, as where it joins all that came before (torch.cat), or
// goes through it again, while all else takes as long as before. F20 has graphs that grow.
#include "analyze/findings/own_lines.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "base/sorted.h"

#include <math.h>
#include <xsp/call_path.h>

#define PARTS 5 // of the steps
#define STEPS_LEAST (4 * PARTS)
#define BACKWARD_TIMES 1.5 // of the last part, in times of the first: longer sequences have more of all
#define BACKWARD_MOST 0.2  // of a line's time: a layer's work grows with its input

struct piece { // of a step, at a line of the program
  uint32_t place, observation;
  double ns, backward_ns;
};
struct growing {
  const struct places *places;
  const struct view_run *run;
  VECTOR(struct piece) pieces;
  double *backward_ns; // by observation
};
struct line {
  double ns[PARTS], least_ns[PARTS]; // of all steps; of the shortest: a busy machine hardly makes it longer
  size_t steps[PARTS];               // that have it
  double backward_ns;
};

// An operator of the forward pass, or beside it, that no other one called. Also of steps that the statistic leaves out.
static bool is_unit(const struct run_columns *columns, uint32_t row)
{
  uint32_t parent = run_columns_row(columns, columns->derived.parent_id[row]);
  return columns->spans.level[row] == XSP_LEVEL_LAYER && columns->spans.category[row] != columns->module &&
         !findings_is_backward(store_text(columns->store, columns->spans.name[row], NULL)) &&
         (parent == ROW_NONE || columns->spans.level[parent] != XSP_LEVEL_LAYER ||
          columns->spans.category[parent] == columns->module);
}

// The first step also sets up.
static size_t part_of(const struct growing *growing, size_t observation)
{
  return (observation - 1) * PARTS / (growing->run->observation_count - 1);
}

static enum status load(struct findings *findings, struct growing *growing, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct run_columns columns;
  const uint32_t *lines = places_lines(growing->places, findings->question->scratch);
  uint32_t observation, wrapper = run_columns_category(findings->question->view->store, "wrapper");
  XSP_TRY(run_columns_load(findings->question, growing->run,
                           STORE_BIT(STORE_NAME) | STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_DURATION_NS), &arena,
                           &columns, err));
  for (uint32_t row = 0; row < columns.spans.count; row++) {
    bool is_backward = columns.spans.category[row] == wrapper;
    if (!run_columns_observation(&columns, row, &observation) || observation == 0 ||
        !(is_backward || is_unit(&columns, row)))
      continue;
    double ns = (double)columns.spans.duration_ns[row];
    growing->backward_ns[observation] += is_backward ? ns : 0;
    uint32_t source = place_own_source(growing->places->all, growing->places->runs[0].place_of[row]);
    if (source == PLACE_NONE)
      continue;
    *vector_add(&growing->pieces) = (struct piece){.place = lines[source],
                                                   .observation = observation,
                                                   .ns = is_backward ? 0 : ns,
                                                   .backward_ns = is_backward ? ns : 0};
  }
  return STATUS_OK;
}

static void add_step(struct line *line, size_t part, double ns)
{
  line->least_ns[part] = line->steps[part] == 0 ? ns : fmin(line->least_ns[part], ns);
  line->ns[part] += ns;
  line->steps[part]++;
}

// The pieces of one line, by step.
static struct line line_of(const struct growing *growing, const struct piece *pieces, size_t count)
{
  struct line line = {.backward_ns = 0};
  for (size_t i = 0, end; i < count; i = end) {
    double ns = 0;
    for (end = i; end < count && pieces[end].observation == pieces[i].observation; end++) {
      ns += pieces[end].ns;
      line.backward_ns += pieces[end].backward_ns;
    }
    add_step(&line, part_of(growing, pieces[i].observation), ns);
  }
  return line;
}

// Whether the backward pass takes as long as in the first steps.
static bool is_steady(const struct growing *growing)
{
  struct line all = {.backward_ns = 0};
  for (size_t i = 1; i < growing->run->observation_count; i++)
    add_step(&all, part_of(growing, i), growing->backward_ns[i]);
  return all.least_ns[PARTS - 1] < BACKWARD_TIMES * all.least_ns[0];
}

// Longer in each part than in the one before. What not every step has grows for other reasons; a first few may have nothing to join yet.
// `steps`: of a part, at least.
static bool grows(const struct line *line, size_t steps, double times)
{
  double sum_ns = 0;
  for (size_t k = 0; k < PARTS; k++) {
    if (line->steps[k] < (k == 0 ? steps / 2 : steps) || (k > 0 && !(line->least_ns[k] > line->least_ns[k - 1])))
      return false;
    sum_ns += line->ns[k];
  }
  return line->least_ns[PARTS - 1] > times * line->least_ns[0] && line->backward_ns < BACKWARD_MOST * sum_ns;
}

static void judge(struct findings *findings, const struct growing *growing, uint32_t place, const struct line *line)
{
  double steps = (double)growing->run->observation_count - 1, sum_ns = 0, had_it = 0;
  for (size_t k = 0; k < PARTS; k++) {
    sum_ns += line->ns[k];
    had_it += (double)line->steps[k];
  }
  double first_ns = line->ns[0] / (double)line->steps[0]; // a step; parts may differ by one
  double saving_ms = (sum_ns - had_it * first_ns) / 1e6 / steps;
  if (!grows(line, (size_t)steps / PARTS, findings_threshold(findings, "growing_work-times")) ||
      !(analyze_share_pct(saving_ms, findings->loop_ms) >= findings_threshold(findings, "growing_work-share")))
    return;
  struct finding *finding = findings_add(findings);
  finding_at_place(findings, finding, place);
  finding->time_ms = sum_ns / 1e6 / steps;
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = saving_ms;
  finding->saving_basis = "as if each step took as long there as in the first fifth of the steps";
  finding->title =
      arena_format(findings->question->arena,
                   "%s has work that grows from step to step, while its model's does not: %s a step in the first "
                   "fifth of the steps, %s in the last",
                   own_lines_function(findings, finding->context), findings_time(findings, first_ns / 1e6),
                   findings_time(findings, line->ns[PARTS - 1] / (double)line->steps[PARTS - 1] / 1e6));
  finding->advice =
      "do not join or go through all that came before in each step (torch.cat, torch.stack): write into a "
      "tensor of full size, or append to a list and join it once, after the loop; keep a running sum";
  finding->confidence = CONFIDENCE_MEDIUM;
}

static bool has_found_a_graph(const struct findings *findings)
{
  for (size_t i = 0; i < findings->all.count; i++)
    if (findings->all.items[i].rule == &finding_f20)
      return true;
  return false;
}

SORTED_BY(by_line, struct piece, RISING(place) ?: RISING(observation))

static enum status find_lines(struct findings *findings, struct growing *growing, struct error *err)
{
  XSP_TRY(load(findings, growing, err));
  if (!is_steady(growing))
    return STATUS_OK;
  vector_sort(&growing->pieces, by_line);
  const struct piece *pieces = growing->pieces.items;
  for (size_t i = 0, end; i < growing->pieces.count; i = end) {
    for (end = i; end < growing->pieces.count && pieces[end].place == pieces[i].place;)
      end++;
    const struct line line = line_of(growing, &pieces[i], end - i);
    judge(findings, growing, pieces[i].place, &line);
  }
  return STATUS_OK;
}

static enum status find(struct findings *findings, struct error *err)
{
  uint32_t backward;
  struct growing growing = {.backward_ns = NULL};
  if (!store_find_string(findings->question->view->store, "backward", 8, &backward) || findings->set->run_count != 1 ||
      findings->set->runs[0]->observation_count <= STEPS_LEAST)
    return findings_lack(findings, err, "it has no run of more than twenty training steps of PyTorch");
  XSP_TRY(findings_host_places(findings, &growing.places, err));
  if (growing.places->is_folded || has_found_a_graph(findings))
    return STATUS_OK;
  growing.run = findings->set->runs[0];
  growing.backward_ns =
      arena_alloc_array(findings->question->scratch, growing.run->observation_count, sizeof *growing.backward_ns);
  enum status status = find_lines(findings, &growing, err);
  vector_done(&growing.pieces);
  return status;
}

const struct finding_rule finding_f66 = {
    .id = "F66",
    .key = "growing_work",
    .title = "lines that take longer from step to step",
    .thresholds = {{"growing_work-times", "", 2,
                    "time of a line in the last fifth of the steps, in times of that in the first, more than"},
                   {"growing_work-share", "%", 5, "what could be gained there, of the program's loop, at least"}},
    .find = find,
};
