// SPDX-License-Identifier: Apache-2.0
// F6, the input pipeline: observations wait for a data loader while no device works.
#include "analyze/causes/loaders.h"
#include "analyze/causes/time_parts.h"
#include "analyze/findings/busiest_line.h"
#include "analyze/findings/input_lines.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/findings/work_kinds.h"

#include <math.h>
#include <string.h>
#include <xsp/call_path.h>

static bool is_loaders(const struct place *place)
{
  static const char end[] = "/torch/utils/data/dataloader.py";
  size_t length = place->file != NULL ? strlen(place->file) : 0;
  return length >= sizeof end - 1 && strcmp(place->file + length - (sizeof end - 1), end) == 0;
}

void finding_at_loader(struct findings *findings, const struct places *places, struct finding *finding)
{
  double *within_ns = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *within_ns);
  uint32_t found = PLACE_NONE;
  for (size_t i = places->count; i > 0; i--) { // callers come before what they call
    const struct place *place = &places->all[i - 1];
    within_ns[i - 1] += place->own.host_ns;
    if (place->parent != PLACE_NONE)
      within_ns[place->parent] += within_ns[i - 1];
  }
  for (uint32_t i = 0; i < places->count; i++) {
    const struct place *place = &places->all[i];
    bool is_range = place->frame_kind == XSP_FRAME_KINDS && finding_time_is_loader(place->name);
    bool is_called = is_loaders(place) && place->parent != PLACE_NONE && !is_loaders(&places->all[place->parent]);
    uint32_t at = is_range ? i : place->parent;
    if ((is_range || is_called) && (found == PLACE_NONE || within_ns[at] > within_ns[found]))
      found = at;
  }
  if (found != PLACE_NONE)
    finding_at_place(findings, finding, found);
  finding->context = "data loader";
}

// What the data set does there, in the place of the loader's call, where samples show it.
static void say_line(struct findings *findings, const struct input_lines *lines, struct finding *finding)
{
  if (lines->main == NULL)
    return;
  finding_at_own_line(findings, finding, &lines->lines, lines->main);
  const char *function = findings_name(findings, finding->context);
  const char *does = work_kinds[lines->kind].title;
  finding->title = arena_format(findings->question->arena, does != NULL ? "%s: %s" : "%s, most in %s", finding->title,
                                does != NULL ? arena_format(findings->question->arena, does, function) : function);
  if (does != NULL)
    finding->advice = work_kinds[lines->kind].advice;
}

// Its data are in memory: a process for them costs more than what it takes.
static bool stacks_only(const struct input_lines *lines)
{
  return lines->bare_ns > lines->loader_ns / 2;
}

static bool is_tensorflows(const struct time_parts *parts)
{
  return parts->loaders.has_iterator && !parts->loaders.has_other;
}

static const char *least_of(const struct time_parts *parts, const struct input_lines *lines)
{
  if (is_tensorflows(parts))
    return "input_pipeline-iterator";
  return stacks_only(lines) ? "input_pipeline-stacking" : "input_pipeline-share";
}

// What processes cannot hide, however many load: they share the processors.
static void lower_saving(const struct findings *findings, struct finding *finding, double remains_ms)
{
  if (!(findings->loop_ms - remains_ms < finding->saving_ms)) // NaN: the processors are unknown
    return;
  finding->saving_ms = fmax(findings->loop_ms - remains_ms, 0);
  finding->saving_basis =
      "as if the loader's processes computed on all processors, next to the steps; less work, such as smaller "
      "pictures, can save more";
}

static struct finding *add(struct findings *findings, const struct places *places, const struct time_parts *parts,
                           const struct input_lines *lines, double loader_ms, double saving_ms)
{
  struct finding *finding = findings_add(findings);
  finding_at_loader(findings, places, finding);
  finding->time_ms = loader_ms;
  finding->share_pct = analyze_share_pct(loader_ms, findings->loop_ms);
  finding->saving_ms = saving_ms;
  finding->saving_basis = saving_ms > loader_ms
                              ? "time in the loader, and time in which nothing is recorded, such as the start "
                                "of its processes, as if all data were there"
                              : "time in the loader while no device works, as if all data were there";
  finding->title =
      arena_format(findings->question->arena, "%s takes %s %s, %.3g %% of the time%s",
                   is_tensorflows(parts) ? "the input pipeline (tf.data)" : "the data loader",
                   findings_time(findings, loader_ms), findings_per_observation(findings), finding->share_pct,
                   findings_has_single_rows(findings) ? ", for batches of one row" : "");
  finding->advice =
      "load ahead in a few processes that stay (num_workers, at most the processors; persistent_workers=True); "
      "decode once, before training";
  if (stacks_only(lines))
    finding->advice =
        "take whole batches from the tensors by index: x[order[i:i + n]], or a data set with __getitems__; "
        "build no loader again and again";
  if (is_tensorflows(parts))
    finding->advice = "load ahead and on all processors: map(…, num_parallel_calls=tf.data.AUTOTUNE), "
                      "prefetch(tf.data.AUTOTUNE); keep "
                      "what does not change with cache(); arrays by from_tensor_slices(), not from_generator()";
  if (findings_has_single_rows(findings))
    finding->advice =
        arena_format(findings->question->arena, "make larger batches (batch_size=, .batch(n)); %s", finding->advice);
  say_line(findings, lines, finding);
  finding->threshold = findings_threshold_of(findings, least_of(parts, lines));
  finding->confidence = CONFIDENCE_HIGH;
  finding_number(finding, "loader_ms", loader_ms);
  finding_number(finding, "unrecorded_ms", saving_ms - loader_ms);
  return finding;
}

