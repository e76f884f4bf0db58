// SPDX-License-Identifier: Apache-2.0
// Which device a track is of, and how long the busiest device has no work. Called by gaps.c and by rules.
#include "analyze/findings/shared.h"

#include "analyze/layers/busy.h"
#include "base/saturate.h"

#include <math.h>

enum status run_devices_load(struct store *store, int64_t run_id, struct arena *arena, struct map *device_of,
                             size_t *ret_count, struct error *err)
{
  struct store_track *tracks;
  struct map processes SCOPED(map_done) = {0}, devices SCOPED(map_done) = {0};
  size_t track_count, process_count;
  *ret_count = 0;
  XSP_TRY(store_tracks(store, run_id, arena, &tracks, &track_count, err));
  XSP_TRY(run_processes_load(store, run_id, arena, &processes, &process_count, err));
  for (size_t i = 0; i < track_count; i++) {
    if (tracks[i].clock != NULL)
      continue;
    struct map_key track = map_number((uint64_t)tracks[i].track_id);
    const uint64_t *process = map_find(&processes, track);
    bool is_new;
    uint64_t *device = map_at(
        &devices, (struct map_key){process != NULL ? *process : UINT64_MAX, (uint64_t)tracks[i].device_id}, &is_new);
    if (is_new)
      *device = (*ret_count)++;
    *map_at(device_of, track, NULL) = *device;
  }
  return STATUS_OK;
}

// ---- idle ------------------------------------------------------------------------------------------------------------
struct device {
  VECTOR(struct busy_interval) works;
};
struct devices_run {
  const struct view_run *run;
  struct run_columns columns;
  struct map device_of; // by track
  struct device *devices;
  size_t device_count;
  bool of_modules; // executions of XLA's modules are the work, whatever runs them
};

static bool is_work(const struct devices_run *of, size_t row, uint32_t sync, uint32_t step)
{
  const struct store_spans *spans = &of->columns.spans;
  if ((spans->flags[row] & STORE_SPAN_OPEN) != 0)
    return false;
  if (of->of_modules)
    return spans->level[row] == XSP_LEVEL_MODEL && spans->category[row] != step;
  return spans->kind[row] == XSP_KIND_EXECUTION && spans->category[row] != sync;
}

static void find_works(struct devices_run *of)
{
  const struct store_spans *spans = &of->columns.spans;
  uint32_t sync = run_columns_category(of->columns.store, "sync");
  uint32_t step = run_columns_category(of->columns.store, "step");
  for (size_t row = 0; row < spans->count; row++) {
    const uint64_t *device = map_find(&of->device_of, map_number(spans->track_id[row]));
    if (device == NULL || !is_work(of, row, sync, step))
      continue;
    *vector_add(&of->devices[*device].works) =
        (struct busy_interval){spans->start_ns[row], saturate_add(spans->start_ns[row], spans->duration_ns[row]), 0};
  }
}

// Of each observation that is no warm-up: how long the device works that works longest in it. Returns how many devices work.
static size_t measure(struct devices_run *of, double *busy_ms)
{
  size_t working = 0;
  for (size_t i = 0; i < of->device_count; i++) {
    struct busy busy = busy_of(of->devices[i].works.items, of->devices[i].works.count);
    double *at = busy_ms;
    working += busy.count > 0;
    for (size_t k = 0; k < of->run->observation_count && busy.count > 0; k++) {
      const struct store_observation *observation = &of->run->observations[k];
      int64_t end_ns = saturate_add(observation->start_ns, observation->duration_ns);
      if (observation->warmup)
        continue;
      *at = fmax(*at, (double)busy_within_ns(&busy, observation->start_ns, end_ns) / 1e6);
      at++;
    }
  }
  return working;
}

static enum status load_run(struct devices_run *of, struct question *question, struct arena *arena, struct error *err)
{
  enum {
    COLUMNS = STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_CATEGORY) |
              STORE_BIT(STORE_KIND) | STORE_BIT(STORE_FLAGS) | STORE_BIT(STORE_TRACK_ID)
  };
  XSP_TRY(run_columns_load(question, of->run, COLUMNS, arena, &of->columns, err));
  XSP_TRY(run_devices_load(question->view->store, of->run->run->run_id, arena, &of->device_of, &of->device_count, err));
  of->devices = arena_alloc_array(arena, of->device_count + 1, sizeof *of->devices);
  find_works(of);
  return STATUS_OK;
}

static enum status idle_load(struct findings *findings, bool of_modules, struct devices_idle *ret_idle,
                             struct error *err)
{
  struct question *question = findings->question;
  const struct view_set *set = findings->set;
  double *busy_ms = arena_alloc_array(question->scratch, set->observation_count + 1, sizeof *busy_ms);
  size_t first = 0;
  *ret_idle = (struct devices_idle){0};
  for (size_t i = 0; i < set->run_count; i++) {
    struct arena arena SCOPED(arena_done) = {0};
    struct devices_run of = {.run = set->runs[i], .of_modules = of_modules};
    enum status status = load_run(&of, question, &arena, err);
    size_t working = status == STATUS_OK ? measure(&of, busy_ms + first) : 0;
    ret_idle->device_count = working > ret_idle->device_count ? working : ret_idle->device_count;
    for (size_t k = 0; k < of.run->observation_count; k++)
      first += !of.run->observations[k].warmup;
    for (size_t k = 0; k < of.device_count && of.devices != NULL; k++)
      vector_done(&of.devices[k].works);
    map_done(&of.device_of);
    XSP_TRY(status);
  }
  if (ret_idle->device_count == 0)
    return STATUS_OK;
  for (size_t k = 0; k < set->observation_count; k++)
    busy_ms[k] = fmax(set->latencies_ms[k] - busy_ms[k], 0);
  ret_idle->idle_ms = question_value(question, set, busy_ms);
  return STATUS_OK;
}

enum status devices_idle_load(struct findings *findings, struct devices_idle *ret_idle, struct error *err)
{
  XSP_TRY(idle_load(findings, false, ret_idle, err));
  return ret_idle->device_count == 0 ? findings_lack(findings, err, NO_TIMES_OF_DEVICES) : STATUS_OK;
}

enum status findings_modules_idle(struct findings *findings, double *ret_idle_ms, struct error *err)
{
  struct devices_idle idle = {0};
  if (findings_is_xlas(findings))
    XSP_TRY(idle_load(findings, true, &idle, err));
  *ret_idle_ms = idle.idle_ms;
  return STATUS_OK;
}
