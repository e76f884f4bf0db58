// SPDX-License-Identifier: Apache-2.0
// Lines, columns, units and numbers of nvprof's CSV; see table.h. Called by nvprof.c.
#include "importers/nvprof/table.h"

#include "importers/text_file.h"

#include <math.h>

#define KIB 1024.0 // nvprof's KB: 1,028 bytes are 1.003906 of it
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)

// ---- columns ---------------------------------------------------------------------------------------------------------
static const char *const column_names[NVPROF_COLUMNS] = {"Start",         "Duration",     "Grid X",
                                                         "Grid Y",        "Grid Z",       "Block X",
                                                         "Block Y",       "Block Z",      "Registers Per Thread",
                                                         "Static SMem",   "Dynamic SMem", "Size",
                                                         "SrcMemType",    "DstMemType",   "Device",
                                                         "Context",       "Stream",       "Name",
                                                         "Correlation_ID"};

// In traces besides; neither metrics nor of use.
static bool is_ignored(struct slice name)
{
  static const char *const names[] = {"Throughput", "Src Dev",        "Src Ctx",        "Dst Dev",
                                      "Dst Ctx",    "Unified Memory", "Virtual Address"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (slice_is(name, names[i]))
      return true;
  return name.length == 0;
}

// nvprof's metrics that are xsp's. A transaction with DRAM has 32 bytes.
static const struct {
  const char *name, *key;
  double factor;
} known_metrics[] = {
    {"flop_count_sp", "flops_single", 1},
    {"flop_count_dp", "flops_double", 1},
    {"flop_count_hp", "flops_half", 1},
    {"dram_read_bytes", "dram_read_bytes", 1},
    {"dram_write_bytes", "dram_write_bytes", 1},
    {"dram_read_transactions", "dram_read_bytes", 32},
    {"dram_write_transactions", "dram_write_bytes", 32},
    {"achieved_occupancy", "achieved_occupancy_pct", 100},
};

static bool has_column(const struct slice *cells, size_t count, const char *name)
{
  for (size_t i = 0; i < count; i++)
    if (slice_is(cells[i], name))
      return true;
  return false;
}

static void add_metric(struct nvprof_table *table, struct import *import, const struct slice *cells, size_t count,
                       size_t cell)
{
  struct nvprof_metric *metric = &table->metrics[table->metric_count++];
  *metric = (struct nvprof_metric){.cell = cell, .factor = 1};
  for (size_t i = 0; i < sizeof known_metrics / sizeof known_metrics[0]; i++) {
    // Bytes are believed before transactions.
    bool is_second = known_metrics[i].factor == 32 && has_column(cells, count, known_metrics[i].key);
    if (!slice_is(cells[cell], known_metrics[i].name) || is_second)
      continue;
    metric->key = import_word(import, known_metrics[i].key);
    metric->factor = known_metrics[i].factor;
    metric->is_known = true;
  }
  if (!metric->is_known)
    metric->key = import_slice(import, cells[cell]);
}

bool nvprof_is_header(const struct slice *cells, size_t count)
{
  return count > 2 && (slice_is(cells[0], "Start") || slice_is(cells[0], "Device") || slice_is(cells[0], "Type") ||
                       slice_is(cells[0], "Time(%)"));
}

enum status nvprof_begin_table(struct nvprof_table *table, struct import *import, const struct slice *cells,
                               size_t count, struct error *err)
{
  bool is_trace = slice_is(cells[0], "Start");
  if (!is_trace && (!slice_is(cells[0], "Device") || has_column(cells, count, "Invocations")))
    return error_set(err, STATUS_INPUT, "cannot import", import->input->path,
                     has_column(cells, count, "Invocations")
                         ? "nvprof --print-gpu-trace --csv with the same --metrics or --events"
                         : "nvprof --print-gpu-trace --csv, or --print-api-trace --csv",
                     "it is a summary of nvprof, without single calls");
  *table = (struct nvprof_table){.cell_count = count, .is_timed = is_trace, .awaits_units = true};
  for (size_t c = 0; c < NVPROF_COLUMNS; c++)
    table->cells[c] = NVPROF_CELLS_MOST;
  for (size_t i = 0; i < count; i++) {
    size_t c = 0;
    while (c < NVPROF_COLUMNS && !slice_is(cells[i], column_names[c]))
      c++;
    if (slice_is(cells[i], "Kernel"))
      c = NVPROF_NAME;
    if (c < NVPROF_COLUMNS)
      table->cells[c] = i;
    else if (!is_ignored(cells[i]))
      add_metric(table, import, cells, count, i);
  }
  for (size_t c = 0; c <= NVPROF_SIZE; c++)
    table->bytes[c] = 1;
  if (table->cells[NVPROF_NAME] == NVPROF_CELLS_MOST ||
      (is_trace && table->cells[NVPROF_DURATION] == NVPROF_CELLS_MOST))
    return error_set(err, STATUS_INPUT, "cannot import", import->input->path, NULL, "a table of nvprof lacks column %s",
                     is_trace ? "Name or Duration" : "Kernel");
  return STATUS_OK;
}

// ---- units -----------------------------------------------------------------------------------------------------------
static bool size_unit(struct slice unit, double *ret_bytes)
{
  static const struct {
    const char *name;
    double bytes;
  } units[] = {{"B", 1}, {"KB", KIB}, {"MB", MIB}, {"GB", GIB}};
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (slice_is(unit, units[i].name)) {
      *ret_bytes = units[i].bytes;
      return true;
    }
  return false;
}

// "GB/s", "KB", "%".
static bool metric_unit(struct slice unit, double *ret_factor, bool *ret_is_percent)
{
  *ret_is_percent = slice_is(unit, "%");
  *ret_factor = 1;
  if (slice_ends_with(unit, "/s"))
    unit.length -= 2;
  return unit.length == 0 || *ret_is_percent || size_unit(unit, ret_factor);
}

enum status nvprof_take_units(struct nvprof_table *table, struct import *import, const struct slice *cells,
                              bool *ret_are_units, struct error *err)
{
  table->awaits_units = false;
  // A row of metrics names a kernel; a trace always has its units.
  *ret_are_units = table->is_timed || nvprof_cell(table, cells, NVPROF_NAME).length == 0;
  for (size_t c = NVPROF_START; table->is_timed && c <= NVPROF_DURATION; c++) {
    struct slice unit = cells[table->cells[c]];
    if (!import_time_unit(unit, &table->exponents[c]))
      return import_broken(import, err, input_offset(import->input, import->input->at),
                           "'%.*s' is not a unit of times (s, ms, us or ns)", unit.length < 40 ? (int)unit.length : 40,
                           unit.data);
  }
  for (size_t c = NVPROF_STATIC_SHARED; c <= NVPROF_SIZE; c++)
    (void)size_unit(nvprof_cell(table, cells, (enum nvprof_column)c), &table->bytes[c]);
  for (size_t i = 0; *ret_are_units && i < table->metric_count; i++) {
    double factor;
    bool is_percent;
    struct nvprof_metric *metric = &table->metrics[i];
    if (metric_unit(cells[metric->cell], &factor, &is_percent))
      metric->factor *= is_percent && metric->is_known ? 0.01 : factor;
  }
  return STATUS_OK;
}

// ---- cells -----------------------------------------------------------------------------------------------------------
struct slice nvprof_cell(const struct nvprof_table *table, const struct slice *cells, enum nvprof_column column)
{
  size_t place = table->cells[column];
  return place == NVPROF_CELLS_MOST ? (struct slice){"", 0} : cells[place];
}

bool nvprof_number(const struct nvprof_metric *metric, struct slice cell, double *ret_number)
{
  struct slice unit;
  double factor;
  bool is_percent;
  if (!import_number(cell, ret_number, &unit) || !metric_unit(unit, &factor, &is_percent))
    return false;
  *ret_number *= metric->factor * (is_percent && metric->is_known ? 0.01 : factor);
  return isfinite(*ret_number);
}
