// SPDX-License-Identifier: Apache-2.0
// A24, collectives: by kind, process group, module, size class and line of the program.
#include "analyze/a_list.h"
#include "analyze/lines/paths.h"
#include "analyze/ranks/ranks.h"

#include "base/saturate.h"
#include "base/sorted.h"

#include <math.h>
#include <string.h>

struct row {               // collectives of one key
  struct collective first; // context_id: of the line's frame
  int64_t parameters;      // the most; less than 0: unknown
  double count, bytes, time_ms;
  double run_ns, overlapped_ns, bus_bytes, bus_ns; // of those that the statistic keeps
  struct row_figure {
    double sum;
    size_t count;
    VECTOR(double) values; // where the statistic is of them
  } latency_ms, waiting_ms, transfer_ms;
};
struct rows {
  struct question *question;
  struct store_call_paths paths;
  VECTOR(struct row) items;
  struct map groups, keys; // by name and group; by this and the rest of the key: place in `items`, from 1
  collective_list of_run;  // sorted
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
  return RISING(name) ?: RISING(group) ?: RISING(module) ?: RISING(context_id) ?: RISING(is_scattered)
      ?: ORDER(size_class(a->bytes), size_class(b->bytes));
}

static int64_t latency_ns(const struct collective *of)
{
  return saturate_subtract(of->end_ns, of->arrival_ns);
}

SORTED_BY(compare_collectives, struct collective,
          compare_keys(a, b) ?: RISING(rank) ?: ORDER(latency_ns(a), latency_ns(b)) ?: RISING(start_ns))

static void add_value(const struct rows *rows, struct row_figure *figure, double value)
{
  figure->sum += value;
  figure->count++;
  if (question_is_by_value(rows->question))
    *vector_add(&figure->values) = value;
}

static double figure_of(const struct rows *rows, const struct row_figure *figure)
{
  return figure->count == 0 ? NAN
         : question_is_by_value(rows->question)
             ? question_statistic(rows->question, figure->values.items, figure->count)
             : figure->sum / (double)figure->count;
}

static struct row *row_of(struct rows *rows, const struct collective *one)
{
  uint64_t *group = map_at(&rows->groups, (struct map_key){(uint64_t)one->name << 32 | one->group, one->module}, NULL);
  if (*group == 0)
    *group = rows->groups.count;
  const uint64_t rest = *group << 8 | (uint64_t)(size_class(one->bytes) + 1) << 1 | one->is_scattered;
  uint64_t *place = map_at(&rows->keys, (struct map_key){rest, one->context_id}, NULL);
  if (*place == 0) {
    *vector_add(&rows->items) = (struct row){.first = *one, .parameters = -1};
    *place = rows->items.count;
  }
  return &rows->items.items[*place - 1];
}

// Those of a rank in a run that have one key, by their latency. As A21 does among steps, the statistic chooses among them by themselves:
// else it would leave out those of the rank that comes first, or last.
static void add_to_row(struct rows *rows, const struct ranks *ranks, const struct collective *first, size_t count)
{
  struct row *row = row_of(rows, first);
  size_t cut = question_is_by_value(rows->question) ? 0 : statistic_cut(&rows->question->statistic, count);
  for (size_t i = 0; i < count; i++) {
    const struct collective *one = &first[i];
    row->count++;
    row->bytes += (double)one->bytes;
    row->parameters = one->parameters > row->parameters ? one->parameters : row->parameters;
    if (i < cut || i >= count - cut)
      continue;
    add_value(rows, &row->latency_ms, (double)latency_ns(one) / 1e6);
    row->run_ns += (double)saturate_subtract(one->end_ns, one->start_ns);
    row->overlapped_ns += (double)one->overlapped_ns;
    if (one->match == RANK_NONE)
      continue;
    double transfer_ns = (double)collective_transfer_ns(one);
    add_value(rows, &row->transfer_ms, transfer_ns / 1e6);
    add_value(rows, &row->waiting_ms, (double)one->waiting_ns / 1e6);
    if (one->bytes <= 0)
      continue;
    row->bus_bytes +=
        (double)one->bytes * bus_factor(ranks_collective_kind(ranks, one), ranks->matches.items[one->match].count);
    row->bus_ns += transfer_ns;
  }
}

