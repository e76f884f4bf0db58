// SPDX-License-Identifier: Apache-2.0
// F33, waits for a thread: the main thread, which runs the model, waits for what another thread makes: by a queue, a lock, or Python's
// global lock. The line is what that thread does.
#include "analyze/findings/rules.h"
#include "analyze/findings/server.h"
#include "analyze/findings/shared.h"
#include "analyze/findings/work_paths.h"
#include "analyze/lines/paths.h"
#include "base/saturate.h"

#include <math.h>

#define LEAST_WORK 0.05   // of the main thread's waits, that other threads work outside of models
#define LEAST_MODELS 0.01 // of the main thread's other time, that it runs models

struct main_thread { // of a process, within functions of the program
  double waited_ns, models_ns, other_ns;
  int64_t first_ns, last_ns; // of its samples there
};
struct waits {
  struct findings *findings;
  struct store_call_paths paths;
  struct work_paths work_paths;
  struct own_lines lines;      // of other threads
  double waited_ns, window_ns; // of each run's main thread that waits most: the ranks of a job have one each
  double works_ns, python_ns;  // of other threads; of that, in Python
};

static void add_main(struct main_thread *thread, const struct work_path *path, uint8_t kind, int64_t time_ns, double ns)
{
  bool is_first = thread->waited_ns + thread->models_ns + thread->other_ns == 0;
  thread->first_ns = is_first || time_ns < thread->first_ns ? time_ns : thread->first_ns;
  thread->last_ns = is_first || time_ns > thread->last_ns ? time_ns : thread->last_ns;
  if (kind == SAMPLE_LOCK && !path->is_in_loop)
    thread->waited_ns += ns;
  else if (path->is_models && kind == SAMPLE_CPU)
    thread->models_ns += ns;
  else
    thread->other_ns += ns;
}

// Of those that run models: a process that only waits for others is not the one that could do more.
static void add_most_waiting(struct waits *waits, const struct main_thread *threads, size_t count)
{
  const struct main_thread *most = NULL;
  for (size_t i = 0; i < count; i++) {
    bool runs_models = threads[i].models_ns > LEAST_MODELS * (threads[i].models_ns + threads[i].other_ns);
    if (runs_models && (most == NULL || threads[i].waited_ns > most->waited_ns))
      most = &threads[i];
  }
  if (most == NULL)
    return;
  waits->waited_ns += most->waited_ns;
  waits->window_ns += (double)saturate_subtract(most->last_ns, most->first_ns);
}

// The innermost line of the program below which no library computes models; 0: none. Libraries may call it: TensorFlow calls a
// generator of the program.
static uint32_t own_work(struct waits *waits, uint32_t context_id)
{
  for (uint32_t id = context_id; id != 0; id = (uint32_t)waits->paths.contexts[id - 1].parent_id) {
    const struct store_frame *frame = own_lines_frame(&waits->lines, id);
    if (own_lines_is_own(frame))
      return id;
    if (work_paths_owner(&waits->work_paths, id) == WORK_MODELS ||
        work_paths_kind(&waits->work_paths, id) == WORK_IMPORT)
      return 0;
  }
  return 0;
}

// Waits for locks are not what keeps another thread from making its result.
static void add_other(struct waits *waits, uint32_t context_id, uint8_t kind, double ns)
{
  uint32_t own = kind != SAMPLE_LOCK && context_id != 0 ? own_work(waits, context_id) : 0;
  if (own == 0)
    return;
  own_lines_add(&waits->lines, own, 0, ns);
  waits->works_ns += ns;
  waits->python_ns += kind == SAMPLE_CPU && path_code_of(&waits->paths, context_id) == PATH_PYTHON ? ns : 0;
}

struct threads { // of a run
  const struct store_track *tracks;
  struct map track_of;       // by track id: place in `tracks`
  struct map process_of;     // by track id: a number
  struct main_thread *mains; // by that number
};

