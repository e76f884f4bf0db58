// SPDX-License-Identifier: Apache-2.0
// Executions, calls and metrics of nvprof's rows; see spans.h. Called by nvprof.c for each row.
#include "importers/nvprof/spans.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static uint32_t word(struct nvprof_reading *reading, const char *text)
{
  return import_word(reading->import, text);
}

// ---- runs, tracks, correlation ---------------------------------------------------------------------------------------
static void begin_span(struct nvprof_reading *reading, struct store_span *span)
{
  bool has_metrics = !reading->table.is_timed;
  int64_t *run_id = &reading->runs[has_metrics].run_id;
  if (*run_id == 0)
    *run_id = import_run(reading->import, &(struct store_run){.levels.metrics = has_metrics});
  import_use_run(reading->import, *run_id);
  span->span_id = ++reading->runs[has_metrics].last_span_id;
}

static uint64_t process_number(struct nvprof_reading *reading)
{
  uint64_t *number = map_at(&reading->processes, map_number((uint64_t)reading->process_id), NULL);
  if (*number == 0)
    *number = reading->processes.count;
  return *number;
}

static enum status find_track(struct nvprof_reading *reading, const char *name, int64_t context,
                              struct store_track *track, uint32_t *ret_track_id, struct error *err)
{
  uint64_t run = reading->table.is_timed;
  struct map_key key = {run << 32 | word(reading, name), process_number(reading) << 32 | (uint32_t)context};
  uint64_t *known = map_at(&reading->tracks, key, NULL);
  if (*known == 0) {
    track->name = name;
    track->process_id = reading->process_id;
    XSP_TRY(import_track(reading->import, track, ret_track_id, err));
    *known = *ret_track_id;
  }
  *ret_track_id = (uint32_t)*known;
  return STATUS_OK;
}

// Ids repeat between processes: those of the second and later are renumbered.
static void correlate(struct nvprof_reading *reading, struct slice recorded, struct store_span *span)
{
  int64_t id;
  if (span->correlation_id != 0 || !slice_int64(recorded, &id) || id < 1 || id > UINT32_MAX)
    return;
  uint64_t number = process_number(reading) - 1;
  span->correlation_id = (int64_t)(number << 32 | (uint64_t)id);
  if (number > 0)
    import_tag_int(reading->import, span->span_id, word(reading, "recorded_correlation"), id);
}

// Older versions put the id behind the name: "kernel(int) [171]", "cudaLaunch (kernel(int) [171])". Returns the name alone.
static struct slice name_of(struct nvprof_reading *reading, struct slice name, struct store_span *span)
{
  bool is_call = slice_ends_with(name, "])");
  size_t open = name.length;
  while (open > 0 && name.data[open - 1] != '[')
    open--;
  if (open < 2 || name.data[open - 2] != ' ' || !slice_ends_with(name, is_call ? "])" : "]"))
    return name;
  struct slice id = {name.data + open, name.length - open - 1 - is_call};
  int64_t number;
  if (!slice_int64(id, &number))
    return name;
  correlate(reading, id, span);
  const char *kernel = is_call ? memmem(name.data, open, " (", 2) : NULL;
  return (struct slice){name.data, kernel != NULL ? (size_t)(kernel - name.data) : open - 2};
}

// ---- executions ------------------------------------------------------------------------------------------------------
// "Tesla K20c (0)"
static int64_t device_of(struct nvprof_reading *reading, struct slice device)
{
  int64_t number;
  size_t open = device.length;
  while (open > 0 && device.data[open - 1] != '(')
    open--;
  if (open < 2 || !slice_ends_with(device, ")") ||
      !slice_int64((struct slice){device.data + open, device.length - open - 1}, &number))
    return STORE_NONE;
  char name[128];
  snprintf(name, sizeof name, "%.*s", open - 2 < sizeof name ? (int)(open - 2) : (int)sizeof name - 1, device.data);
  import_system_text(reading->import, "gpu", name);
  return number;
}