// Whether the loader has a process for each processor already: more of them would only share what there is. Many more than that are
// too many.
static enum status loads_ahead(struct findings *findings, const struct time_parts *parts,
                               const struct input_lines *lines, double processors, bool *ret_loads, struct error *err)
{
  size_t most = lines->processes;
  *ret_loads = false;
  for (size_t i = 0; i < findings->set->run_count && parts->loaders.has_processes && lines->processes == 0; i++) {
    struct map process_of = {0};
    size_t count = 0;
    enum status status = run_processes_load(findings->question->view->store, findings->set->runs[i]->run->run_id,
                                            findings->question->scratch, &process_of, &count, err);
    map_done(&process_of);
    XSP_TRY(status);
    most = count > most ? count : most;
  }
  *ret_loads = parts->loaders.has_processes && (double)most > processors && // one of them is the program
               (double)most <= 2 * processors + 1;
  return STATUS_OK;
}

// More processes do not help where those that there are compute all the time: less work does. Pictures that are made much smaller
// once they are decoded could have been decoded smaller; else decoding them is what the data set is for.
static bool could_do_less(const struct input_lines *lines)
{
  if (lines->kind == WORK_DECODING && lines->resizing_ns < 0.2 * lines->all_ns)
    return false;
  return lines->main != NULL && work_kinds[lines->kind].title != NULL && lines->cpu_ns > lines->all_ns / 2;
}

// Of a loader without processes: what it computes, when all processors share that.
static double shared_ms(const struct input_lines *lines, double loader_ms, double processors)
{
  return could_do_less(lines) || !(lines->all_ns > 0) ? 0 : loader_ms * lines->cpu_ns / lines->all_ns / processors;
}

struct between { // time in loaders between observations that are predictions, and so have no part of it
  double ns;
  double *before_ms; // by observation of the set: between it and the one before
  struct loaders_found found;
};

static bool is_loader(struct between *between, struct map *known, const struct run_columns *columns, uint32_t row)
{
  return row != ROW_NONE && finding_time_names_loader(known, columns->store, columns->spans.name[row], &between->found);
}

