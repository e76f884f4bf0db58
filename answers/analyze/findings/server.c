// SPDX-License-Identifier: Apache-2.0
// Finds the threads that run predictions, and adds up their samples. Called by rules about programs that serve requests.
#include "analyze/findings/server.h"

#include "analyze/findings/shared.h"
#include "analyze/findings/work_paths.h"
#include "base/saturate.h"

#include <fnmatch.h>
#include <stdlib.h>

#define LEAST_PREDICTIONS 0.1 // of all, that a main thread runs which is no server's

enum waits { WAITS, LOCKS };
struct server_load {
  struct findings *findings;
  struct server *server;
  struct work_paths work_paths;
  struct own_lines lines; // by enum waits
  struct map tracks;      // of a run
  struct map is_main;
  int64_t start_ns, end_ns;
};

static enum status add_main_threads(struct store *store, const struct view_run *run, struct arena *arena,
                                    struct map *is_main, struct error *err)
{
  struct store_track *tracks;
  size_t count;
  XSP_TRY(store_tracks(store, run->run->run_id, arena, &tracks, &count, err));
  for (size_t i = 0; i < count; i++)
    if (tracks[i].thread_id == tracks[i].process_id)
      *map_at(is_main, map_number((uint64_t)tracks[i].track_id), NULL) = 1;
  return STATUS_OK;
}

enum status server_tracks(struct findings *findings, const struct view_run *run, struct map *ret_tracks,
                          size_t *ret_threads, struct error *err)
{
  struct run_columns columns;
  struct arena *scratch = findings->question->scratch;
  struct map is_main = {0};
  size_t on_main = 0;
  *ret_tracks = (struct map){0};
  *ret_threads = 0;
  enum status status = add_main_threads(findings->question->view->store, run, scratch, &is_main, err);
  if (status == STATUS_OK)
    status = run_columns_load(findings->question, run, STORE_BIT(STORE_TRACK_ID), scratch, &columns, err);
  for (size_t i = 0; status == STATUS_OK && i < run->observation_count; i++) {
    uint32_t row = run_columns_row(&columns, run->observations[i].span_id);
    if (row == ROW_NONE)
      continue;
    struct map_key track = map_number(columns.spans.track_id[row]);
    on_main += map_find(&is_main, track) != NULL;
    *map_at(ret_tracks, track, NULL) = 1;
  }
  if (status == STATUS_OK && ret_tracks->count > 0 && !findings_is_xlas(findings) &&
      (double)on_main < LEAST_PREDICTIONS * (double)run->observation_count) {
    *ret_threads = ret_tracks->count;
    map_done(&is_main);
    return STATUS_OK;
  }
  map_done(ret_tracks);
  *ret_tracks = is_main;
  return status;
}

static enum status see_run(struct findings *findings, const struct view_run *run, server_sample *see, void *data,
                           struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct map tracks SCOPED(map_done) = {0};
  struct store_samples samples;
  size_t threads;
  XSP_TRY(store_load_samples(findings->question->view->store, run->run->run_id, &arena, &samples, err));
  XSP_TRY(server_tracks(findings, run, &tracks, &threads, err));
  for (size_t i = 0; i < samples.count; i++)
    if (findings_is_in_loop(run, samples.time_ns[i]) && map_find(&tracks, map_number(samples.track_id[i])) != NULL)
      see(data, samples.context_id[i], (double)samples.duration_ns[i]);
  return STATUS_OK;
}

enum status server_each_sample(struct findings *findings, server_sample *see, void *data, struct error *err)
{
  for (size_t i = 0; i < findings->set->run_count; i++)
    XSP_TRY(see_run(findings, findings->set->runs[i], see, data, err));
  return STATUS_OK;
}

// ---- predictions -----------------------------------------------------------------------------------------------------
// Observations are in order of their starts.
static void add_predictions(struct server_load *load, const struct view_run *run)
{
  int64_t end_ns = INT64_MIN;
  load->start_ns = INT64_MAX;
  for (size_t i = 0; i < run->observation_count; i++) {
    const struct store_observation *one = &run->observations[i];
    int64_t this_end_ns = saturate_add(one->start_ns, one->duration_ns);
    load->start_ns = one->start_ns < load->start_ns ? one->start_ns : load->start_ns;
    load->server->model_ns += (double)one->duration_ns;
    if (end_ns > one->start_ns)
      load->server->overlap_ns += (double)saturate_subtract(end_ns < this_end_ns ? end_ns : this_end_ns, one->start_ns);
    end_ns = this_end_ns > end_ns ? this_end_ns : end_ns;
  }
  load->end_ns = end_ns;
  load->server->window_ns += end_ns > load->start_ns ? (double)saturate_subtract(end_ns, load->start_ns) : 0;
}

