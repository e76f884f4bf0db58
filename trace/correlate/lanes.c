// SPDX-License-Identifier: Apache-2.0
// Sorting rows that are already in a few orders: an importer hands over each source's spans (operators, runtime calls,
// annotations) by start, step by step or file by file. Rows are dealt into lanes whose starts rise, as runs of rows that
// follow each other; merging the lanes then reads every column along a few rising streams and writes nothing but rows.
#include "correlate/order.h"

#define LANES 8u
#define RUN_ROWS 8u // shorter runs than this, on average: give up

struct run {
  uint32_t first, end; // indices of rows
  uint32_t next;       // the next run of its lane; 0: none
};
struct lane {
  int64_t start; // dealing: of its last row; merging: of its next one
  uint32_t at;
  uint32_t run; // dealing: its last; merging: the one that is being read
};
struct lanes {
  struct lane lane[LANES];
  uint32_t first_run[LANES];
  uint32_t count;
  struct run *run; // from 1 on
  size_t run_count, run_most;
};

// Ends the last run before row index `at` and begins another, in the lane whose last start is the latest one before
// `start`. False: too many.
static bool begin_run(struct lanes *lanes, uint32_t at, int64_t start, uint32_t *current)
{
  uint32_t best = lanes->count;
  for (uint32_t i = 0; i < lanes->count; i++)
    if (lanes->lane[i].start < start && (best == lanes->count || lanes->lane[i].start > lanes->lane[best].start))
      best = i;
  if (best == LANES || lanes->run_count == lanes->run_most)
    return false;
  uint32_t run = (uint32_t)++lanes->run_count;
  lanes->run[run] = (struct run){at, at, 0};
  if (best == lanes->count)
    lanes->first_run[lanes->count++] = run;
  else
    lanes->run[lanes->lane[best].run].next = run;
  lanes->lane[best].run = run;
  *current = best;
  return true;
}

static bool deal(const struct order_input *input, const uint32_t *rows, size_t count, struct lanes *lanes)
{
  uint32_t current = 0;
  int64_t last = input->starts[rows[0]];
  if (!begin_run(lanes, 0, last, &current))
    return false;
  for (size_t i = 1; i < count; i++) {
    int64_t start = input->starts[rows[i]];
    if (start < last || (start == last && order_compare_ties(input, rows[i - 1], rows[i]) > 0)) {
      lanes->lane[current].start = last;
      lanes->run[lanes->run_count].end = (uint32_t)i;
      if (!begin_run(lanes, (uint32_t)i, start, &current))
        return false;
    }
    last = start;
  }
  lanes->run[lanes->run_count].end = (uint32_t)count;
  return true;
}

static bool is_before(const struct order_input *input, const uint32_t *rows, const struct lane *a, const struct lane *b)
{
  return a->start < b->start || (a->start == b->start && order_compare_ties(input, rows[a->at], rows[b->at]) < 0);
}

// The lane with the least next row comes first. *ret_limit: up to where it stays so, exclusive.
static void choose(const struct order_input *input, const uint32_t *rows, struct lanes *lanes, int64_t *ret_limit)
{
  uint32_t best = 0;
  int64_t limit = INT64_MAX;
  for (uint32_t i = 1; i < lanes->count; i++) {
    bool is_better = is_before(input, rows, &lanes->lane[i], &lanes->lane[best]);
    int64_t other = lanes->lane[is_better ? best : i].start;
    limit = other < limit ? other : limit;
    best = is_better ? i : best;
  }
  struct lane first = lanes->lane[best];
  lanes->lane[best] = lanes->lane[0];
  lanes->lane[0] = first;
  *ret_limit = limit;
}

static void merge(const struct order_input *input, const uint32_t *rows, struct lanes *lanes, uint32_t *sorted)
{
  size_t out = 0;
  while (lanes->count > 0) {
    int64_t limit;
    choose(input, rows, lanes, &limit);
    struct lane lane = lanes->lane[0];
    uint32_t end = lanes->run[lane.run].end;
    do {
      sorted[out++] = rows[lane.at++];
      if (lane.at == end) {
        lane.run = lanes->run[lane.run].next;
        if (lane.run == 0)
          break;
        lane.at = lanes->run[lane.run].first;
        end = lanes->run[lane.run].end;
      }
      lane.start = input->starts[rows[lane.at]];
    } while (lane.start < limit);
    lanes->lane[0] = lane.run != 0 ? lane : lanes->lane[--lanes->count];
  }
}

bool order_lanes_sort(const struct order_input *input, const uint32_t *rows, size_t count, uint32_t *sorted,
                      struct arena *scratch)
{
  struct lanes lanes = {.run_most = count / RUN_ROWS + LANES};
  lanes.run = arena_alloc_array(scratch, lanes.run_most + 1, sizeof *lanes.run);
  if (!deal(input, rows, count, &lanes))
    return false;
  for (uint32_t i = 0; i < lanes.count; i++) {
    uint32_t at = lanes.run[lanes.first_run[i]].first;
    lanes.lane[i] = (struct lane){input->starts[rows[at]], at, lanes.first_run[i]};
  }
  merge(input, rows, &lanes, sorted);
  return true;
}
