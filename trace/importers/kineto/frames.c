// SPDX-License-Identifier: Apache-2.0
// Python frames: intervals for call paths, and which names are of one function. PyTorch names a frame by its line when it
// began: a function's first one, but the line of its `yield` or `await` where a generator or coroutine goes on. It also
// records from which line each frame was called, so that a function's frames were at lines from its name's on:
//
//      a.py(15): batches   called others at lines 16 to 18 ┐ they overlap, and bodies of two functions do not:
//      a.py(18): batches   called others at lines 17 to 20 ┘ both are a.py(15): batches
//
// What called nothing at the line where it stopped keeps its name, and so does all in files without these lines. A function
// within another of its name counts as that one. Called by events.c and, at the end, by kineto.c.
#include "importers/kineto/kineto.h"

#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

#define OPEN_MOST 4096u // frames within each other on a thread; files have them in order of their starts

struct kineto_frame_name {
  uint32_t name;     // import_string
  uint32_t function; // of frames.functions: file and function
  uint32_t file_length;
  int64_t line, least, most; // in the name; at which its frames were
};

// The place of a name, from 1; 0: it is none of a function.
static uint64_t place_of(struct kineto *kineto, struct slice text, uint32_t name)
{
  struct kineto_frames *frames = &kineto->frames;
  struct buf *scratch = &kineto->scratch;
  struct call_frame_place found;
  bool is_new;
  uint64_t *place = map_at(&frames->place_of_name, map_number(name), &is_new);
  if (!is_new)
    return *place;
  buf_clear(scratch);
  buf_put(scratch, text.data, text.length);
  buf_put(scratch, "", 1);
  if (scratch->failed || !call_frame_place(scratch->data, &found) || scratch->data[found.function_at] == '<')
    return 0;
  char *function = scratch->data + found.function_at;
  size_t length = found.file_length + 1 + strlen(function);
  memmove(scratch->data + found.file_length, function - 1, strlen(function) + 1); // "file.py function"
  *vector_add(&frames->names) =
      (struct kineto_frame_name){.name = name,
                                 .function = interner_at(&frames->functions, scratch->data, length),
                                 .file_length = (uint32_t)found.file_length,
                                 .line = found.line,
                                 .least = found.line,
                                 .most = found.line};
  return *place = frames->names.count;
}

// `caller` was at the line of `from`, "a.py:36", when it called.
static void note_line(struct kineto_frames *frames, struct kineto_frame_name *caller, struct slice from)
{
  size_t length = caller->file_length;
  if (from.length <= length || from.data[length] != ':' ||
      memcmp(from.data, interner_text(&frames->functions, caller->function).data, length) != 0)
    return;
  int64_t line = 0;
  for (size_t i = length + 1; i < from.length && i < length + 10; i++)
    if (from.data[i] >= '0' && from.data[i] <= '9')
      line = line * 10 + (from.data[i] - '0');
    else
      return;
  if (line < 1)
    return;
  caller->least = line < caller->least ? line : caller->least;
  caller->most = line > caller->most ? line : caller->most;
}

void kineto_frame(struct kineto *kineto, struct kineto_track *track, const struct trace_event *event)
{
  struct kineto_frames *frames = &kineto->frames;
  uint32_t name = import_slice(kineto->import, event->name);
  call_thread_frame(&track->thread, event->start_ns, event->end_ns, name);
  frames->count++;
  const struct trace_argument *from = trace_find(event, "CallFrom");
  if (from == NULL || from->value.type != TRACE_STRING)
    return;
  const struct trace_argument *id = trace_find(event, "Python id");
  const struct trace_argument *caller = trace_find(event, "Python parent id");
  struct kineto_open_frame own = {.end_ns = event->end_ns};
  if (id == NULL || !trace_int64(&id->value, &own.id))
    return;
  while (track->open.count > 0 && track->open.items[track->open.count - 1].end_ns <= event->start_ns)
    track->open.count--;
  own.place = place_of(kineto, event->name, name);
  int64_t caller_id;
  if (track->open.count > 0 && caller != NULL && trace_int64(&caller->value, &caller_id)) {
    struct kineto_open_frame top = track->open.items[track->open.count - 1];
    if (top.id == caller_id && top.place != 0)
      note_line(frames, &frames->names.items[top.place - 1], from->value.raw);
  }
  if (track->open.count == OPEN_MOST)
    track->open.count = 0;
  *vector_add(&track->open) = own;
}

SORTED_BY(compare, struct kineto_frame_name, RISING(function) ?: RISING(least) ?: RISING(name))

void kineto_frames_join(struct kineto *kineto)
{
  struct kineto_frames *frames = &kineto->frames;
  const struct kineto_frame_name *names = frames->names.items;
  if (frames->names.count > 0)
    qsort(frames->names.items, frames->names.count, sizeof *names, compare);
  for (size_t first = 0, end; first < frames->names.count; first = end) {
    size_t entry = first; // the one of the least line
    int64_t most = names[first].most;
    for (end = first + 1;
         end < frames->names.count && names[end].function == names[first].function && names[end].least <= most; end++) {
      entry = names[end].line < names[entry].line ? end : entry;
      most = names[end].most > most ? names[end].most : most;
    }
    for (size_t i = first; i < end && end > first + 1; i++)
      *map_at(&frames->joined, map_number(names[i].name), NULL) = names[entry].name;
  }
}

uint32_t kineto_frame_function(const struct kineto *kineto, uint32_t name)
{
  const uint64_t *joined = map_find(&kineto->frames.joined, map_number(name));
  return joined != NULL ? (uint32_t)*joined : name;
}

void kineto_frames_done(struct kineto *kineto)
{
  struct kineto_frames *frames = &kineto->frames;
  interner_done(&frames->functions);
  vector_done(&frames->names);
  map_done(&frames->place_of_name);
  map_done(&frames->joined);
}
