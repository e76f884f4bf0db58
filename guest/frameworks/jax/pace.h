// SPDX-License-Identifier: Apache-2.0
// How long parts of JAX's profile are, and how long nothing is recorded after one, so that writing parts takes a bounded share of
// the program's time and the profile stays below its limit, however long the program runs. Pure: for door_recording.c.
#ifndef XSP_FRAMEWORKS_JAX_PACE_H
#define XSP_FRAMEWORKS_JAX_PACE_H

#include <locale.h>
#include <stdint.h>
#include <stdlib.h>

#define PACE_WRITE_SECONDS 0.25 // the program waits that long for a part, about
#define PACE_PART_LEAST 0.01
#define PACE_PART_MOST 240.0
#define PACE_GROWTH_BYTES (INT64_C(16) << 20) // of the process, in a part: its events take some hundred bytes each

struct pace {
  double cost;         // writing's share of the time, at most
  double limit_bytes;  // of the whole profile
  double part_seconds; // of the next part
  double pause_seconds;
  double recorded_seconds, passed_seconds, written_bytes; // in all
  double last_part, last_write;
  int64_t growth_bytes; // a part ends early when the process has grown by that
  unsigned parts;
};
struct pace_part { // that was written
  double recorded_seconds, write_seconds, bytes;
  int64_t growth_bytes;
};

// An option's number, with a point whatever the program's locale has ("C" allocates nothing). `otherwise`: it is none above 0.
static inline double jax_pace_number(const char *text, double otherwise)
{
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  double number = text != NULL && plain != (locale_t)0 ? strtod_l(text, NULL, plain) : 0;
  return number > 0 ? number : otherwise;
}

// Halves, doubles or scales the part. Modules take their time whether a part is long or short: then only long ones are cheap.
static inline double jax_pace_next_seconds(const struct pace *pace, const struct pace_part *part, double left_bytes)
{
  double next = part->recorded_seconds * 2, affordable = part->write_seconds / pace->cost;
  if (part->write_seconds > PACE_WRITE_SECONDS / 2)
    next = part->recorded_seconds * PACE_WRITE_SECONDS / part->write_seconds;
  if (part->recorded_seconds < 0.7 * pace->last_part && part->write_seconds > 0.8 * pace->last_write &&
      next < affordable)
    next = affordable;
  if (part->bytes * next > left_bytes / 4 * part->recorded_seconds)
    next = left_bytes / 4 * part->recorded_seconds / part->bytes;
  return next < PACE_PART_LEAST ? PACE_PART_LEAST : next > PACE_PART_MOST ? PACE_PART_MOST : next;
}

static inline void jax_pace_wrote(struct pace *pace, const struct pace_part *part)
{
  double left_bytes = pace->limit_bytes - pace->written_bytes - part->bytes;
  double pause = part->write_seconds / pace->cost;
  pace->part_seconds = jax_pace_next_seconds(pace, part, left_bytes);
  pace->parts++;
  pace->recorded_seconds += part->recorded_seconds;
  pace->passed_seconds += part->recorded_seconds + part->write_seconds;
  pace->written_bytes += part->bytes;
  // What is left of the limit is enough for as long again as the program has run.
  if (left_bytes > 0 && pause < part->bytes * pace->passed_seconds / left_bytes)
    pause = part->bytes * pace->passed_seconds / left_bytes;
  pace->pause_seconds = pause > part->recorded_seconds ? pause - part->recorded_seconds : 0;
  pace->passed_seconds += pace->pause_seconds;
  pace->last_part = part->recorded_seconds;
  pace->last_write = part->write_seconds;
  if (part->growth_bytes >= pace->growth_bytes &&
      part->bytes < (double)part->growth_bytes / 16) // the program's own memory
    pace->growth_bytes = part->growth_bytes * 4;
}

#endif
