// SPDX-License-Identifier: Apache-2.0
// CSV of Nsight Compute: `ncu --csv --page raw`, a row a kernel, or the details page and --metrics, a row a metric. Kernels
// have durations and no starts: they are laid out in their order. See docs/importers.md.
#include "base/map.h"
#include "base/memory.h"
#include "importers/ncu/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS_MOST 4096 // `--set full` has some 1,500 columns

static int recognize(struct slice head, bool is_all)
{
  return slice_contains(head, "\"Kernel Name\"") && slice_contains(head, "\"Block Size\"") &&
                 slice_contains(head, "\"Grid Size\"")
             ? 3
             : 0;
}

enum column { // that are no metrics
  COLUMN_ID,
  COLUMN_PROCESS,
  COLUMN_HOST,
  COLUMN_NAME,
  COLUMN_CONTEXT,
  COLUMN_STREAM,
  COLUMN_BLOCK,
  COLUMN_GRID,
  COLUMN_DEVICE,
  COLUMN_CAPABILITY,
  COLUMN_METRIC, // of a row a metric
  COLUMN_UNIT,
  COLUMN_VALUE,
  COLUMN_NAMED, // how many have a meaning
  COLUMN_IGNORED = COLUMN_NAMED,
  COLUMN_IS_METRIC,
};
static const char *const column_names[COLUMN_NAMED] = {
    "ID",        "Process ID", "Host Name", "Kernel Name", "Context",     "Stream",      "Block Size",
    "Grid Size", "Device",     "CC",        "Metric Name", "Metric Unit", "Metric Value"};

struct reading {
  struct import *import;
  size_t cell_count;            // of a row; 0: no header yet
  size_t cells[COLUMN_NAMED];   // a column's place in a row; CELLS_MOST: the table lacks it
  uint32_t metrics[CELLS_MOST]; // what a column is called, where it is a metric; 0: it is none
  uint32_t units[CELLS_MOST];   // of these columns, by the row after the header
  bool awaits_units, is_by_metric;
  struct map tracks; // (process, device) and stream → track
  // The kernel whose rows are read:
  bool is_open;
  uint32_t id, process;
  struct store_span span;
  struct ncu_kernel kernel;
  int64_t last_span_id, placed_ns;
  uint64_t untimed;
};

static struct slice cell(const struct reading *reading, const struct slice *cells, enum column column)
{
  size_t place = reading->cells[column];
  return place == CELLS_MOST ? slice_of("") : cells[place];
}

static struct slice text_of(const struct reading *reading, uint32_t id)
{
  struct slice text;
  text.data = import_text(reading->import, id, &text.length);
  return text;
}

