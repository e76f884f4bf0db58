// SPDX-License-Identifier: Apache-2.0
// Adds up the samples of runs. Called by lines.c and by A1.
#include "analyze/lines/times.h"

#include "base/saturate.h"

#include <string.h>

// Categories of layers that only surround what is called in them: user code runs there as well.
struct around {
  uint32_t ids[3];
};

static struct around find_around(struct store *store)
{
  static const char *const names[] = {"module", "wrapper", "input"};
  struct around around;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    around.ids[i] = run_columns_category(store, names[i]);
  return around;
}

static bool is_operator(const struct run_columns *columns, const struct around *around, uint32_t row)
{
  if (row == ROW_NONE || columns->spans.level[row] < XSP_LEVEL_LAYER)
    return false;
  bool is_around = false;
  for (size_t i = 0; i < sizeof around->ids / sizeof around->ids[0]; i++)
    is_around |= columns->spans.category[row] == around->ids[i];
  return !is_around;
}

uint8_t *lines_times_parts(const struct run_columns *columns, const struct store_call_paths *paths,
                           const struct store_samples *samples, const uint32_t *rows, struct arena *arena)
{
  const struct around around = find_around(columns->store);
  uint8_t *parts = arena_alloc_array(arena, samples->count + 1, 1);
  uint8_t *codes = arena_alloc_array(arena, paths->context_count + 1, 1); // by context: its code + 1; 0: not looked at
  for (size_t i = 0; i < samples->count; i++) {
    uint8_t *code = &codes[samples->context_id[i]];
    if (samples->kind[i] != SAMPLE_CPU) {
      parts[i] = PART_WAITING;
    } else if (is_operator(columns, &around, rows[i])) {
      parts[i] = PART_OPERATOR;
    } else {
      *code = *code == 0 ? (uint8_t)(path_code_of(paths, samples->context_id[i]) + 1) : *code;
      parts[i] = (uint8_t)(*code - 1);
    }
  }
  return parts;
}

// ---- of a run --------------------------------------------------------------------------------------------------------
struct adding {
  struct question *question;
  struct times *times;
  struct run_columns columns;
  struct store_samples samples;
  struct store_track *tracks;
  size_t track_count;
  struct map thread_of; // by track id, a place in times->threads
};

static struct thread_time *thread_of(struct adding *adding, uint32_t track_id)
{
  bool is_new;
  uint64_t *place = map_at(&adding->thread_of, map_number(track_id), &is_new);
  if (is_new) {
    static const struct store_track none = {
        .process_id = STORE_NONE, .thread_id = STORE_NONE, .device_id = STORE_NONE, .stream_id = STORE_NONE};
    *place = adding->times->threads.count;
    *vector_add(&adding->times->threads) = (struct thread_time){.track = &none};
    for (size_t i = 0; i < adding->track_count; i++)
      if (adding->tracks[i].track_id == track_id)
        adding->times->threads.items[*place].track = &adding->tracks[i];
  }
  return &adding->times->threads.items[*place];
}

// The call path of a sample; of one in a library's thread, which has no line of the user's, that of the layer it works for.
static uint32_t context_of(const struct adding *adding, size_t sample, uint32_t row)
{
  const struct store_call_paths *paths = &adding->times->paths;
  uint32_t own = adding->samples.context_id[sample], of_span = 0;
  if (row != ROW_NONE && adding->columns.spans.level[row] == XSP_LEVEL_LAYER &&
      adding->samples.kind[sample] == SAMPLE_CPU)
    of_span = adding->columns.spans.context_id[row];
  if (of_span == 0 || (own != 0 && path_own_line(paths, own) != 0) || path_own_line(paths, of_span) == 0)
    return own;
  return of_span;
}

static void add_samples(struct adding *adding, const uint32_t *rows, const uint8_t *parts)
{
  const struct store_samples *samples = &adding->samples;
  for (size_t i = 0; i < samples->count; i++) {
    const double ns = (double)samples->duration_ns[i];
    const bool is_on_cpu = samples->kind[i] == SAMPLE_CPU;
    struct time_of time = {.samples = is_on_cpu, .squares = is_on_cpu ? ns * ns : 0};
    time.ns[parts[i]] = ns;
    time_add(&adding->times->of_context[context_of(adding, i, rows[i])], &time);
    time_add(&thread_of(adding, samples->track_id[i])->time, &time);
  }
}

