// SPDX-License-Identifier: Apache-2.0
// Reads the executions that belong to layers, before and after the layers' own times are known. Called by rows.c.
#include "analyze/layers/device_time.h"

#include "analyze/layers/busy.h"
#include "base/saturate.h"

#include <string.h>

static bool is_execution_of_layer(const struct run_columns *columns, const uint32_t *counts_as, size_t row,
                                  uint32_t *ret_layer)
{
  if (columns->spans.kind[row] != XSP_KIND_EXECUTION || !device_row_counts(columns, row) ||
      (columns->spans.flags[row] & STORE_SPAN_OPEN))
    return false;
  uint32_t layer = run_columns_row(columns, columns->derived.layer_id[row]);
  *ret_layer = layer == ROW_NONE ? ROW_NONE : counts_as[layer];
  return *ret_layer != ROW_NONE;
}

static uint32_t process_at(const struct device_time *of, uint32_t track_id)
{
  const uint64_t *process = map_find(&of->process_of, map_number(track_id));
  return process == NULL ? 0 : (uint32_t)*process;
}

static struct busy_interval interval_of(int64_t start_ns, int64_t duration_ns)
{
  return (struct busy_interval){start_ns, saturate_add(start_ns, duration_ns), 0};
}

// A condensed trace has the sums at the starts and ends of layers, and they are asked for nowhere else. An entry without length just
// before each gives them.
static void load_condensed(const struct run_columns *columns, const uint32_t *counts_as, struct arena *arena,
                           struct device_time *ret)
{
  const struct store_spans *spans = &columns->spans;
  const int64_t *sums[] = {columns->condensed[CONDENSED_BUSY_START], columns->condensed[CONDENSED_BUSY_END]};
  for (size_t i = 0; i < spans->count; i++) {
    if (spans->level[i] != XSP_LEVEL_LAYER || counts_as[i] != i || sums[0] == NULL || sums[0][i] < 0)
      continue;
    struct busy *of = &ret->of[process_at(ret, spans->track_id[i])];
    if (of->items == NULL)
      of->items = arena_alloc_array(arena, 2 * spans->count, sizeof *of->items);
    for (size_t k = 0; k < 2; k++) {
      int64_t at_ns = saturate_add(spans->start_ns[i], k == 0 ? 0 : spans->duration_ns[i]) - 1;
      of->items[of->count++] = (struct busy_interval){at_ns, at_ns, sums[k] == NULL ? 0 : sums[k][i]};
    }
  }
  for (size_t p = 0; p <= ret->process_count; p++)
    busy_sort(&ret->of[p]);
}

enum status device_time_load(const struct run_columns *columns, const uint32_t *counts_as, struct arena *arena,
                             struct device_time *ret, struct error *err)
{
  const struct store_spans *spans = &columns->spans;
  uint32_t layer;
  *ret = (struct device_time){0};
  XSP_TRY(
      run_processes_load(columns->store, columns->run->run->run_id, arena, &ret->process_of, &ret->process_count, err));
  size_t processes = ret->process_count + 1; // one more where no track is known
  ret->of = arena_alloc_array(arena, processes, sizeof *ret->of);
  if (run_columns_are_condensed(columns)) {
    load_condensed(columns, counts_as, arena, ret);
    return STATUS_OK;
  }
  size_t *first = arena_alloc_array(arena, processes + 2, sizeof *first);
  for (size_t i = 0; i < spans->count; i++)
    if (is_execution_of_layer(columns, counts_as, i, &layer))
      first[process_at(ret, spans->track_id[layer]) + 2]++;
  for (size_t p = 2; p < processes + 2; p++) // first[p + 1] is where the next of process p goes
    first[p] += first[p - 1];
  struct busy_interval *intervals = arena_alloc_array(arena, first[processes + 1] + 1, sizeof *intervals);
  for (size_t i = 0; i < spans->count; i++)
    if (is_execution_of_layer(columns, counts_as, i, &layer))
      intervals[first[process_at(ret, spans->track_id[layer]) + 1]++] =
          interval_of(spans->start_ns[i], spans->duration_ns[i]);
  for (size_t p = 0; p < processes; p++)
    ret->of[p] = busy_of(intervals + first[p], first[p + 1] - first[p]);
  return STATUS_OK;
}

void device_time_done(struct device_time *of)
{
  map_done(&of->process_of);
}

int64_t device_time_within_ns(const struct device_time *of, uint32_t track_id, int64_t from_ns, int64_t to_ns)
{
  return busy_within_ns(&of->of[process_at(of, track_id)], from_ns, to_ns);
}