static enum status stream_track(struct nvprof_reading *reading, const struct slice *cells, uint32_t *ret_track_id,
                                struct error *err)
{
  const struct nvprof_table *table = &reading->table;
  struct store_track track = IMPORT_NO_PLACE;
  int64_t context = 0;
  char name[96];
  (void)slice_int64(nvprof_cell(table, cells, NVPROF_CONTEXT), &context);
  track.device_id = device_of(reading, nvprof_cell(table, cells, NVPROF_DEVICE));
  if (slice_int64(nvprof_cell(table, cells, NVPROF_STREAM), &track.stream_id))
    snprintf(name, sizeof name, "GPU %" PRId64 " stream %" PRId64, track.device_id == STORE_NONE ? 0 : track.device_id,
             track.stream_id);
  else
    snprintf(name, sizeof name, "GPU %" PRId64, track.device_id == STORE_NONE ? 0 : track.device_id);
  return find_track(reading, name, context, &track, ret_track_id, err);
}

// "[50,4,1]"; nothing where a number is missing.
static void tag_three(struct nvprof_reading *reading, const struct slice *cells, enum nvprof_column first,
                      int64_t span_id, const char *key)
{
  int64_t numbers[3];
  char text[72];
  for (unsigned i = 0; i < 3; i++)
    if (!slice_int64(nvprof_cell(&reading->table, cells, (enum nvprof_column)(first + i)), &numbers[i]))
      return;
  int length = snprintf(text, sizeof text, "[%" PRId64 ",%" PRId64 ",%" PRId64 "]", numbers[0], numbers[1], numbers[2]);
  import_tag_bytes(reading->import, span_id, word(reading, key), text, (size_t)length);
}

// Bytes of a size, which is rounded to six decimals of its unit. NaN: none.
static double size_of(const struct nvprof_reading *reading, const struct slice *cells, enum nvprof_column column)
{
  const struct nvprof_metric size = {.factor = reading->table.bytes[column]};
  double bytes;
  return nvprof_number(&size, nvprof_cell(&reading->table, cells, column), &bytes) && fabs(bytes) < 0x1p53 ? rint(bytes)
                                                                                                           : NAN;
}

// "Low (2)" and the like are texts; what is not a number is missing in a tag of xsp's own.
static void tag_metrics(struct nvprof_reading *reading, const struct slice *cells, int64_t span_id)
{
  for (size_t i = 0; i < reading->table.metric_count; i++) {
    const struct nvprof_metric *metric = &reading->table.metrics[i];
    struct slice cell = cells[metric->cell];
    double number;
    if (nvprof_number(metric, cell, &number))
      import_tag_number(reading->import, span_id, metric->key, number);
    else if (!metric->is_known && cell.length > 0 && !slice_is(cell, "-"))
      import_tag_text(reading->import, span_id, metric->key, import_slice(reading->import, cell));
  }
}

static void tag_kernel(struct nvprof_reading *reading, const struct slice *cells, int64_t span_id)
{
  int64_t registers;
  tag_three(reading, cells, NVPROF_GRID_X, span_id, "grid");
  tag_three(reading, cells, NVPROF_BLOCK_X, span_id, "block");
  if (slice_int64(nvprof_cell(&reading->table, cells, NVPROF_REGISTERS), &registers))
    import_tag_int(reading->import, span_id, word(reading, "registers"), registers);
  import_tag_number(reading->import, span_id, word(reading, "shared_bytes"),
                    size_of(reading, cells, NVPROF_STATIC_SHARED) + size_of(reading, cells, NVPROF_DYNAMIC_SHARED));
  tag_metrics(reading, cells, span_id);
}

