// SPDX-License-Identifier: Apache-2.0
// Counters over time of one run, as lines below the tracks of the page's timeline. Called by run.c.
#include "report/page/page.h"

#include "base/saturate.h"

#include <math.h>

#define LINES_MOST 64       // that are put
#define THREAD_LEAST_PCT 1. // threads that never reach it are left out: most only wait

// Always 0, as a quota that is never used up.
static bool is_idle(const struct timeline_counter *line)
{
  double most = 0;
  for (size_t i = 0; i < line->point_count; i++)
    most = fmax(most, line->points[i].value);
  return most <= 0 || (line->is_of_thread && most < THREAD_LEAST_PCT);
}

void page_put_counters(struct json_writer *json, const struct timeline *timeline, const struct timeline_run *run,
                       int64_t first_ns)
{
  size_t put = 0;
  json_member_array(json, "counters");
  for (size_t i = 0; i < run->counter_count && put < LINES_MOST; i++) {
    const struct timeline_counter *line = &run->counters[i];
    if (line->point_count < 2 || is_idle(line))
      continue;
    int64_t before_ns = first_ns;
    put++;
    json_object(json);
    json_member_string(json, "name", line->name);
    json_member_string(json, "unit", line->unit);
    json_member_int(json, "pid", timeline->processes[line->process].pid);
    json_member_bool(json, "is_of_thread", line->is_of_thread);
    json_member_array(json, "time"); // from that of the one before
    for (size_t k = 0; k < line->point_count; k++) {
      json_int(json, saturate_subtract(line->points[k].time_ns, before_ns));
      before_ns = line->points[k].time_ns;
    }
    json_array_end(json);
    json_member_array(json, "value");
    for (size_t k = 0; k < line->point_count; k++)
      json_double(json, line->points[k].value);
    json_array_end(json);
    json_object_end(json);
  }
  json_array_end(json);
}