// Unions by layer, and how much of the executions comes after their layer returned. Device rows are sorted by start.
static void find_executed(struct layer_rows *rows, struct arena *arena)
{
  int64_t *reach_ns = arena_alloc_array(arena, rows->count + 1, sizeof *reach_ns);
  for (size_t i = 0; i < rows->count; i++)
    reach_ns[i] = INT64_MIN;
  for (size_t i = 0; i < rows->devices.count; i++) {
    const struct device_row *device = &rows->devices.items[i];
    if (!device->is_execution || device->item == ROW_NONE)
      continue;
    const struct layer_row *item = &rows->items[device->item];
    struct layer_device_time *time = &rows->device_times[device->item];
    int64_t end_ns = saturate_add(device->start_ns, device->duration_ns);
    int64_t returned_ns = saturate_add(item->start_ns, item->duration_ns);
    int64_t late_from_ns = device->start_ns > returned_ns ? device->start_ns : returned_ns;
    int64_t new_from_ns = device->start_ns > reach_ns[device->item] ? device->start_ns : reach_ns[device->item];
    rows->executed_ms += (double)device->duration_ns / 1e6;
    rows->late_ms += end_ns > late_from_ns ? (double)(end_ns - late_from_ns) / 1e6 : 0;
    if (end_ns <= new_from_ns)
      continue;
    time->executed_ns = saturate_add(time->executed_ns, end_ns - new_from_ns);
    reach_ns[device->item] = end_ns;
  }
}

// Per observation: while some layer is on the host or executes.
static void find_covered(const struct run_columns *columns, const struct layer_span *layers, size_t layer_count,
                         const struct device_time *of, struct arena *arena, struct layer_rows *rows)
{
  size_t count = layer_count;
  for (size_t p = 0; p <= of->process_count; p++)
    count += of->of[p].count;
  struct busy_interval *intervals = arena_alloc_array(arena, count + 1, sizeof *intervals);
  count = 0;
  for (size_t i = 0; i < layer_count; i++)
    intervals[count++] = interval_of(layers[i].start_ns, layers[i].duration_ns);
  for (size_t p = 0; p <= of->process_count; p++) {
    if (of->of[p].count > 0)
      memcpy(intervals + count, of->of[p].items, of->of[p].count * sizeof *intervals);
    count += of->of[p].count;
  }
  struct busy covered = busy_of(intervals, count);
  for (size_t k = 0; k < columns->run->observation_count; k++) {
    const struct store_observation *observation = &columns->run->observations[k];
    int64_t end_ns = saturate_add(observation->start_ns, observation->duration_ns);
    rows->covered_ms[k] = (double)busy_within_ns(&covered, observation->start_ns, end_ns) / 1e6;
  }
}

static int64_t condensed_at(const struct run_columns *columns, enum trace_condensed which, uint32_t row)
{
  return row == ROW_NONE || columns->condensed[which] == NULL ? -1 : columns->condensed[which][row];
}

static double condensed_ms(const struct run_columns *columns, enum trace_condensed which, uint32_t row)
{
  int64_t ns = condensed_at(columns, which, row);
  return ns > 0 ? (double)ns / 1e6 : 0;
}

// All of this as the source of a condensed trace added it up.
static void take_condensed(const struct run_columns *columns, struct layer_rows *rows)
{
  const struct view_run *run = columns->run;
  for (size_t k = 0; k < run->observation_count; k++) {
    uint32_t row = run_columns_row(columns, run->observations[k].span_id);
    rows->gpu_ns[k] = condensed_at(columns, CONDENSED_GPU, row);
    rows->covered_ms[k] = condensed_ms(columns, CONDENSED_COVERED, row);
  }
  for (size_t i = 0; i < rows->count; i++) {
    const struct layer_row *item = &rows->items[i];
    struct layer_device_time *time = &rows->device_times[i];
    time->gpu_ns = condensed_at(columns, CONDENSED_GPU, item->row);
    if (run->observations[item->observation].warmup)
      continue;
    int64_t executed_ns = condensed_at(columns, CONDENSED_EXECUTED, item->row);
    time->executed_ns = executed_ns > 0 ? executed_ns : 0;
    rows->executed_ms += condensed_ms(columns, CONDENSED_SUM, item->row);
    rows->late_ms += condensed_ms(columns, CONDENSED_LATE, item->row);
  }
}

void device_time_finish(const struct run_columns *columns, const struct layer_span *layers, size_t layer_count,
                        const struct device_time *of, struct arena *arena, struct layer_rows *rows)
{
  if (run_columns_are_condensed(columns)) {
    take_condensed(columns, rows);
    return;
  }
  find_executed(rows, arena);
  find_covered(columns, layers, layer_count, of, arena, rows);
}
