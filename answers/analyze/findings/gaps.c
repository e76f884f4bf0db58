// SPDX-License-Identifier: Apache-2.0
// When no device works although the observation goes on, and what the host did before it launched the next work: F8 and F15.
#include "analyze/findings/shared.h"

#include "base/saturate.h"
#include "base/sorted.h"

#include <stdio.h>
#include <string.h>

// As plain_name has them.
static const char *const waiting_names[] = {
    "*Synchronize*", // CUDA, HIP, Level Zero
    "clFinish",
    "clWaitForEvents",
    "cudaMemcpy",
    "cudaMemcpy2D",
    "cudaMemcpy3D",
    "cudaMemcpyFromSymbol",
    "cuMemcpy",
    "cuMemcpyDtoH",
    "cuMemcpy2D",
    "cuMemcpy3D",
    "hipMemcpy",
    "hipMemcpy2D",
    "hipMemcpy3D",
    "hipMemcpyDtoH",
    "hipMemcpyFromSymbol",
    "hipMemcpyWithStream",
};

struct span { // of the host that waits, or of a device
  int64_t start_ns, end_ns;
  uint32_t row, launch; // launch: row of an execution's; ROW_NONE
};
struct gaps_run {
  struct findings *findings;
  const struct view_run *run;
  const uint32_t *place_of;
  const bool *is_kept; // by observation that is no warm-up
  struct run_columns columns;
  VECTOR(struct span) works;
  VECTOR(struct span) waits;
  struct map launches; // by correlation id: row + 1
  struct map waiting;  // by name: 1: it waits, 2: it does not
  struct map devices;  // by track; none: its times do not compare with the host's
  struct map begun;    // by thread: the last of `waits` that began before the devices ran out of work, + 1
  struct device_gaps *gaps;
};

SORTED_BY(compare_spans, struct span, RISING(start_ns) ?: RISING(row))

// "cudaMemcpy_v3020", "cudaMemcpy_ptds" and "hipMemcpyDtoH_spt" without the ending: CUDA, Nsight Systems and HIP add them.
static void plain_name(const char *name, char text[64])
{
  snprintf(text, 64, "%s", name);
  for (char *last; (last = strrchr(text, '_')) != NULL && last != text; *last = 0) {
    bool is_version = last[1] == 'v' && last[2] != 0 && strspn(last + 2, "0123456789") == strlen(last + 2);
    if (!is_version && strcmp(last, "_ptsz") != 0 && strcmp(last, "_ptds") != 0 && strcmp(last, "_spt") != 0)
      return;
  }
}

static bool is_wait(struct gaps_run *of, uint32_t row)
{
  uint32_t name = of->columns.spans.name[row];
  uint64_t *known = map_at(&of->waiting, map_number(name), NULL);
  if (*known == 0) {
    char plain[64];
    plain_name(store_text(of->columns.store, name, NULL), plain);
    *known = findings_name_matches(plain, waiting_names, sizeof waiting_names / sizeof waiting_names[0]) ? 1 : 2;
  }
  return *known == 1;
}

static void find_spans(struct gaps_run *of)
{
  const struct store_spans *spans = &of->columns.spans;
  uint32_t sync = run_columns_category(of->columns.store, "sync");
  for (uint32_t row = 0; row < spans->count; row++) {
    if (spans->level[row] != XSP_LEVEL_KERNEL || (spans->flags[row] & STORE_SPAN_OPEN) != 0 ||
        spans->duration_ns[row] < 0 || map_find(&of->devices, map_number(spans->track_id[row])) == NULL)
      continue;
    struct span span = {spans->start_ns[row], saturate_add(spans->start_ns[row], spans->duration_ns[row]), row,
                        ROW_NONE};
    if (spans->kind[row] == XSP_KIND_EXECUTION) {
      if (spans->category[row] != sync)
        *vector_add(&of->works) = span;
    } else {
      if (spans->kind[row] == XSP_KIND_LAUNCH && spans->correlation_id[row] != 0)
        *map_at(&of->launches, map_number((uint64_t)spans->correlation_id[row]), NULL) = (uint64_t)row + 1;
      if (is_wait(of, row))
        *vector_add(&of->waits) = span;
    }
  }
  vector_sort(&of->works, compare_spans);
  vector_sort(&of->waits, compare_spans);
  for (size_t i = 0; i < of->works.count; i++) {
    const uint64_t *launch =
        map_find(&of->launches, map_number((uint64_t)spans->correlation_id[of->works.items[i].row]));
    of->works.items[i].launch = launch == NULL ? ROW_NONE : (uint32_t)(*launch - 1);
  }
}

