// SPDX-License-Identifier: Apache-2.0
// CSV of nvprof, NVIDIA's profiler for Pascal and older: traces of the device and of calls, and metrics of each kernel. Rows
// of metrics have no times: they are laid out in their order, in a run of their own. See docs/importers.md.
#include "base/memory.h"
#include "importers/nvprof/spans.h"

#include <stdlib.h>

static int recognize(struct slice head, bool is_all)
{
  static const char *const headers[] = {"\"Start\",\"Duration\",", "\"Device\",\"Context\",\"Stream\",\"Kernel\"",
                                        "\"Device\",\"Kernel\",\"Invocations\"", "\"Type\",\"Time(%)\",",
                                        "\"Time(%)\",\"Time\",\"Calls\""};
  for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
    if (slice_contains(head, headers[i]))
      return 3;
  return 0;
}

// ---- lines -----------------------------------------------------------------------------------------------------------
// "==2119== Profiling result:", "======== Warning: …" where nvprof read a file of its own
static void read_banner(struct nvprof_reading *reading, struct slice line)
{
  struct slice text = slice_after(line, 2), process;
  if (!slice_cut(&text, '=', &process))
    return;
  while (text.length > 0 && (text.data[0] == '=' || text.data[0] == ' '))
    text = slice_after(text, 1);
  if (slice_ends_with(text, "result:")) { // a process writes its tables when it ends
    reading->process_id = STORE_NONE;
    (void)slice_int64(process, &reading->process_id);
    reading->table.cell_count = 0;
  } else if (slice_starts_with(text, "Warning: ")) {
    import_note(reading->import, "nvprof: %.*s", text.length < 400 ? (int)text.length - 9 : 391, text.data + 9);
  }
}

static enum status read_line(void *context, struct buf *text, struct error *err)
{
  struct nvprof_reading *reading = context;
  struct slice cells[NVPROF_CELLS_MOST], line = {text->data, text->length};
  struct nvprof_table *table = &reading->table;
  bool are_units;
  if (slice_trim(line).length == 0)
    return STATUS_OK;
  if (slice_starts_with(line, "==")) {
    read_banner(reading, line);
    return STATUS_OK;
  }
  size_t count = import_csv_cut(text->data, text->length, cells, NVPROF_CELLS_MOST);
  if (nvprof_is_header(cells, count))
    return nvprof_begin_table(table, reading->import, cells, count, err);
  if (count == 0 || count != table->cell_count) { // a program's own text, where its output is in the same file
    import_skip(reading->import, "not a row of a table");
    return STATUS_OK;
  }
  if (table->awaits_units) {
    XSP_TRY(nvprof_take_units(table, reading->import, cells, &are_units, err));
    if (are_units)
      return STATUS_OK;
  }
  return nvprof_read_row(reading, cells, err);
}

static enum status read_file(struct import *import, struct error *err)
{
  struct nvprof_reading *reading SCOPED(scoped_free) = memory_new(1, sizeof *reading);
  *reading = (struct nvprof_reading){.import = import, .process_id = STORE_NONE};
  enum status status = import_each_line(import, read_line, reading, err);
  if (reading->runs[1].run_id != 0)
    import_note(import,
                "metrics have no times: kernels are in their order, without length; import the file together with "
                "nvprof --print-gpu-trace of the same program");
  if (reading->processes.count > 1)
    import_note(import, "%zu processes, each with times from its own start", reading->processes.count);
  if (reading->runs[0].run_id == 0 && reading->runs[1].run_id == 0)
    import_run(import, &(struct store_run){0});
  map_done(&reading->tracks);
  map_done(&reading->processes);
  return status;
}

const struct importer importer_nvprof = {
    .name = "nvprof",
    .summary = "CSV of nvprof: traces, and metrics of each kernel",
    .recognize = recognize,
    .read = read_file,
};
