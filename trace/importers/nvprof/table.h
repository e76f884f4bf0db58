// SPDX-License-Identifier: Apache-2.0
// A table of nvprof's CSV: a line becomes cells, the header and the row of units become what its columns mean. Private to
// this folder. One thread at a time.
#ifndef XSP_IMPORTERS_NVPROF_TABLE_H
#define XSP_IMPORTERS_NVPROF_TABLE_H

#include "importers/importer.h"

#define NVPROF_CELLS_MOST 1024 // of a line; nvprof has some 150 metrics

enum nvprof_column {
  NVPROF_START,
  NVPROF_DURATION,
  NVPROF_GRID_X,
  NVPROF_GRID_Y,
  NVPROF_GRID_Z,
  NVPROF_BLOCK_X,
  NVPROF_BLOCK_Y,
  NVPROF_BLOCK_Z,
  NVPROF_REGISTERS,
  NVPROF_STATIC_SHARED,
  NVPROF_DYNAMIC_SHARED,
  NVPROF_SIZE,
  NVPROF_SOURCE_MEMORY,
  NVPROF_DESTINATION_MEMORY,
  NVPROF_DEVICE,
  NVPROF_CONTEXT,
  NVPROF_STREAM,
  NVPROF_NAME, // "Name" of traces, "Kernel" of metrics
  NVPROF_CORRELATION,
  NVPROF_COLUMNS,
};

struct nvprof_metric {
  size_t cell;   // its place in a row
  uint32_t key;  // of the tag
  double factor; // value × factor is what the tag counts
  bool is_known; // one of xsp's own tags, which are always numbers
};

struct nvprof_table {
  size_t cell_count;             // of each of its rows; 0: no table has begun
  bool is_timed;                 // has columns of times: a trace; else metrics of each kernel
  bool awaits_units;             // the next row may be the units
  size_t cells[NVPROF_COLUMNS];  // a column's place in a row; NVPROF_CELLS_MOST: the table lacks it
  int exponents[2];              // of start and duration: µs = value × 10^exponent
  double bytes[NVPROF_SIZE + 1]; // of one unit of a column of sizes
  struct nvprof_metric metrics[NVPROF_CELLS_MOST];
  size_t metric_count;
};

bool nvprof_is_header(const struct slice *cells, size_t count);
// Begins a table. STATUS_INPUT: one that is not of single calls, with what to run instead.
enum status nvprof_begin_table(struct nvprof_table *table, struct import *import, const struct slice *cells,
                               size_t count, struct error *err);
// The row after the header. False: it is not the row of units. STATUS_INPUT: a unit of time that does not exist.
enum status nvprof_take_units(struct nvprof_table *table, struct import *import, const struct slice *cells,
                              bool *ret_are_units, struct error *err);
// A cell of a row; empty where the table has no such column, or the row nothing in it.
struct slice nvprof_cell(const struct nvprof_table *table, const struct slice *cells, enum nvprof_column column);
// A metric's value by its units, as its tag counts it: "12.5%", "3.2GB/s". False: the cell is not such a number.
bool nvprof_number(const struct nvprof_metric *metric, struct slice cell, double *ret_number);

#endif