static void add_run(const struct ranks *ranks, const struct rank_run *run, void *context) // ranks_visit
{
  (void)run;
  struct rows *rows = context;
  collective_list *all = &rows->of_run;
  all->count = 0;
  vector_reserve(all, ranks->collectives.count);
  for (size_t i = 0; i < ranks->collectives.count; i++) {
    struct collective *one = vector_add(all);
    *one = ranks->collectives.items[i];
    const uint32_t line_id = path_own_line(&rows->paths, one->context_id);
    one->context_id = line_id != 0 ? (uint32_t)rows->paths.contexts[line_id - 1].frame_id : 0; // whoever called it
  }
  vector_sort(all, compare_collectives);
  for (size_t first = 0, end; first < all->count; first = end) {
    for (end = first + 1; end < all->count && all->items[end].rank == all->items[first].rank &&
                          compare_keys(&all->items[first], &all->items[end]) == 0;)
      end++;
    add_to_row(rows, ranks, &all->items[first], end - first);
  }
}

static struct table_cell text_cell(const struct question *question, uint32_t string) // 0: unknown
{
  const char *text = string != 0 ? store_text(question->view->store, string, NULL) : NULL;
  return cell_text(text != NULL ? arena_format(question->arena, "%s", text) : NULL);
}

static void put_row(const struct rows *rows, const struct ranks *ranks, const struct row *row)
{
  struct question *question = rows->question;
  struct table_builder *table = &question->table;
  const struct collective *first = &row->first;
  const struct store_frame *line = first->context_id != 0 ? &rows->paths.frames[first->context_id - 1] : NULL;
  table_row(table);
  table_put(table, "collective", cell_text(arena_format(table->arena, "%s", ranks_collective_kind(ranks, first))));
  table_put(table, "group", text_cell(question, first->group));
  table_put_optional(table, "module", text_cell(question, first->module));
  table_put_optional(table, "parameters", cell_int_if(row->parameters >= 0, row->parameters));
  table_put(table, "bytes", cell_real(size_class(first->bytes) >= 0 ? row->bytes / row->count : NAN));
  table_put(table, "count", cell_int((int64_t)row->count));
  table_put(table, "latency_ms", cell_real(figure_of(rows, &row->latency_ms)));
  table_put(table, "waiting_ms", cell_real(figure_of(rows, &row->waiting_ms)));
  table_put(table, "transfer_ms", cell_real(figure_of(rows, &row->transfer_ms)));
  table_put_share(table, "overlap_pct", "collective", cell_real(analyze_share_pct(row->overlapped_ns, row->run_ns)));
  table_put(table, "bus_bandwidth_bytes_per_s", cell_real(row->bus_ns > 0 ? row->bus_bytes / row->bus_ns * 1e9 : NAN));
  table_put_optional(
      table, "file",
      cell_text(line != NULL && line->file != NULL ? arena_format(table->arena, "%s", line->file) : NULL));
  table_put_optional(table, "line", cell_int_if(line != NULL && line->line > 0, line != NULL ? line->line : 0));
}

SORTED_BY(compare_rows, struct row, FALLING(time_ms) ?: compare_keys(&a->first, &b->first))

static void rows_done(struct rows *rows)
{
  for (size_t i = 0; i < rows->items.count; i++) {
    vector_done(&rows->items.items[i].latency_ms.values);
    vector_done(&rows->items.items[i].waiting_ms.values);
    vector_done(&rows->items.items[i].transfer_ms.values);
  }
  vector_done(&rows->items);
  vector_done(&rows->of_run);
  map_done(&rows->groups);
  map_done(&rows->keys);
}

static enum status answer(struct question *question, struct error *err)
{
  struct ranks ranks SCOPED(ranks_done) = {0};
  struct rows rows SCOPED(rows_done) = {.question = question};
  XSP_TRY(store_call_paths(question->view->store, question->scratch, &rows.paths, err));
  XSP_TRY(ranks_load(question, 2, add_run, &rows, &ranks, err));
  if (ranks.collective_count == 0)
    return question_lacks(question, err, "no collectives are recorded (docs/ranks.md says which are)");
  question_uses(question, ranks.set);
  for (size_t i = 0; i < rows.items.count; i++)
    rows.items.items[i].time_ms = figure_of(&rows, &rows.items.items[i].latency_ms) * rows.items.items[i].count;
  vector_sort(&rows.items, compare_rows);
  for (size_t i = 0; i < rows.items.count; i++)
    put_row(&rows, &ranks, &rows.items.items[i]);
  return STATUS_OK;
}

const struct analysis analysis_a24 = {.id = "A24",
                                      .name = "collectives",
                                      .title = "collectives between ranks",
                                      .needs = "M",
                                      .main_figure = "latency_ms",
                                      .detail = TRACE_EVERYTHING,
                                      .is_of_program = true,
                                      .answer = answer};