// The first observation that starts then or later; the last one is.
static size_t following(const struct view_run *run, int64_t time_ns)
{
  size_t first = 0, last = run->observation_count - 1;
  while (first < last) {
    size_t middle = first + (last - first) / 2;
    if (run->observations[middle].start_ns < time_ns)
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

// On the thread of the observations, from the first one to the last. `before_ms`: by observation of the run.
static void add_between(const struct run_columns *columns, struct map *known, struct between *between,
                        double *before_ms)
{
  const struct store_spans *spans = &columns->spans;
  const struct view_run *run = columns->run;
  uint32_t first = run_columns_row(columns, run->observations[0].span_id), observation;
  int64_t last_ns = run->observations[run->observation_count - 1].start_ns;
  for (uint32_t row = 0; first != ROW_NONE && row < spans->count; row++) {
    if ((spans->level[row] != XSP_LEVEL_APPLICATION &&
         spans->level[row] != XSP_LEVEL_LAYER) || // TensorFlow's iterators
        spans->track_id[row] != spans->track_id[first] ||
        spans->start_ns[row] < spans->start_ns[first] || spans->start_ns[row] > last_ns ||
        run_columns_observation(columns, row, &observation) || !is_loader(between, known, columns, row) ||
        is_loader(between, known, columns, run_columns_row(columns, columns->derived.parent_id[row])))
      continue;
    between->ns += (double)spans->duration_ns[row];
    before_ms[following(run, spans->start_ns[row])] += (double)spans->duration_ns[row] / 1e6;
  }
}

static enum status load_between(struct findings *findings, struct between *ret_between, struct error *err)
{
  enum {
    COLUMNS =
        STORE_BIT(STORE_NAME) | STORE_BIT(STORE_TRACK_ID) | STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS)
  };
  const struct view_set *set = findings->set;
  size_t at = 0;
  *ret_between = (struct between){.ns = 0};
  ret_between->before_ms = arena_alloc_array(findings->question->scratch, set->observation_count + 1, sizeof(double));
  for (size_t i = 0; i < set->run_count; i++) {
    struct arena arena SCOPED(arena_done) = {0};
    const struct view_run *run = set->runs[i];
    double *before_ms = arena_alloc_array(&arena, run->observation_count + 1, sizeof *before_ms);
    struct map known SCOPED(map_done) = {0};
    struct run_columns columns;
    XSP_TRY(run_columns_load(findings->question, run, COLUMNS, &arena, &columns, err));
    if (run->observation_count > 0)
      add_between(&columns, &known, ret_between, before_ms);
    for (size_t k = 0; k < run->observation_count; k++)
      if (!run->observations[k].warmup)
        ret_between->before_ms[at++] = before_ms[k];
  }
  return STATUS_OK;
}

// An iterator of TensorFlow keeps at least half of the steps waiting: filling a cache or a buffer does so in a first epoch only.
static bool waits_often(struct findings *findings, const struct time_parts *parts, const struct between *between)
{
  const struct view_set *set = findings->set;
  double *room = arena_alloc_array(findings->question->scratch, set->observation_count + 1, sizeof *room);
  size_t count = 0;
  for (size_t i = 0; i < set->observation_count; i++)
    if (set->is_kept[i])
      room[count++] = parts->parts[TIME_LOADER][i] + between->before_ms[i];
  findings_sort(room, count);
  double ms = findings_quantile(room, count, 0.5);
  return !is_tensorflows(parts) || analyze_share_pct(ms, findings->loop_ms) > 5;
}

static enum status judge(struct findings *findings, const struct input_lines *lines, struct error *err)
{
  struct question *question = findings->question;
  const struct view_set *set = findings->set;
  const struct places *places;
  struct time_parts parts;
  struct between between;
  bool is_ahead;
  double processors;
  XSP_TRY(findings_places(findings, &places, err));
  XSP_TRY(time_parts_load(question, set, &parts, err));
  XSP_TRY(load_between(findings, &between, err));
  finding_time_add_loaders(&parts.loaders, &between.found);
  XSP_TRY(findings_system(findings, "cpus_allowed", &processors, err));
  XSP_TRY(loads_ahead(findings, &parts, lines, processors, &is_ahead, err));
  double between_ms = between.ns / 1e6 / (double)set->observation_count;
  double loader_ms = question_value(question, set, parts.parts[TIME_LOADER]) + between_ms;
  double *saving_ms = arena_alloc_array(question->scratch, set->observation_count + 1, sizeof *saving_ms);
  for (size_t i = 0; i < set->observation_count; i++) // its statistic is not the sum of the parts' ones
    saving_ms[i] =
        parts.parts[TIME_LOADER][i] + (parts.loaders.has_processes && !is_ahead ? parts.parts[TIME_REST][i] : 0);
  if ((!is_ahead || could_do_less(lines)) && waits_often(findings, &parts, &between) &&
      question_value(question, set, parts.loader) + between_ms > 0 &&
      analyze_share_pct(loader_ms, findings->loop_ms) > findings_threshold(findings, least_of(&parts, lines))) {
    struct finding *finding =
        add(findings, places, &parts, lines, loader_ms, question_value(question, set, saving_ms) + between_ms);
    lower_saving(findings, finding, parts.loaders.has_processes ? 0 : shared_ms(lines, loader_ms, processors));
    if (finding->file == NULL) // TensorFlow's iterators have no call paths within a graph
      XSP_TRY(finding_at_busiest(findings, finding, err));
  }
  return STATUS_OK;
}

static enum status find(struct findings *findings, struct error *err)
{
  struct input_lines lines SCOPED(input_lines_done);
  XSP_TRY(input_lines_load(findings, &lines, err));
  return judge(findings, &lines, err);
}

const struct finding_rule finding_f6 = {
    .id = "F6",
    .key = "input_pipeline",
    .title = "input pipeline slower than the step",
    .thresholds = {{"input_pipeline-share", "%", 10,
                    "time in a data loader while no device works, of the program's loop"},
                   {"input_pipeline-stacking", "%", 30,
                    "the same, where the loader only stacks rows of tensors, by samples"},
                   {"input_pipeline-iterator", "%", 20,
                    "the same, of TensorFlow's iterators, which load ahead in threads of their own"}},
    .find = find,
};
