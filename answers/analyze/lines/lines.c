// SPDX-License-Identifier: Apache-2.0
// From samples by call path and thread to rows: lines, functions, files, threads, processes. Called by A22, findings, and through
// A22 by the summary of `xsp run`.
#include "analyze/lines/lines.h"

#include "analyze/lines/times.h"
#include "base/interner.h"
#include "base/sorted.h"

#include <math.h>
#include <string.h>

#define ERROR_95 1.96 // standard deviations

struct call { // of a row, to one function
  size_t row;
  const char *callee;
  double ns;
};
struct grouping {
  struct question *question;
  const struct times *times;
  enum lines_by by;
  VECTOR(struct line) rows;
  VECTOR(double) top_ns; // by row: of the part of it that gave its line
  struct interner keys;  // ids are rows
  VECTOR(struct call) calls;
  struct interner callees;
  struct map call_of; // by row and callee
};

bool lines_by_parse(const char *text, enum lines_by *ret_by)
{
  static const char *const names[] = {"line", "function", "file", "thread", "process"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (text == NULL || strcmp(text, names[i]) == 0) {
      *ret_by = (enum lines_by)i;
      return true;
    }
  return false;
}

static void line_add(struct line *line, const struct time_of *time)
{
  line->samples += time->samples;
  line->squares += time->squares;
  line->python_ns += time->ns[PART_PYTHON];
  line->native_ns += time->ns[PART_NATIVE];
  line->operator_ns += time->ns[PART_OPERATOR];
  line->waiting_ns += time->ns[PART_WAITING];
}

// The row with this key, which begins as `first`.
static size_t row_at(struct grouping *grouping, const char *key, const struct line *first)
{
  size_t row = interner_at(&grouping->keys, key, strlen(key));
  if (row == grouping->rows.count) {
    *vector_add(&grouping->rows) = *first;
    *vector_add(&grouping->top_ns) = -1;
  }
  return row;
}

// ---- by line, function and file --------------------------------------------------------------------------------------
static void add_call(struct grouping *grouping, size_t row, const char *callee, double ns)
{
  bool is_new;
  if (callee == NULL)
    return;
  uint32_t id = interner_at(&grouping->callees, callee, strlen(callee));
  uint64_t *place = map_at(&grouping->call_of, (struct map_key){row, id}, &is_new);
  if (is_new) {
    *place = grouping->calls.count;
    *vector_add(&grouping->calls) = (struct call){row, callee, 0};
  }
  grouping->calls.items[*place].ns += ns;
}

static const char *key_of(const struct grouping *grouping, const struct line *line)
{
  const char *file = line->file != NULL ? line->file : "", *function = line->function != NULL ? line->function : "";
  struct arena *arena = grouping->question->scratch;
  if (grouping->by == LINES_BY_LINE)
    return arena_format(arena, "%s\n%s\n%lld", file, function, (long long)line->line);
  if (grouping->by == LINES_BY_FUNCTION || line->file == NULL)
    return arena_format(arena, "%s\n%s", file, function);
  return file;
}

static void add_context(struct grouping *grouping, uint32_t context_id)
{
  const struct store_call_paths *paths = &grouping->times->paths;
  struct time_of time = grouping->times->of_context[context_id];
  uint32_t own_id = context_id == 0 ? 0 : path_own_line(paths, context_id);
  uint32_t line_id = own_id != 0 || context_id == 0 ? own_id : path_known_line(paths, context_id);
  if (own_id == 0)
    time.ns[PART_WAITING] = 0; // threads of pools that only wait: they would fill the table
  if (time.samples == 0 && time_ns(&time) <= 0)
    return;
  struct line first = {.process_id = STORE_NONE, .thread_id = STORE_NONE};
  if (line_id != 0) {
    const struct store_frame *frame = path_frame(paths, line_id);
    first.file = frame->file;
    first.function = path_function(frame);
    first.line = frame->line;
  }
  size_t row = row_at(grouping, key_of(grouping, &first), &first);
  struct line *line = &grouping->rows.items[row];
  line_add(line, &time);
  if (grouping->by == LINES_BY_FILE && first.file != NULL)
    line->function = NULL;
  if (grouping->by != LINES_BY_LINE && time_ns(&time) > grouping->top_ns.items[row]) {
    grouping->top_ns.items[row] = time_ns(&time);
    line->line = grouping->by == LINES_BY_FUNCTION ? first.line : 0;
  }
  if (line_id != 0)
    add_call(grouping, row, path_callee(paths, line_id, context_id, grouping->question->scratch), time_ns(&time));
}

static void find_hottest(struct grouping *grouping)
{
  double *most_ns = arena_alloc_array(grouping->question->scratch, grouping->rows.count + 1, sizeof *most_ns);
  for (size_t i = 0; i < grouping->calls.count; i++) {
    const struct call *call = &grouping->calls.items[i];
    if (call->ns > most_ns[call->row]) {
      most_ns[call->row] = call->ns;
      grouping->rows.items[call->row].hottest = call->callee;
    }
  }
}

// ---- by thread and process -------------------------------------------------------------------------------------------
static void add_thread(struct grouping *grouping, const struct thread_time *thread)
{
  const struct store_track *track = thread->track;
  bool is_process = grouping->by == LINES_BY_PROCESS;
  const char *key = arena_format(grouping->question->scratch, "%s\n%lld\n%lld", track->host != NULL ? track->host : "",
                                 (long long)track->process_id, is_process ? 0LL : (long long)track->thread_id);
  const struct line first = {
      .name = track->name, .process_id = track->process_id, .thread_id = is_process ? STORE_NONE : track->thread_id};
  size_t row = row_at(grouping, key, &first);
  line_add(&grouping->rows.items[row], &thread->time);
  if (!is_process || track->thread_id == track->process_id)
    grouping->rows.items[row].name =
        track->name; // the last program's that it executed; a process has its first thread's
}

// ---- all -------------------------------------------------------------------------------------------------------------
SORTED_BY(compare_lines, struct line,
          ORDER(line_ns(b), line_ns(a)) ?: texts_compare(a->file, b->file) ?: texts_compare(a->function, b->function)
                                        ?: RISING(line) ?: RISING(thread_id))

static void add_totals(const struct times *times, struct lines *lines)
{
  for (size_t i = 0; i < times->threads.count; i++) {
    const struct thread_time *thread = &times->threads.items[i];
    struct time_of time = thread->time;
    if (thread->is_main) {
      lines->main_ns += time_ns(&time);
    } else {
      lines->other_waiting_ns += time.ns[PART_WAITING];
      time.ns[PART_WAITING] = 0;
    }
    line_add(&lines->total, &time);
  }
}

double lines_error_ns(double part_ns, double part_squares, double all_ns, double all_squares)
{
  const double share = all_ns > 0 ? part_ns / all_ns : NAN, rest = 1 - share;
  return ERROR_95 * sqrt(rest * rest * part_squares + share * share * (all_squares - part_squares));
}

static void group(struct grouping *grouping, struct lines *lines)
{
  const struct times *times = grouping->times;
  for (uint32_t id = 0; id <= times->paths.context_count && grouping->by <= LINES_BY_FILE; id++)
    if (times->of_context[id].samples > 0 || times->of_context[id].ns[PART_WAITING] > 0)
      add_context(grouping, id);
  for (size_t i = 0; i < times->threads.count && grouping->by > LINES_BY_FILE; i++)
    add_thread(grouping, &times->threads.items[i]);
  find_hottest(grouping);
  add_totals(times, lines);
  lines->total.error_ns = NAN;
  lines->count = grouping->rows.count;
  lines->items = arena_alloc_array(grouping->question->scratch, lines->count + 1, sizeof *lines->items);
  for (size_t i = 0; i < lines->count; i++) {
    lines->items[i] = grouping->rows.items[i];
    struct line *line = &lines->items[i];
    if (line->samples > 0)
      line->error_ns =
          lines_error_ns(line_cpu_ns(line), line->squares, line_cpu_ns(&lines->total), lines->total.squares);
    else
      line->error_ns = NAN;
  }
  vector_sort(lines, compare_lines);
}

static enum status choose(struct question *question, const struct view_set **ret_set, struct error *err)
{
  const struct view *view = question->view;
  const int64_t only = question->request->batch;
  *ret_set = NULL;
  for (size_t i = 0; i < view->set_count; i++) {
    const struct view_set *set = &view->sets[i];
    size_t samples = 0;
    for (size_t k = 0; k < set->run_count && samples == 0 && (only == 0 || set->batch_size == only); k++)
      XSP_TRY(store_count_samples(view->store, set->runs[k]->run->run_id, &samples, err));
    bool is_better = *ret_set == NULL || level_set_count(set->levels) > level_set_count((*ret_set)->levels);
    if (samples > 0 && !set->levels.serial && !set->levels.metrics && is_better)
      *ret_set = set;
  }
  if (*ret_set == NULL && only != 0)
    return question_lacks(question, err, "no run at batch size %lld has samples of threads", (long long)only);
  if (*ret_set == NULL)
    return question_lacks(question, err, "it has no samples of threads: xsp run -t cpu takes them");
  return STATUS_OK;
}

enum status lines_load(struct question *question, enum lines_by by, struct lines *ret_lines, struct error *err)
{
  struct times times SCOPED(lines_times_done) = {0};
  struct grouping grouping = {.question = question, .times = &times, .by = by};
  *ret_lines = (struct lines){0};
  XSP_TRY(choose(question, &ret_lines->set, err));
  XSP_TRY(lines_times_load(question, ret_lines->set, &times, err));
  group(&grouping, ret_lines);
  ret_lines->duration_ns = times.duration_ns;
  for (size_t i = 0; i < ret_lines->set->run_count; i++)
    ret_lines->dropped += ret_lines->set->runs[i]->run->dropped_count;
  vector_done(&grouping.rows);
  vector_done(&grouping.top_ns);
  vector_done(&grouping.calls);
  map_done(&grouping.call_of);
  interner_done(&grouping.keys);
  interner_done(&grouping.callees);
  return STATUS_OK;
}