// The program's own span; ROW_NONE: an import has none.
static uint32_t find_program(const struct adding *adding)
{
  const struct store_spans *spans = &adding->columns.spans;
  uint32_t program;
  if (!store_find_string(adding->columns.store, "program", 7, &program))
    return ROW_NONE;
  for (uint32_t row = 0; row < spans->count; row++)
    if (spans->category[row] == program && spans->level[row] == XSP_LEVEL_APPLICATION)
      return row;
  return ROW_NONE;
}

static double extent_ns(const struct store_samples *samples)
{
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  for (size_t i = 0; i < samples->count; i++) {
    int64_t start_ns = saturate_subtract(samples->time_ns[i], samples->duration_ns[i]);
    first_ns = start_ns < first_ns ? start_ns : first_ns;
    last_ns = samples->time_ns[i] > last_ns ? samples->time_ns[i] : last_ns;
  }
  return samples->count == 0 ? 0 : (double)saturate_subtract(last_ns, first_ns);
}

// The main thread is the one on which the program's span is; where no sample is on it (a shell that starts the program), that
// first thread of a process that has most time.
static void find_main(struct adding *adding, size_t first_thread, uint32_t program)
{
  struct times *times = adding->times;
  struct thread_time *main_thread = NULL;
  for (size_t i = first_thread; i < times->threads.count; i++) {
    struct thread_time *thread = &times->threads.items[i];
    if (program != ROW_NONE && thread->track->track_id == adding->columns.spans.track_id[program]) {
      main_thread = thread;
      break;
    }
    if (thread->track->thread_id != STORE_NONE && thread->track->thread_id == thread->track->process_id &&
        (main_thread == NULL || time_ns(&thread->time) > time_ns(&main_thread->time)))
      main_thread = thread;
  }
  if (main_thread != NULL)
    main_thread->is_main = true;
}

static enum status add_run(struct adding *adding, const struct view_run *run, struct arena *arena, struct error *err)
{
  struct store *store = adding->question->view->store;
  const int64_t run_id = run->run->run_id;
  size_t first_thread = adding->times->threads.count;
  XSP_TRY(store_load_samples(store, run_id, arena, &adding->samples, err));
  XSP_TRY(run_columns_load(adding->question, run,
                           INNERMOST_COLUMNS | STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_CONTEXT_ID), arena,
                           &adding->columns, err));
  XSP_TRY(store_tracks(store, run_id, adding->question->scratch, &adding->tracks, &adding->track_count, err));
  struct map threads = innermost_threads(adding->tracks, adding->track_count);
  const uint32_t *rows = innermost_rows(&adding->columns, &adding->samples, &threads, arena);
  map_done(&threads);
  add_samples(adding, rows, lines_times_parts(&adding->columns, &adding->times->paths, &adding->samples, rows, arena));
  uint32_t program = find_program(adding);
  find_main(adding, first_thread, program);
  adding->times->duration_ns +=
      program != ROW_NONE ? (double)adding->columns.spans.duration_ns[program] : extent_ns(&adding->samples);
  return STATUS_OK;
}

enum status lines_times_load(struct question *question, const struct view_set *set, struct times *ret_times,
                             struct error *err)
{
  *ret_times = (struct times){0};
  XSP_TRY(store_call_paths(question->view->store, question->scratch, &ret_times->paths, err));
  ret_times->of_context =
      arena_alloc_array(question->scratch, ret_times->paths.context_count + 1, sizeof *ret_times->of_context);
  enum status status = STATUS_OK;
  for (size_t i = 0; i < set->run_count && status == STATUS_OK; i++) {
    struct adding adding = {.question = question, .times = ret_times};
    struct arena arena SCOPED(arena_done) = {0};
    status = add_run(&adding, set->runs[i], &arena, err);
    map_done(&adding.thread_of);
  }
  return status;
}

void lines_times_done(struct times *times)
{
  vector_done(&times->threads);
}