// "[CUDA memcpy HtoD]", named as other importers do: "Memcpy HtoD (Pageable -> Device)".
static void copy_or_set(struct nvprof_reading *reading, const struct slice *cells, struct slice name,
                        struct store_span *span)
{
  static const char copy[] = "[CUDA memcpy ", set[] = "[CUDA memset";
  struct slice from = nvprof_cell(&reading->table, cells, NVPROF_SOURCE_MEMORY);
  struct slice to = nvprof_cell(&reading->table, cells, NVPROF_DESTINATION_MEMORY);
  char text[192];
  bool is_copy = slice_starts_with(name, copy);
  if (is_copy) {
    struct slice kind = slice_after(name, strlen(copy));
    kind.length -= kind.length > 0;
    int used = snprintf(text, sizeof text, "Memcpy %.*s", kind.length < 40 ? (int)kind.length : 40, kind.data);
    if (from.length > 0 && to.length > 0 && from.length < 40 && to.length < 40)
      snprintf(text + used, sizeof text - (size_t)used, " (%.*s -> %.*s)", (int)from.length, from.data, (int)to.length,
               to.data);
    import_tag_text(reading->import, span->span_id, word(reading, "copy_kind"), import_slice(reading->import, kind));
  } else if (from.length > 0 && from.length < 40) {
    snprintf(text, sizeof text, "Memset (%.*s)", (int)from.length, from.data);
  } else {
    snprintf(text, sizeof text, "Memset");
  }
  bool is_known = is_copy || slice_starts_with(name, set);
  span->category = word(reading, !is_known ? "other" : is_copy ? "memcpy" : "memset");
  span->name = is_known ? word(reading, text) : import_slice(reading->import, name);
  import_tag_number(reading->import, span->span_id, word(reading, "bytes"), size_of(reading, cells, NVPROF_SIZE));
}

static enum status read_execution(struct nvprof_reading *reading, const struct slice *cells, struct store_span *span,
                                  struct error *err)
{
  XSP_TRY(stream_track(reading, cells, &span->track_id, err));
  span->kind = XSP_KIND_EXECUTION;
  struct slice name = name_of(reading, nvprof_cell(&reading->table, cells, NVPROF_NAME), span);
  if (slice_starts_with(name, "[")) {
    copy_or_set(reading, cells, name, span);
    return STATUS_OK;
  }
  span->category = word(reading, "kernel");
  span->name = import_slice(reading->import, name);
  tag_kernel(reading, cells, span->span_id);
  return STATUS_OK;
}

// nvprof does not record the thread.
static enum status read_call(struct nvprof_reading *reading, const struct slice *cells, struct store_span *span,
                             struct error *err)
{
  struct store_track track = IMPORT_NO_PLACE;
  XSP_TRY(find_track(reading, "calls", 0, &track, &span->track_id, err));
  span->kind = XSP_KIND_SYNC;
  span->flags = STORE_SPAN_CALL;
  span->category = word(reading, "api");
  span->name = import_slice(reading->import, name_of(reading, nvprof_cell(&reading->table, cells, NVPROF_NAME), span));
  return STATUS_OK;
}

// ---- rows ------------------------------------------------------------------------------------------------------------
enum status nvprof_read_row(struct nvprof_reading *reading, const struct slice *cells, struct error *err)
{
  struct store_span span = {.level = XSP_LEVEL_KERNEL};
  bool has_times = true;
  const struct nvprof_table *table = &reading->table;
  if (table->is_timed)
    XSP_TRY(import_decimal_times(
        reading->import,
        (struct import_decimal){nvprof_cell(table, cells, NVPROF_START), table->exponents[NVPROF_START]},
        (struct import_decimal){nvprof_cell(table, cells, NVPROF_DURATION), table->exponents[NVPROF_DURATION]}, &span,
        &has_times, err));
  if (!has_times)
    return STATUS_OK;
  begin_span(reading, &span);
  if (!reading->table.is_timed) {
    span.flags = STORE_SPAN_PLACED;
    span.start_ns = span.span_id - 1;
  }
  if (reading->table.is_timed && nvprof_cell(&reading->table, cells, NVPROF_DEVICE).length == 0)
    XSP_TRY(read_call(reading, cells, &span, err));
  else
    XSP_TRY(read_execution(reading, cells, &span, err));
  correlate(reading, nvprof_cell(&reading->table, cells, NVPROF_CORRELATION), &span);
  return import_span(reading->import, &span, err);
}