// The last call in which the launching thread waited when the devices ran out of work, and which returned before the launch: what
// other threads wait for does not hold the launch back. `*at`: waits that begin later.
static const struct span *wait_at(struct gaps_run *of, int64_t idle_ns, uint32_t launch, size_t *at)
{
  const struct store_spans *spans = &of->columns.spans;
  while (*at < of->waits.count && of->waits.items[*at].start_ns <= idle_ns) {
    uint64_t *begun = map_at(&of->begun, map_number(spans->track_id[of->waits.items[*at].row]), NULL);
    *begun = ++*at;
  }
  const uint64_t *begun = map_find(&of->begun, map_number(spans->track_id[launch]));
  const struct span *wait = begun != NULL ? &of->waits.items[*begun - 1] : NULL;
  return wait != NULL && wait->end_ns >= idle_ns && wait->end_ns <= spans->start_ns[launch] ? wait : NULL;
}

static void measure(struct gaps_run *of)
{
  const struct store_spans *spans = &of->columns.spans;
  struct findings *findings = of->findings;
  int64_t idle_ns = INT64_MIN; // no device works from here on
  size_t at = 0;
  for (size_t i = 0; i < of->works.count; i++) {
    const struct span *work = &of->works.items[i];
    uint32_t observation;
    bool is_kept = run_columns_observation(&of->columns, work->row, &observation) && of->is_kept[observation];
    int64_t begin_ns = is_kept ? of->run->observations[observation].start_ns : 0;
    int64_t from_ns = idle_ns > begin_ns ? idle_ns : begin_ns;
    if (is_kept && work->end_ns > idle_ns)
      of->gaps->executed_ns += (double)work->end_ns - (double)(work->start_ns > idle_ns ? work->start_ns : idle_ns);
    if (is_kept && work->launch != ROW_NONE && work->start_ns > from_ns && spans->start_ns[work->launch] >= from_ns) {
      const struct span *wait = wait_at(of, idle_ns, work->launch, &at);
      double gap_ns = (double)work->start_ns - (double)from_ns;
      uint32_t row = wait != NULL ? wait->row : work->launch;
      tally_add(findings, wait != NULL ? &of->gaps->waited : &of->gaps->late, of->place_of[row], gap_ns);
      of->gaps->waiting_ns += wait != NULL ? (double)wait->end_ns - (double)wait->start_ns : 0;
    }
    idle_ns = work->end_ns > idle_ns ? work->end_ns : idle_ns;
  }
}

static enum status load_run(struct gaps_run *of, struct arena *arena, struct error *err)
{
  enum {
    COLUMNS = STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_NAME) |
              STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_KIND) | STORE_BIT(STORE_CORRELATION_ID) |
              STORE_BIT(STORE_FLAGS) | STORE_BIT(STORE_TRACK_ID)
  };
  struct store *store = of->findings->question->view->store;
  size_t device_count;
  XSP_TRY(run_columns_load(of->findings->question, of->run, COLUMNS, arena, &of->columns, err));
  XSP_TRY(run_devices_load(store, of->run->run->run_id, arena, &of->devices, &device_count, err));
  find_spans(of);
  measure(of);
  return STATUS_OK;
}

enum status device_gaps_load(struct findings *findings, struct device_gaps *ret_gaps, struct error *err)
{
  const struct view_set *set = findings->set;
  const struct places *places;
  enum status status = STATUS_OK;
  size_t at = 0, work_count = 0;
  *ret_gaps = (struct device_gaps){0};
  XSP_TRY(findings_places(findings, &places, err));
  if (!places->has_devices)
    return findings_lack(findings, err, "nothing was executed on a device");
  for (size_t i = 0; i < set->run_count && status == STATUS_OK; i++) {
    struct arena arena SCOPED(arena_done) = {0};
    const struct view_run *run = set->runs[i];
    bool *is_kept = arena_alloc_array(&arena, run->observation_count + 1, sizeof *is_kept);
    for (size_t k = 0; k < run->observation_count; k++)
      if (!run->observations[k].warmup)
        is_kept[k] = set->is_kept[at++];
    struct gaps_run of = {
        .findings = findings, .run = run, .place_of = places->runs[i].place_of, .is_kept = is_kept, .gaps = ret_gaps};
    status = load_run(&of, &arena, err);
    work_count += of.works.count;
    vector_done(&of.works);
    vector_done(&of.waits);
    map_done(&of.launches);
    map_done(&of.waiting);
    map_done(&of.begun);
    map_done(&of.devices);
  }
  if (status == STATUS_OK && work_count == 0)
    return findings_lack(findings, err, NO_TIMES_OF_DEVICES);
  return status;
}
