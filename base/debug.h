// SPDX-License-Identifier: Apache-2.0
// What xsp does, for its developers: XSP_DEBUG=launch,store prints lines of these rooms to stderr, XSP_DEBUG=all of every room.
//
// Only `xsp` calls debug_start, so that a runner, a traced process or a user of libxsp_read.so neither prints nor stops,
// whatever its environment.
// A line never changes stdout or the exit status. All functions may be called from any thread.
#ifndef XSP_BASE_DEBUG_H
#define XSP_BASE_DEBUG_H

#define DEBUG_ROOMS(X)                                                                                                 \
  X(launch) X(experiment) X(manifests) X(assets) X(importers) X(collect) X(store) X(correlate) X(http) X(serve) X(agent)

#define DEBUG_NUMBER(room) DEBUG_ROOM_##room,
enum debug_room { DEBUG_ROOMS(DEBUG_NUMBER) DEBUG_ROOM_COUNT };
#undef DEBUG_NUMBER

extern unsigned debug_mask; // of rooms; written by debug_start only

// One test of a flag where the room is off; the arguments are then not evaluated.
#define DEBUG(room, ...)                                                                                               \
  do {                                                                                                                 \
    if (__builtin_expect(debug_mask & 1u << DEBUG_ROOM_##room, 0))                                                     \
      debug_print(DEBUG_ROOM_##room, __VA_ARGS__);                                                                     \
  } while (0)

// Reads XSP_DEBUG and XSP_STOP, before other threads start. Lines go to today's stderr, also while xsp redirects its own for a program.
void debug_start(void);
// Stops this process (SIGSTOP) where XSP_STOP lists the point, with commas between points: for a debugger or a test, which
// continue it by SIGCONT. A point is the name of a verb, before it runs, or "copy", when a private copy of a trace is made.
void debug_stop(const char *point);
void debug_print(enum debug_room room, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