// ---- samples ---------------------------------------------------------------------------------------------------------
// In the selector of an event loop or of a server nothing is served, whichever function started it.
static bool is_selector(const struct store_frame *frame)
{
  return frame->file != NULL && fnmatch("*/selectors.py", frame->file, 0) == 0;
}

static void add_sample(struct server_load *load, const struct work_path *path, uint32_t context_id, uint8_t kind,
                       double ns)
{
  struct server *server = load->server;
  const struct store_frame *frame = own_lines_frame(&server->lines, context_id);
  bool is_at_work = path->own != 0 && !is_selector(frame);
  server->in_loop_ns += path->is_in_loop ? ns : 0;
  if (kind == SAMPLE_CPU || (is_at_work && path->is_models)) {
    server->computes_ns += ns;
  } else if (is_at_work && kind == SAMPLE_LOCK && own_lines_is_own(frame)) {
    server->locked_ns += ns;
    server->locks++;
    own_lines_add(&load->lines, path->own, LOCKS, ns);
  } else if (is_at_work && (kind == SAMPLE_SLEEP || kind == SAMPLE_IO || kind == SAMPLE_CHILD)) {
    server->waits_ns += ns;
    own_lines_add(&load->lines, path->own, WAITS, ns);
  } else {
    server->idle_ns += ns;
  }
}

static void add_samples(struct server_load *load, const struct store_samples *samples)
{
  for (size_t i = 0; i < samples->count; i++) {
    uint32_t context_id = samples->context_id[i];
    struct map_key track = map_number(samples->track_id[i]);
    if (context_id == 0 || samples->time_ns[i] < load->start_ns || samples->time_ns[i] > load->end_ns)
      continue;
    const struct work_path *path = work_path_of(&load->work_paths, context_id);
    if (map_find(&load->tracks, track) != NULL)
      add_sample(load, path, context_id, samples->kind[i], (double)samples->duration_ns[i]);
    else if (samples->kind[i] == SAMPLE_LOCK && path->own != 0 && map_find(&load->is_main, track) == NULL)
      load->server->others_ns += (double)samples->duration_ns[i];
  }
}

static enum status add_run(struct server_load *load, const struct view_run *run, struct error *err)
{
  struct store *store = load->findings->question->view->store;
  struct arena arena SCOPED(arena_done) = {0};
  struct store_samples samples;
  size_t threads = 0;
  add_predictions(load, run);
  enum status status = server_tracks(load->findings, run, &load->tracks, &threads, err);
  if (status == STATUS_OK)
    status = add_main_threads(store, run, &arena, &load->is_main, err);
  if (status == STATUS_OK)
    status = store_load_samples(store, run->run->run_id, &arena, &samples, err);
  if (status == STATUS_OK)
    add_samples(load, &samples);
  load->server->threads = threads > load->server->threads ? threads : load->server->threads;
  map_done(&load->tracks);
  map_done(&load->is_main);
  return status;
}

static const struct own_line *main_line(const struct server_load *load, enum waits kind, double ns)
{
  const struct own_line *found = own_lines_main(&load->lines, kind, ns);
  struct own_line *copy = arena_alloc(load->findings->question->scratch, sizeof *copy);
  if (found == NULL)
    return NULL;
  *copy = *found;
  return copy;
}

enum status findings_server(struct findings *findings, const struct server **ret_server, struct error *err)
{
  struct store *store = findings->question->view->store;
  struct arena *scratch = findings->question->scratch;
  size_t samples = 0;
  *ret_server = findings->server;
  if (findings->server != NULL)
    return STATUS_OK;
  for (size_t i = 0; i < findings->set->run_count && samples == 0; i++)
    XSP_TRY(store_count_samples(store, findings->set->runs[i]->run->run_id, &samples, err));
  if (samples == 0)
    return findings_lack(findings, err, "it has no samples (xsp run -t cpu)");
  struct server *server = arena_alloc(scratch, sizeof *server);
  struct server_load load = {.findings = findings, .server = server};
  enum status status = store_call_paths(store, scratch, &server->paths, err);
  server->lines.paths = load.lines.paths = &server->paths;
  work_paths_start(&load.work_paths, &server->paths, scratch);
  for (size_t i = 0; i < findings->set->run_count && status == STATUS_OK; i++)
    status = add_run(&load, findings->set->runs[i], err);
  server->waits_line = main_line(&load, WAITS, server->waits_ns);
  server->locks_line = main_line(&load, LOCKS, server->locked_ns);
  own_lines_done(&load.lines);
  if (status != STATUS_OK)
    return status;
  findings->server = server;
  *ret_server = server;
  return STATUS_OK;
}
