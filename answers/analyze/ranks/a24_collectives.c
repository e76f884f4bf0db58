// SPDX-License-Identifier: Apache-2.0
// A24, collectives: by kind, process group, module, size class and line of the program.
#include "analyze/a_list.h"
#include "analyze/lines/paths.h"
#include "analyze/ranks/ranks.h"

#include "base/saturate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct key {
  uint32_t name, group, module, line; // string ids; context of the line, 0: unknown
  int size_class;                     // of bytes, by powers of two; -1: unknown
};
struct row {
  struct key key;
  size_t count, waits; // waits: of those whose ranks wait for each other, and were found on all
  int64_t parameters;  // the most; -1: unknown
  double bytes, latency_ns, waiting_ns, transfer_ns, run_ns, overlapped_ns;
  double bus_bytes, bus_ns; // of those with bytes
};
struct rows {
  const struct ranks *ranks;
  struct store_call_paths paths;
  VECTOR(struct row) items;
  bool has_lines;
};

static int size_class(int64_t bytes)
{
  return bytes > 0 ? 63 - __builtin_clzll((unsigned long long)bytes) : bytes == 0 ? 0 : -1;
}

// Bytes that each rank's link carries, for a byte of the rank's input, as NCCL's tests define bus bandwidth. `count`: of ranks.
static double bus_factor(const char *kind, double count)
{
  static const struct {
    const char *kind;
    double once, others; // once + others · (count - 1) / count, of the input
    bool is_gathered;    // of all ranks' inputs together
  } factors[] = {{"all_reduce", 0, 2, false}, {"allreduce", 0, 2, false},      {"all_gather", 0, 1, true},
                 {"allgather", 0, 1, true},   {"reduce_scatter", 0, 1, false}, {"reducescatter", 0, 1, false},
                 {"all_to_all", 0, 1, false}, {"alltoall", 0, 1, false},       {"gather", 0, 1, true},
                 {"scatter", 0, 1, false}};
  for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++)
    if (strstr(kind, factors[i].kind) != NULL)
      return (factors[i].once + factors[i].others * (count - 1) / count) * (factors[i].is_gathered ? count : 1);
  return 1; // broadcast, reduce, send
}

static struct row *row_of(struct rows *rows, const struct key *key)
{
  for (size_t i = 0; i < rows->items.count; i++)
    if (memcmp(&rows->items.items[i].key, key, sizeof *key) == 0)
      return &rows->items.items[i];
  struct row *row = vector_add(&rows->items);
  row->key = *key;
  row->parameters = -1;
  return row;
}

static void add(struct rows *rows, const struct collective *one)
{
  const struct ranks *ranks = rows->ranks;
  const struct key key = {.name = one->name,
                          .group = one->group,
                          .module = one->module,
                          .line = path_own_line(&rows->paths, one->context_id),
                          .size_class = size_class(one->bytes)};
  struct row *row = row_of(rows, &key);
  const struct collective_match *match = one->match != RANK_NONE ? &ranks->matches.items[one->match] : NULL;
  double transfer_ns = (double)collective_transfer_ns(one);
  rows->has_lines |= key.line != 0;
  row->count++;
  row->bytes += (double)one->bytes;
  row->parameters = one->parameters > row->parameters ? one->parameters : row->parameters;
  row->latency_ns += (double)saturate_subtract(one->end_ns, one->arrival_ns);
  row->run_ns += (double)saturate_subtract(one->end_ns, one->start_ns);
  row->overlapped_ns += (double)one->overlapped_ns;
  if (match == NULL)
    return;
  row->waits++;
  row->waiting_ns += (double)one->waiting_ns;
  row->transfer_ns += transfer_ns;
  if (one->bytes > 0) {
    row->bus_bytes += (double)one->bytes * bus_factor(ranks_collective_kind(ranks, one->name), match->count);
    row->bus_ns += transfer_ns;
  }
}

static struct table_cell text_cell(const struct question *question, uint32_t string) // 0: unknown
{
  const char *text = string != 0 ? store_text(question->view->store, string, NULL) : NULL;
  return cell_text(text != NULL ? arena_format(question->arena, "%s", text) : NULL);
}

static void put_row(const struct rows *rows, const struct row *row)
{
  struct question *question = rows->ranks->question;
  struct table_builder *table = &question->table;
  const struct store_frame *line = row->key.line != 0 ? path_frame(&rows->paths, row->key.line) : NULL;
  double count = (double)row->count, waits = row->waits > 0 ? (double)row->waits : NAN;
  table_row(table);
  table_put(table, "collective",
            cell_text(arena_format(table->arena, "%s", ranks_collective_kind(rows->ranks, row->key.name))));
  table_put(table, "group", text_cell(question, row->key.group));
  table_put_optional(table, "module", text_cell(question, row->key.module));
  table_put_optional(table, "parameters", cell_int_if(row->parameters >= 0, row->parameters));
  table_put(table, "bytes", cell_real(row->key.size_class >= 0 ? row->bytes / count : NAN));
  table_put(table, "count", cell_int((int64_t)row->count));
  table_put(table, "latency_ms", cell_real(row->latency_ns / count / 1e6));
  table_put(table, "waiting_ms", cell_real(row->waiting_ns / waits / 1e6));
  table_put(table, "transfer_ms", cell_real(row->transfer_ns / waits / 1e6));
  table_put_share(table, "overlap_pct", "collective", cell_real(analyze_share_pct(row->overlapped_ns, row->run_ns)));
  table_put(table, "bus_bandwidth_bytes_per_s", cell_real(row->bus_ns > 0 ? row->bus_bytes / row->bus_ns * 1e9 : NAN));
  table_put_optional(
      table, "file",
      cell_text(line != NULL && line->file != NULL ? arena_format(table->arena, "%s", line->file) : NULL));
  table_put_optional(table, "line", cell_int_if(line != NULL && line->line > 0, line != NULL ? line->line : 0));
}

static int compare_rows(const void *left, const void *right) // most time first
{
  const struct row *a = left, *b = right;
  if (a->latency_ns != b->latency_ns)
    return a->latency_ns > b->latency_ns ? -1 : 1;
  return memcmp(&a->key, &b->key, sizeof a->key);
}

static enum status put_rows(const struct ranks *ranks, struct error *err)
{
  struct rows rows = {.ranks = ranks};
  XSP_TRY(store_call_paths(ranks->question->view->store, ranks->question->scratch, &rows.paths, err));
  for (size_t i = 0; i < ranks->collectives.count; i++)
    add(&rows, &ranks->collectives.items[i]);
  qsort(rows.items.items, rows.items.count, sizeof *rows.items.items, compare_rows);
  for (size_t i = 0; i < rows.items.count; i++)
    put_row(&rows, &rows.items.items[i]);
  vector_done(&rows.items);
  return STATUS_OK;
}

static enum status answer(struct question *question, struct error *err)
{
  struct ranks ranks;
  enum status status = ranks_load(question, 2, &ranks, err);
  if (status == STATUS_OK && ranks.collectives.count == 0)
    status = question_lacks(question, err, "no collectives are recorded (docs/ranks.md says which are)");
  if (status == STATUS_OK) {
    question_uses(question, ranks.set);
    status = put_rows(&ranks, err);
  }
  ranks_done(&ranks);
  return status;
}

const struct analysis analysis_a24 = {.id = "A24",
                                      .name = "collectives",
                                      .title = "collectives between ranks",
                                      .needs = "M",
                                      .main_figure = "latency_ms",
                                      .detail = TRACE_EVERYTHING,
                                      .is_of_program = true,
                                      .answer = answer};
