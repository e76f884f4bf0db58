// SPDX-License-Identifier: Apache-2.0
// Counts the threads that compute, by samples. Called by F30 and F32.
#include "analyze/findings/computing_threads.h"

#include "analyze/findings/shared.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_PART 0.1 // of the time that a thread has on average, for it to count
#define ALIKE 3.0      // the most that a thread of a pool takes, in times of the least

// Without the number of a thread: "worker-11", "python3 4711".
static size_t plain_length(const char *name)
{
  size_t length = name != NULL ? strlen(name) : 0;
  while (length > 0 && strchr("0123456789 -_./:#", name[length - 1]) != NULL)
    length--;
  return length;
}

static bool has_same_name(const struct store_track *a, const struct store_track *b)
{
  size_t length = plain_length(a->name);
  return length == plain_length(b->name) && (length == 0 || memcmp(a->name, b->name, length) == 0);
}

// Threads of the process of `of` that have its name and take as long as it, and down to a third. Those of one pool share its work;
// frameworks have several pools, of as many threads as processors each, which compute in turn. `ns`: CPU time by track.
static size_t count_alike(const double *ns, const struct store_track *tracks, size_t count, size_t of)
{
  double sum_ns = 0;
  size_t threads = 0, alike = 0;
  for (size_t i = 0; i < count; i++)
    if (tracks[i].process_id == tracks[of].process_id && ns[i] > 0) {
      sum_ns += ns[i];
      threads++;
    }
  double least_ns = fmax(LEAST_PART * sum_ns / (double)threads, ns[of] / ALIKE);
  for (size_t i = 0; i < count; i++)
    alike += tracks[i].process_id == tracks[of].process_id && has_same_name(&tracks[i], &tracks[of]) && ns[i] > 0 &&
             ns[i] >= least_ns && ns[i] <= ns[of];
  return alike;
}

// Of the run with most, in all processes: those with a tenth of the longest one's time.
static void count_all(const double *ns, size_t count, struct computing_threads *ret)
{
  double most_ns = 0;
  size_t busy = 0;
  for (size_t i = 0; i < count; i++)
    most_ns = ns[i] > most_ns ? ns[i] : most_ns;
  for (size_t i = 0; i < count; i++)
    busy += ns[i] > 0 && ns[i] >= LEAST_PART * most_ns;
  ret->of_all = busy > ret->of_all ? busy : ret->of_all;
}

static enum status count_run(struct findings *findings, const struct view_run *run, struct computing_threads *ret,
                             struct error *err)
{
  struct store *store = findings->question->view->store;
  struct arena arena SCOPED(arena_done) = {0};
  struct store_samples samples;
  struct store_track *tracks;
  size_t count;
  XSP_TRY(store_load_samples(store, run->run->run_id, &arena, &samples, err));
  XSP_TRY(store_tracks(store, run->run->run_id, &arena, &tracks, &count, err));
  double *ns = arena_alloc_array(&arena, count + 1, sizeof *ns);
  struct map index_of SCOPED(map_done) = {0};
  for (size_t i = 0; i < count; i++)
    *map_at(&index_of, map_number((uint64_t)tracks[i].track_id), NULL) = i;
  for (size_t i = 0; i < samples.count; i++) {
    const uint64_t *at = samples.kind[i] == SAMPLE_CPU ? map_find(&index_of, map_number(samples.track_id[i])) : NULL;
    if (at != NULL)
      ns[*at] += (double)samples.duration_ns[i];
  }
  for (size_t i = 0; i < count; i++) {
    size_t alike = count_alike(ns, tracks, count, i);
    ret->threads = alike > ret->threads ? alike : ret->threads;
  }
  count_all(ns, count, ret);
  return STATUS_OK;
}

enum status computing_threads_place(struct findings *findings, uint32_t *ret_place, bool *ret_is_asked,
                                    struct error *err)
{
  const struct places *places = findings->places;
  struct store *store = findings->question->view->store;
  uint32_t category;
  *ret_place = findings_busiest_place(findings);
  *ret_is_asked = false;
  if (!store_find_string(store, "threads", 7, &category))
    return STATUS_OK;
  for (size_t i = 0; i < findings->set->run_count; i++) {
    struct run_columns columns;
    struct arena arena SCOPED(arena_done) = {0};
    enum status status =
        run_columns_load(findings->question, findings->set->runs[i], STORE_BIT(STORE_CATEGORY), &arena, &columns, err);
    for (size_t row = 0; status == STATUS_OK && row < columns.spans.count; row++)
      if (columns.spans.category[row] == category && places->runs[i].place_of[row] != PLACE_NONE) {
        *ret_place = places->runs[i].place_of[row];
        *ret_is_asked = true;
      }
    XSP_TRY(status);
  }
  return STATUS_OK;
}

enum status computing_threads_count(struct findings *findings, struct computing_threads *ret, struct error *err)
{
  *ret = (struct computing_threads){0};
  XSP_TRY(findings_system(findings, "cpus_allowed", &ret->processors, err));
  for (size_t i = 0; i < findings->set->run_count; i++)
    XSP_TRY(count_run(findings, findings->set->runs[i], ret, err));
  return isnan(ret->processors) || ret->threads == 0
             ? findings_lack(findings, err, "it has no samples (xsp run -t cpu), or no number of processors")
             : STATUS_OK;
}