static void add_samples(struct waits *waits, const struct view_run *run, const struct store_samples *samples,
                        const struct threads *threads)
{
  for (size_t i = 0; i < samples->count; i++) {
    struct map_key track = map_number(samples->track_id[i]);
    const uint64_t *at = map_find(&threads->track_of, track);
    const struct work_path *path =
        samples->context_id[i] != 0 ? work_path_of(&waits->work_paths, samples->context_id[i]) : NULL;
    double ns = (double)samples->duration_ns[i];
    if (at == NULL || !findings_is_in_loop(run, samples->time_ns[i]))
      continue;
    if (threads->tracks[*at].thread_id != threads->tracks[*at].process_id)
      add_other(waits, samples->context_id[i], samples->kind[i], ns);
    else if (path != NULL && path->own != 0 && path->kind != WORK_IMPORT && path->kind != WORK_INPUT)
      add_main(&threads->mains[*map_find(&threads->process_of, track)], path, samples->kind[i], samples->time_ns[i],
               ns);
  }
}

static void threads_done(struct threads *threads)
{
  map_done(&threads->track_of);
  map_done(&threads->process_of);
}

static enum status add_run(struct waits *waits, const struct view_run *run, struct error *err)
{
  struct store *store = waits->findings->question->view->store;
  struct arena arena SCOPED(arena_done) = {0};
  struct threads threads SCOPED(threads_done) = {.tracks = NULL};
  struct store_samples samples;
  struct store_track *tracks;
  size_t count, processes;
  XSP_TRY(store_load_samples(store, run->run->run_id, &arena, &samples, err));
  XSP_TRY(store_tracks(store, run->run->run_id, &arena, &tracks, &count, err));
  XSP_TRY(run_processes_load(store, run->run->run_id, &arena, &threads.process_of, &processes, err));
  for (size_t i = 0; i < count; i++)
    *map_at(&threads.track_of, map_number((uint64_t)tracks[i].track_id), NULL) = i;
  threads.tracks = tracks;
  threads.mains = arena_alloc_array(&arena, processes + 1, sizeof *threads.mains);
  add_samples(waits, run, &samples, &threads);
  add_most_waiting(waits, threads.mains, processes);
  return STATUS_OK;
}

static void add(struct waits *waits, const struct own_line *line, double share)
{
  struct findings *findings = waits->findings;
  struct finding *finding = findings_add(findings);
  bool is_python = waits->python_ns > waits->works_ns / 2;
  finding_at_own_line(findings, finding, &waits->lines, line);
  finding->time_ms = finding->saving_ms = share * findings->loop_ms;
  finding->share_pct = 100 * share;
  finding->saving_basis = "time in which the main thread waits, as if all were there";
  finding->title = arena_format(findings->question->arena, "the main thread waits for another thread, which runs %s%s",
                                findings_name(findings, finding->context),
                                is_python ? " in Python, with the global interpreter lock (GIL)" : "");
  finding->advice = is_python ? "make it in processes (DataLoader with workers, multiprocessing), or by whole arrays: "
                                "threads of Python take turns, also with the one that runs the model"
                              : "let several threads or processes make it ahead, or do less there";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "python_pct", analyze_share_pct(waits->python_ns, waits->works_ns));
}

static enum status find_waits(struct waits *waits, struct error *err)
{
  struct findings *findings = waits->findings;
  struct store *store = findings->question->view->store;
  const struct server *server;
  XSP_TRY(findings_server(findings, &server, err));
  if (server->threads > 0) // the main thread runs no model
    return STATUS_OK;
  XSP_TRY(store_call_paths(store, findings->question->scratch, &waits->paths, err));
  work_paths_start(&waits->work_paths, &waits->paths, findings->question->scratch);
  waits->lines.paths = &waits->paths;
  for (size_t i = 0; i < findings->set->run_count; i++)
    XSP_TRY(add_run(waits, findings->set->runs[i], err));
  double share = fmin(waits->waited_ns / waits->window_ns, 1);
  const struct own_line *line = own_lines_main(&waits->lines, 0, waits->works_ns);
  if (line != NULL && waits->window_ns > 0 && waits->works_ns >= LEAST_WORK * waits->waited_ns &&
      100 * share >= findings_threshold(findings, "thread_waits-share"))
    add(waits, line, share);
  return STATUS_OK;
}

static enum status find(struct findings *findings, struct error *err)
{
  struct waits waits = {.findings = findings};
  enum status status = find_waits(&waits, err);
  own_lines_done(&waits.lines);
  return status;
}

const struct finding_rule finding_f33 = {
    .id = "F33",
    .key = "thread_waits",
    .title = "the main thread waits for another thread",
    .thresholds = {{"thread_waits-share", "%", 10, "waits of the main thread for locks, of its time, at least"}},
    .find = find,
};
