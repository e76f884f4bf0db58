// SPDX-License-Identifier: Apache-2.0
// A24, collectives: by kind, process group, module, size class and line of the program.
#include "analyze/a_list.h"
#include "analyze/lines/paths.h"
#include "analyze/ranks/ranks.h"

#include "base/saturate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct row { // collectives of one key; they are together, those of a rank by their latency
  const struct collective *first, *end;
  int size_class;
  double latency_ms, waiting_ms, transfer_ms; // of those that the statistic keeps
  double run_ns, overlapped_ns, bus_bytes, bus_ns;
};
struct rows {
  const struct ranks *ranks;
  struct store_call_paths paths;
  VECTOR(struct row) items;
  double *latencies, *waits, *transfers; // room for the values of all collectives
};

static int size_class(int64_t bytes) // by powers of two; -1: unknown
{
  return bytes > 0 ? 63 - __builtin_clzll((unsigned long long)bytes) : bytes == 0 ? 0 : -1;
}

// Bytes that each rank's link carries, for a byte of the rank's input, as NCCL's tests define bus bandwidth. `count`: of ranks.
static double bus_factor(const char *name, double count)
{
  const struct collective_kind *kind = ranks_kind_of(name);
  return (kind->once + kind->others * (count - 1) / count) * (kind->is_gathered ? count : 1);
}

static int compare_keys(const struct collective *a, const struct collective *b)
{
  const int64_t differences[] = {(int64_t)a->name - b->name,        (int64_t)a->group - b->group,
                                 (int64_t)a->module - b->module,    (int64_t)a->context_id - b->context_id,
                                 a->is_scattered - b->is_scattered, size_class(a->bytes) - size_class(b->bytes)};
  for (size_t i = 0; i < sizeof differences / sizeof differences[0]; i++)
    if (differences[i] != 0)
      return differences[i] < 0 ? -1 : 1;
  return 0;
}

static int64_t latency_ns(const struct collective *of)
{
  return saturate_subtract(of->end_ns, of->arrival_ns);
}

static int compare_collectives(const void *left, const void *right)
{
  const struct collective *a = left, *b = right;
  int order = compare_keys(a, b);
  if (order == 0)
    order = (a->rank > b->rank) - (a->rank < b->rank);
  if (order == 0)
    order = (latency_ns(a) > latency_ns(b)) - (latency_ns(a) < latency_ns(b));
  return order != 0 ? order : (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static double figure(const struct question *question, const double *values, size_t count)
{
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += values[i];
  return count == 0                       ? NAN
         : question_is_by_value(question) ? question_statistic(question, values, count)
                                          : sum / (double)count;
}

// As A21 does among steps, the statistic chooses among the collectives of each rank by itself: else it would leave out those of the rank
// that comes first, or last.
static void add_row(struct rows *rows, const struct collective *first, const struct collective *end)
{
  const struct ranks *ranks = rows->ranks;
  const struct question *question = ranks->question;
  struct row row = {.first = first, .end = end, .size_class = size_class(first->bytes)};
  size_t count = 0, waits = 0;
  for (const struct collective *of_rank = first, *next; of_rank < end; of_rank = next) {
    for (next = of_rank + 1; next < end && next->rank == of_rank->rank;)
      next++;
    size_t cut = question_is_by_value(question) ? 0 : statistic_cut(&question->statistic, (size_t)(next - of_rank));
    for (const struct collective *one = of_rank + cut; one < next - cut; one++) {
      rows->latencies[count++] = (double)latency_ns(one) / 1e6;
      row.run_ns += (double)saturate_subtract(one->end_ns, one->start_ns);
      row.overlapped_ns += (double)one->overlapped_ns;
      const struct collective_match *match = one->match != RANK_NONE ? &ranks->matches.items[one->match] : NULL;
      if (match == NULL)
        continue;
      double transfer_ns = (double)collective_transfer_ns(one);
      rows->transfers[waits] = transfer_ns / 1e6;
      rows->waits[waits++] = (double)one->waiting_ns / 1e6;
      if (one->bytes <= 0)
        continue;
      row.bus_bytes += (double)one->bytes * bus_factor(ranks_collective_kind(ranks, one), match->count);
      row.bus_ns += transfer_ns;
    }
  }
  row.latency_ms = figure(question, rows->latencies, count);
  row.waiting_ms = figure(question, rows->waits, waits);
  row.transfer_ms = figure(question, rows->transfers, waits);
  *vector_add(&rows->items) = row;
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
  const struct collective *first = row->first;
  const struct store_frame *line = first->context_id != 0 ? path_frame(&rows->paths, first->context_id) : NULL;
  int64_t parameters = -1; // the most
  double bytes = 0, count = (double)(row->end - first);
  for (const struct collective *one = first; one < row->end; one++) {
    bytes += (double)one->bytes;
    parameters = one->parameters > parameters ? one->parameters : parameters;
  }
  table_row(table);
  table_put(table, "collective",
            cell_text(arena_format(table->arena, "%s", ranks_collective_kind(rows->ranks, first))));
  table_put(table, "group", text_cell(question, first->group));
  table_put_optional(table, "module", text_cell(question, first->module));
  table_put_optional(table, "parameters", cell_int_if(parameters >= 0, parameters));
  table_put(table, "bytes", cell_real(row->size_class >= 0 ? bytes / count : NAN));
  table_put(table, "count", cell_int(row->end - first));
  table_put(table, "latency_ms", cell_real(row->latency_ms));
  table_put(table, "waiting_ms", cell_real(row->waiting_ms));
  table_put(table, "transfer_ms", cell_real(row->transfer_ms));
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
  double a_ms = a->latency_ms * (double)(a->end - a->first), b_ms = b->latency_ms * (double)(b->end - b->first);
  if (a_ms != b_ms)
    return a_ms > b_ms ? -1 : 1;
  return compare_keys(a->first, b->first);
}

// Sorts the collectives, whose contexts become those of the program's lines.
static enum status put_rows(struct ranks *ranks, struct error *err)
{
  struct collective *all = ranks->collectives.items;
  size_t count = ranks->collectives.count;
  struct rows rows = {.ranks = ranks};
  XSP_TRY(store_call_paths(ranks->question->view->store, ranks->question->scratch, &rows.paths, err));
  for (size_t i = 0; i < count; i++)
    all[i].context_id = path_own_line(&rows.paths, all[i].context_id);
  qsort(all, count, sizeof *all, compare_collectives);
  double *room = memory_new(3 * count, sizeof *room);
  rows.latencies = room;
  rows.waits = room + count;
  rows.transfers = room + 2 * count;
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && compare_keys(&all[first], &all[end]) == 0;)
      end++;
    add_row(&rows, &all[first], &all[end]);
  }
  free(room);
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