// ---- header ----------------------------------------------------------------------------------------------------------
static bool is_ignored(struct slice name)
{
  static const char *const names[] = {"Process Name", "Section Name", "Kernel Time", "NVTX", "Id:Domain"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (slice_is(name, names[i]))
      return true;
  // Rules of the details page are advice on a kernel, Push and Pop columns states of NVTX.
  return name.length == 0 || slice_starts_with(name, "Rule ") || slice_starts_with(name, "Estimated Speedup") ||
         slice_contains(name, ":Push/Pop_Range:") || slice_contains(name, ":Start/Stop_Range:");
}

static void begin_table(struct reading *reading, const struct slice *cells, size_t count)
{
  reading->cell_count = count;
  for (size_t c = 0; c < COLUMN_NAMED; c++)
    reading->cells[c] = CELLS_MOST;
  for (size_t i = 0; i < count; i++) {
    size_t c = 0;
    while (c < COLUMN_NAMED && !slice_is(cells[i], column_names[c]))
      c++;
    if (c < COLUMN_NAMED)
      reading->cells[c] = i;
    bool is_metric = c == COLUMN_NAMED && !is_ignored(cells[i]);
    reading->metrics[i] = is_metric ? import_slice(reading->import, cells[i]) : 0;
    reading->units[i] = 0;
  }
  reading->is_by_metric = reading->cells[COLUMN_METRIC] != CELLS_MOST;
  reading->awaits_units = !reading->is_by_metric;
}

// ---- kernels ---------------------------------------------------------------------------------------------------------
static enum status end_kernel(struct reading *reading, struct error *err)
{
  struct import *import = reading->import;
  if (!reading->is_open)
    return STATUS_OK;
  reading->is_open = false;
  ncu_put_sums(import, &reading->kernel, reading->span.span_id);
  reading->span.start_ns = reading->placed_ns;
  reading->span.duration_ns = reading->kernel.duration_ns;
  reading->untimed += !reading->kernel.has_duration;
  if (__builtin_add_overflow(reading->placed_ns, reading->span.duration_ns, &reading->placed_ns))
    return import_broken(import, err, input_offset(import->input, import->input->at),
                         "the times up to here are beyond 64 bits of nanoseconds");
  return import_span(import, &reading->span, err);
}

static enum status find_track(struct reading *reading, const struct slice *cells, uint32_t *ret_track_id,
                              struct error *err)
{
  struct store_track track = IMPORT_NO_PLACE;
  char name[96], host[256];
  (void)slice_int64(cell(reading, cells, COLUMN_PROCESS), &track.process_id);
  (void)slice_int64(cell(reading, cells, COLUMN_DEVICE), &track.device_id);
  (void)slice_int64(cell(reading, cells, COLUMN_STREAM), &track.stream_id);
  uint64_t device = import_slice(reading->import, cell(reading, cells, COLUMN_DEVICE));
  uint64_t context = import_slice(reading->import, cell(reading, cells, COLUMN_CONTEXT));
  uint64_t stream = import_slice(reading->import, cell(reading, cells, COLUMN_STREAM));
  struct slice host_name = cell(reading, cells, COLUMN_HOST);
  uint64_t *known = map_at(&reading->tracks,
                           (struct map_key){(uint64_t)reading->process << 32 | device, context << 32 | stream}, NULL);
  if (*known == 0) {
    snprintf(name, sizeof name, "GPU %" PRId64 " stream %" PRId64, track.device_id == STORE_NONE ? 0 : track.device_id,
             track.stream_id == STORE_NONE ? 0 : track.stream_id);
    snprintf(host, sizeof host, "%.*s", host_name.length < 255 ? (int)host_name.length : 255, host_name.data);
    track.name = name;
    track.host = host[0] != 0 ? host : NULL;
    XSP_TRY(import_track(reading->import, &track, ret_track_id, err));
    *known = *ret_track_id;
  }
  *ret_track_id = (uint32_t)*known;
  return STATUS_OK;
}

// "(128, 1, 1)" → "[128,1,1]".
static void tag_extent(struct reading *reading, const struct slice *cells, enum column column, const char *key)
{
  char text[80];
  size_t used = 0;
  struct slice extent = cell(reading, cells, column);
  for (size_t i = 0; i < extent.length && used + 1 < sizeof text; i++)
    if (extent.data[i] != ' ')
      text[used++] = extent.data[i] == '(' ? '[' : extent.data[i] == ')' ? ']' : extent.data[i];
  if (used > 2 && text[0] == '[' && text[used - 1] == ']')
    import_tag_bytes(reading->import, reading->span.span_id, import_word(reading->import, key), text, used);
}

// "relu(float *)" as nsys and CUPTI write it: "relu(float*)".
static uint32_t name_of(struct reading *reading, struct slice name)
{
  struct buf text SCOPED(buf_done) = {0};
  for (size_t i = 0; i < name.length; i++)
    if (name.data[i] != ' ' || i + 1 == name.length || (name.data[i + 1] != '*' && name.data[i + 1] != '&'))
      (void)buf_put(&text, &name.data[i], 1);
  return import_string(reading->import, text.data, text.length);
}

static enum status begin_kernel(struct reading *reading, const struct slice *cells, struct error *err)
{
  struct import *import = reading->import;
  struct slice capability = cell(reading, cells, COLUMN_CAPABILITY);
  char text[16];
  reading->kernel = (struct ncu_kernel){0};
  reading->span = (struct store_span){.span_id = ++reading->last_span_id,
                                      .level = XSP_LEVEL_KERNEL,
                                      .kind = XSP_KIND_EXECUTION,
                                      .flags = STORE_SPAN_PLACED,
                                      .category = import_word(import, "kernel"),
                                      .name = name_of(reading, cell(reading, cells, COLUMN_NAME))};
  XSP_TRY(find_track(reading, cells, &reading->span.track_id, err));
  reading->is_open = true;
  tag_extent(reading, cells, COLUMN_GRID, "grid");
  tag_extent(reading, cells, COLUMN_BLOCK, "block");
  if (capability.length > 0 && capability.length < sizeof text) {
    snprintf(text, sizeof text, "%.*s", (int)capability.length, capability.data);
    import_system_text(import, "gpu_compute_capability", text);
  }
  return STATUS_OK;
}

static enum status read_row(struct reading *reading, const struct slice *cells, struct error *err)
{
  struct import *import = reading->import;
  uint32_t id = import_slice(import, cell(reading, cells, COLUMN_ID));
  uint32_t process = import_slice(import, cell(reading, cells, COLUMN_PROCESS));
  bool is_same = reading->is_open && reading->is_by_metric && id == reading->id && process == reading->process;
  if (!is_same) {
    XSP_TRY(end_kernel(reading, err));
    reading->id = id;
    reading->process = process;
    XSP_TRY(begin_kernel(reading, cells, err));
  } else {
    import_joined(import);
  }
  if (reading->is_by_metric) {
    ncu_take_metric(import, &reading->kernel, reading->span.span_id, cell(reading, cells, COLUMN_METRIC),
                    cell(reading, cells, COLUMN_UNIT), cell(reading, cells, COLUMN_VALUE));
    return STATUS_OK;
  }
  for (size_t i = 0; i < reading->cell_count; i++)
    if (reading->metrics[i] != 0)
      ncu_take_metric(import, &reading->kernel, reading->span.span_id, text_of(reading, reading->metrics[i]),
                      text_of(reading, reading->units[i]), cells[i]);
  return STATUS_OK;
}

// ---- lines -----------------------------------------------------------------------------------------------------------
static enum status read_line(void *context, struct buf *line, struct error *err)
{
  struct reading *reading = context;
  struct slice cells[CELLS_MOST];
  size_t count = line->data[0] == '"' ? import_csv_cut(line->data, line->length, cells, CELLS_MOST) : 0;
  if (count > 3 && slice_is(cells[0], "ID")) {
    XSP_TRY(end_kernel(reading, err));
    begin_table(reading, cells, count);
    return STATUS_OK;
  }
  if (count == 0 || count != reading->cell_count) { // ==PROF==, or the program's own output
    import_skip(reading->import, "not a row of a table");
    return STATUS_OK;
  }
  if (reading->awaits_units && cells[0].length == 0) {
    for (size_t i = 0; i < count; i++)
      reading->units[i] = import_slice(reading->import, cells[i]);
    reading->awaits_units = false;
    return STATUS_OK;
  }
  return read_row(reading, cells, err);
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading *reading SCOPED(scoped_free) = memory_new(1, sizeof *reading);
  reading->import = import;
  import_run(import, &(struct store_run){.levels.metrics = true});
  enum status status = import_each_line(import, read_line, reading, err);
  if (status == STATUS_OK)
    status = end_kernel(reading, err);
  if (reading->untimed > 0)
    import_note(import, "%" PRIu64 " kernels have no duration: record metric gpu__time_duration.sum, too",
                reading->untimed);
  if (status == STATUS_OK)
    import_note(import,
                "kernels have no starts: they are one after the other, as long as Nsight Compute measured them with "
                "locked clocks and empty caches");
  map_done(&reading->tracks);
  return status;
}

const struct importer importer_ncu = {
    .name = "ncu",
    .summary = "CSV of Nsight Compute: kernels with their metrics",
    .recognize = recognize,
    .read = read_file,
};
