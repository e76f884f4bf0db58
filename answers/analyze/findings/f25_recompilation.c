// SPDX-License-Identifier: Apache-2.0
// F25, recompilation: a framework compiles again and again while the loop runs, for new shapes, values or functions.
#include "analyze/findings/own_lines.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "base/saturate.h"
#include "base/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct compile_time {
  int64_t start_ns, end_ns;
};
struct compiling {
  double ns, observations; // of all observations, and in how many; without the first of each run
  uint32_t place;
  double most_ns;
  // Where no compilation has a place, by samples of main threads within them: the program's line with most.
  struct store_call_paths paths;
  struct own_lines lines;
  double sampled_ns;
};

static int compare_starts(const void *left, const void *right)
{
  const struct compile_time *a = left, *b = right;
  return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

// Sorts them, and joins those that overlap. Returns how many are left.
static size_t join(struct compile_time *items, size_t count)
{
  size_t last = 0;
  if (count > 0)
    qsort(items, count, sizeof *items, compare_starts);
  for (size_t i = 1; i < count; i++)
    if (items[i].start_ns > items[last].end_ns)
      items[++last] = items[i];
    else if (items[i].end_ns > items[last].end_ns)
      items[last].end_ns = items[i].end_ns;
  return count > 0 ? last + 1 : 0;
}

// `items` are joined. Samples are in no order.
static bool is_within(const struct compile_time *items, size_t count, int64_t time_ns)
{
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (items[middle].end_ns < time_ns)
      low = middle + 1;
    else
      high = middle;
  }
  return low < count && items[low].start_ns <= time_ns;
}

static enum status add_samples(struct findings *findings, const struct view_run *run, struct compile_time *items,
                               size_t count, struct compiling *ret, struct error *err)
{
  struct store *store = findings->question->view->store;
  struct arena arena = {0};
  struct store_samples samples;
  struct store_track *tracks;
  size_t track_count = 0;
  struct map is_main = {0};
  count = join(items, count);
  enum status status = store_load_samples(store, run->run->run_id, &arena, &samples, err);
  if (status == STATUS_OK)
    status = store_tracks(store, run->run->run_id, &arena, &tracks, &track_count, err);
  for (size_t i = 0; status == STATUS_OK && i < track_count; i++)
    if (tracks[i].thread_id == tracks[i].process_id)
      *map_at(&is_main, map_number((uint64_t)tracks[i].track_id), NULL) = 1;
  for (size_t i = 0; status == STATUS_OK && i < samples.count; i++) {
    if (samples.context_id[i] == 0 || !is_within(items, count, samples.time_ns[i]) ||
        map_find(&is_main, map_number(samples.track_id[i])) == NULL)
      continue;
    own_lines_add(&ret->lines, samples.context_id[i], 0, (double)samples.duration_ns[i]);
    ret->sampled_ns += (double)samples.duration_ns[i];
  }
  map_done(&is_main);
  arena_done(&arena);
  return status;
}

// Whether a line is known, of it or of what calls it.
static bool has_line(const struct findings *findings, uint32_t place)
{
  while (place != PLACE_NONE && findings->places->all[place].file == NULL)
    place = findings->places->all[place].parent;
  return place != PLACE_NONE;
}

static enum status add_run(struct findings *findings, const struct places_run *places, const struct view_run *run,
                           uint32_t compile, struct compiling *ret, struct error *err)
{
  enum { COLUMNS = STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) };
  struct run_columns columns;
  struct arena arena = {0};
  VECTOR(struct compile_time) intervals = {0};
  enum status status = run_columns_load(findings->question, run, COLUMNS, &arena, &columns, err);
  if (status == STATUS_OK) {
    bool *compiles = arena_alloc_array(&arena, run->observation_count + 1, sizeof *compiles);
    for (size_t row = 0; row < columns.spans.count; row++) {
      uint32_t observation;
      if (columns.spans.category[row] != compile || !run_columns_observation(&columns, row, &observation) ||
          observation == 0 || run->observations[observation].warmup)
        continue;
      double ns = (double)columns.spans.duration_ns[row];
      ret->observations += !compiles[observation];
      compiles[observation] = true;
      ret->ns += ns;
      int64_t start_ns = columns.spans.start_ns[row];
      *vector_add(&intervals) = (struct compile_time){start_ns, saturate_add(start_ns, columns.spans.duration_ns[row])};
      if (places->place_of[row] != PLACE_NONE && ns > ret->most_ns) {
        ret->most_ns = ns;
        ret->place = places->place_of[row];
      }
    }
  }
  arena_done(&arena);
  if (status == STATUS_OK)
    status = add_samples(findings, run, intervals.items, intervals.count, ret, err);
  vector_done(&intervals);
  return status;
}

static void add(struct findings *findings, const struct compiling *compiling)
{
  double count = (double)findings->set->observation_count;
  struct finding *finding = findings_add(findings);
  const struct own_line *line = own_lines_main(&compiling->lines, 0, compiling->sampled_ns);
  if (line != NULL && !has_line(findings, compiling->place))
    finding_at_own_line(findings, finding, &compiling->lines, line);
  else if (compiling->place != PLACE_NONE)
    finding_at_place(findings, finding, compiling->place);
  finding->context = findings_is_xlas(findings) ? "jax.jit" : "torch.compile";
  finding->time_ms = compiling->ns / 1e6 / count;
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = finding->time_ms;
  finding->saving_basis = "time of compilations after the first observation, as if there were none";
  finding->title = arena_format(
      findings->question->arena, "the model is compiled again in %.0f of %.0f observations, %s each on average",
      compiling->observations, count, findings_time(findings, compiling->ns / 1e6 / compiling->observations));
  finding->advice = findings_is_xlas(findings)
                        ? "jit a function once, outside of the loop (a new lambda is a new function), and keep shapes "
                          "equal; tag reason of the compilations has what differed (docs/jax.md)"
                        : "keep shapes and values that are compiled in equal: pad to a few sizes, mark_dynamic() or "
                          "dynamic=True, numbers as tensors; TORCH_LOGS=recompiles has the reasons";
  finding->threshold = findings_threshold_of(findings, "recompilation-observations");
  finding->confidence = CONFIDENCE_HIGH;
  finding_number(finding, "observations", compiling->observations);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  struct compiling compiling = {.place = PLACE_NONE};
  uint32_t compile;
  if (!store_find_string(findings->question->view->store, "compile", 7, &compile))
    return findings_lack(findings, err, "it has no compilations");
  XSP_TRY(findings_places(findings, &places, err));
  XSP_TRY(store_call_paths(findings->question->view->store, findings->question->scratch, &compiling.paths, err));
  compiling.lines.paths = &compiling.paths;
  enum status status = STATUS_OK;
  for (size_t i = 0; i < findings->set->run_count && status == STATUS_OK; i++)
    status = add_run(findings, &places->runs[i], findings->set->runs[i], compile, &compiling, err);
  if (status == STATUS_OK && compiling.observations >= findings_threshold(findings, "recompilation-observations"))
    add(findings, &compiling);
  own_lines_done(&compiling.lines);
  return status;
}

const struct finding_rule finding_f25 = {
    .id = "F25",
    .key = "recompilation",
    .title = "compilations while the loop runs",
    .thresholds = {{"recompilation-observations", "", 3, "observations after the first that compile, at least"}},
    .find = find,
};
